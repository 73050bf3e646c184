"""A synthesis as text to read: its points with the advisors they are from."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from polyvox.context.synthesis import Synthesis, as_markdown, attributable
from polyvox.thread import Other
from polyvox.values import Answer


def readable(answer: Answer, turn: Sequence[Answer]) -> str:
    """An answer's text; of a synthesis its points, with the names of the turn's advisors."""
    if answer.points is None:
        return answer.text
    said = [
        Other(one.id, one.advisor_id, "", one.advisor_name, one.text)
        for one in turn
        if one.kind != "synthesis"
    ]
    read = msgspec.json.decode(answer.points, type=Synthesis)
    return as_markdown(read, attributable(said))
