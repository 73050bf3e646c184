"""A conversation as Markdown. Answers are Markdown themselves; their headings are moved below ours,
so that the structure of the page stays ours."""

from __future__ import annotations

import re

from polyvox.interop.telling import Transcript

_HEADING = re.compile(r"^(#{1,6})(?=\s)", re.MULTILINE)
_FENCE = re.compile(r"^\s*(```|~~~)")


def as_markdown(transcript: Transcript) -> str:
    """The whole page."""
    parts = [
        f"# {_line(transcript.title)}",
        "\n".join(f"- {key}: {_line(v)}" for key, v in transcript.facts),
    ]
    for turn in transcript.turns:
        remark = f" ({turn.remark})" if turn.remark else ""
        parts += [f"## {turn.number}. {turn.at}{remark}", _quoted(turn.content)]
        for title, spoken in turn.groups:
            if title and title != "Synthesis":
                parts.append(f"### {title}")
            for answer in spoken:
                parts.append(f"### {_line(answer.name)}")
                if answer.remark:
                    parts.append(f"*{_line(answer.remark)}*")
                parts.append(_below(answer.text))
                if answer.failure:
                    parts.append(f"*Failed: {_line(answer.failure)}*")
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def _line(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n"))


def _below(text: str) -> str:
    """Headings of an answer as bold lines (outside code), so that they cannot pose as a speaker."""
    lines, fenced = [], False
    for line in text.strip().split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        if not fenced and (mark := _HEADING.match(line)) is not None:
            line = f"**{line[mark.end() :].strip()}**"
        lines.append(line)
    if fenced:
        lines.append("```")  # a fence that was never closed would swallow what follows
    return "\n".join(lines)
