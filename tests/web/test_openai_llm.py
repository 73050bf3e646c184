"""The `llm` command at the door, unchanged: streamed and whole, and what it says when it fails."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from tests.provider import Script
from tests.web.house import House

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session"), pytest.mark.slow]


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


async def llm(house: House, home: Path, model: str, *more: str) -> Ran:
    """Ask with the command as a person would."""
    home.mkdir(exist_ok=True)
    entry = {"model_id": "ours", "model_name": model, "api_base": f"{house.url}/v1"}
    (home / "extra-openai-models.yaml").write_text(yaml.safe_dump([entry]))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "llm", "-m", "ours", *more),
        env={"PATH": os.environ["PATH"], "HOME": str(home), "LLM_USER_PATH": str(home)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    return Ran(process.returncode or 0, out.decode(), err.decode())


async def test_llm_asks_a_council(house: House, tmp_path: Path) -> None:
    first = await house.advisor(script=Script(text="I say – yes."), name="Pro")
    second = await house.advisor(script=Script(text="I say no."), name="Contra")
    council = await house.council(first, second)
    name = f"council:{council['slug']}"
    question = ("-s", "Be kind.", "Shall I?")
    stream, whole = await asyncio.gather(
        llm(house, tmp_path / "stream", name, *question),
        llm(house, tmp_path / "whole", name, *question, "--no-stream"),
    )
    expected = "## Pro\n\nI say – yes.\n\n## Contra\n\nI say no.\n"
    assert stream == whole == Ran(0, expected, "")
    for request in house.provider.requests(first["model"].partition(":")[2]):
        assert b"Be kind." in request.body
        assert b"Shall I?" in request.body
    # it goes on where it was, and knows what it said
    assert await llm(house, tmp_path / "stream", name, "-c", "Why?") == stream
    last = house.provider.requests(first["model"].partition(":")[2])[-1].json()
    mine = [m["content"] for m in last["messages"] if m["role"] == "assistant"]
    assert mine == ["I say – yes."]


async def test_llm_shows_our_words_when_it_fails(house: House, tmp_path: Path) -> None:
    broken = house.model(Script(status=401, error="No such key."))
    stream, whole = await asyncio.gather(
        llm(house, tmp_path / "stream", broken, "Well?"),
        llm(house, tmp_path / "whole", "advisor:nobody-here", "Well?", "--no-stream"),
    )
    assert stream.code != 0
    assert whole.code != 0
    assert "No such key." in stream.err
    assert "There is no advisor 'nobody-here'" in whole.err
