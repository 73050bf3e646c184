"""What stands in the log of a turn: decisions and figures, never what anybody said."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.provider import Script
from tests.session.room import open_room

pytestmark = pytest.mark.contract

SAYS = "The boathouse of Quillabamba leaks."


async def test_a_providers_own_words_are_not_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It may quote the message; who forgets that later finds the log as it is."""
    async with open_room(tmp_path) as room:
        refusing = Script(status=400, error=f"I do not like “{SAYS}”")
        ann = await room.advisor("Ann", refusing)
        talk = await room.conversation(ann)
        with caplog.at_level(logging.INFO, "polyvox.chat"):
            _, (answer,) = await room.say(talk, SAYS)
    assert answer.failure is not None
    assert "Quillabamba" in answer.failure.message, "or this would test nothing"
    lines = [text for text in caplog.messages if text.startswith("chat.trace ")]
    assert lines
    assert not any("Quillabamba" in line for line in lines)
    assert '"status":400' in lines[0]
