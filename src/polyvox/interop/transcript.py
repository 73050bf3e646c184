"""A conversation to read, as Markdown or as one HTML page: for every turn of the current branch the
message and every advisor's answer, how it ended, and what it cost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Literal

import msgspec

from polyvox.context.synthesis import Synthesis, attributable
from polyvox.context.synthesis import as_markdown as synthesis_as_markdown
from polyvox.events import NANO
from polyvox.interop import jsonl
from polyvox.interop.conversation import Whole
from polyvox.receive import printable
from polyvox.thread import Other
from polyvox.values import Answer, Turn, Usage

STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #888; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1rem; color: var(--soft); margin: 3rem 0 .5rem }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; color: var(--soft) }
dd { margin: 0; overflow-wrap: anywhere }
blockquote, .text { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 }
blockquote { border-left: 3px solid var(--line); padding-left: 1rem; font-weight: 600 }
.answers { display: grid; gap: 1.5rem; margin-top: 1rem }
.answers { grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)) }
article { border-top: 2px solid var(--line); padding-top: .5rem }
article h4 { margin: 0 } small { color: var(--soft) } .failed { color: #c0392b }
"""

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_HEADING = re.compile(r"^(#{1,6})(?=\s)", re.MULTILINE)
_FENCE = re.compile(r"^\s*(```|~~~)")


Format = Literal["jsonl", "markdown", "html"]


def written(whole: Whole, kind: Format) -> str:
    """A conversation as a file: JSON Lines keep everything, the others are to read."""
    if kind == "jsonl":
        return "".join(f"{line}\n" for line in jsonl.lines(whole))
    transcript = transcript_of(whole)
    return as_markdown(transcript) if kind == "markdown" else as_html(transcript)


@dataclass(frozen=True, slots=True)
class TranscriptAnswer:
    """One answer as it is read."""

    name: str
    remark: str
    """Its model, what it cost, and how it ended where it did not end well."""
    text: str
    failure: str


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """A turn: a message and what was answered, in groups (the answers, each round, a synthesis)."""

    number: int
    at: str
    content: str
    remark: str
    groups: tuple[tuple[str, tuple[TranscriptAnswer, ...]], ...]


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation to read."""

    title: str
    facts: tuple[tuple[str, str], ...]
    turns: tuple[TranscriptTurn, ...]


def transcript_of(whole: Whole) -> Transcript:
    """The current branch, with everyone's answers."""
    conversation, path = whole.conversation, whole.path()
    shown = [answer for turn in path for answer in _current(whole, turn)]
    models = {answer.advisor_id: answer.model for answer in shown if answer.model}
    names = {answer.advisor_id: answer.advisor_name for answer in shown}
    council = ", ".join(
        f"{name} ({models[advisor_id]})" if models.get(advisor_id) else name
        for advisor_id, name in names.items()
        if any(a.advisor_id == advisor_id and a.kind != "synthesis" for a in shown)
    )
    every = [answer for some in whole.answers.values() for answer in some]
    more = len(whole.turns) - len(path)
    facts = [
        ("Conversation", conversation.id),
        ("Begun", when(conversation.created_at)),
        ("Recipe", conversation.recipe),
        ("Council", council or "nobody has answered yet"),
        ("Cost", cost_of([answer.usage for answer in every if answer.usage is not None])),
    ]
    if more:
        facts.append(("Also", f"{more} turns on other branches, which only JSON Lines holds"))
    turns = tuple(_asked(whole, number, turn) for number, turn in enumerate(path, 1))
    return Transcript(
        printable(conversation.title) or "Conversation",
        tuple((key, printable(value)) for key, value in facts),
        turns,
    )


def when(stamp: int | None) -> str:
    """A time, in UTC."""
    if stamp is None:
        return "at an unknown time"
    return datetime.fromtimestamp(stamp / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def cost_of(spent: Sequence[Usage]) -> str:
    """Tokens and dollars of some calls; an unknown price is called unknown."""
    if not spent:
        return "nothing"
    tokens = sum(usage.input_tokens for usage in spent), sum(usage.output_tokens for usage in spent)
    priced = [usage.cost for usage in spent if usage.cost is not None]
    dollars = f"${sum(priced) / NANO:.6f}".rstrip("0").rstrip(".") if priced else "price unknown"
    unknown = len(spent) - len(priced)
    more = f" and {unknown} of unknown price" if priced and unknown else ""
    about = "about " if any(usage.estimated for usage in spent) else ""
    return f"{about}{tokens[0]:,} tokens in, {tokens[1]:,} out, {dollars}{more}"


def _current(whole: Whole, turn: Turn) -> list[Answer]:
    return [answer for answer in whole.answers[turn.id] if answer.current]


def _asked(whole: Whole, number: int, turn: Turn) -> TranscriptTurn:
    groups: dict[str, list[TranscriptAnswer]] = {}
    for answer in _current(whole, turn):
        title = f"Round {answer.round}" if answer.kind == "exchange" else ""
        title = "Synthesis" if answer.kind == "synthesis" else title
        groups.setdefault(title, []).append(_spoken(answer, whole.answers[turn.id]))
    return TranscriptTurn(
        number,
        when(turn.said_at),
        printable(turn.content),
        "forgotten" if turn.redacted else "excluded from later requests" if turn.excluded else "",
        tuple((title, tuple(spoken)) for title, spoken in groups.items()),
    )


def _spoken(answer: Answer, turn: Sequence[Answer]) -> TranscriptAnswer:
    remarks = [answer.model, cost_of([answer.usage]) if answer.usage is not None else ""]
    remarks += ["" if answer.state == "completed" else answer.state]
    remarks += ["excluded from later requests" if answer.excluded else ""]
    remarks += ["partly forgotten" if answer.redacted else ""]
    if answer.version > 1:
        remarks.append(f"version {answer.version}")
    failure = answer.failure
    reason = "" if failure is None else f"{failure.message} {failure.hint}".strip()
    return TranscriptAnswer(
        printable(answer.advisor_name),
        printable(" · ".join(remark for remark in remarks if remark)),
        printable(readable(answer, turn)),
        printable(reason),
    )


def readable(answer: Answer, turn: Sequence[Answer]) -> str:
    """An answer's text; of a synthesis its points, with the names of the turn's advisors."""
    if answer.points is None:
        return answer.text
    others = [
        Other(other.id, other.advisor_id, "", other.advisor_name, other.text)
        for other in turn
        if other.kind != "synthesis"
    ]
    read = msgspec.json.decode(answer.points, type=Synthesis)
    return synthesis_as_markdown(read, attributable(others))


def as_markdown(transcript: Transcript) -> str:
    """The transcript as Markdown. Answers are Markdown themselves; their headings are moved below
    ours, so that the structure of the page stays ours."""
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


def as_html(transcript: Transcript) -> str:
    """The transcript as one HTML page: no script, nothing loaded, every text escaped."""
    facts = "".join(
        f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in transcript.facts
    )
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        f"<title>{escape(transcript.title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(transcript.title)}</h1><dl>{facts}</dl>",
    ]
    for turn in transcript.turns:
        remark = f" ({turn.remark})" if turn.remark else ""
        parts.append(f"<section><h2>{turn.number}. {escape(turn.at + remark)}</h2>")
        parts.append(f"<blockquote>{escape(turn.content)}</blockquote>")
        for title, spoken in turn.groups:
            if title and title != "Synthesis":
                parts.append(f"<h3>{escape(title)}</h3>")
            parts += ['<div class="answers">', *map(_article, spoken), "</div>"]
        parts.append("</section>")
    return "\n".join([*parts, "</body></html>", ""])


def _article(answer: TranscriptAnswer) -> str:
    failed = f'<p class="failed">Failed: {escape(answer.failure)}</p>' if answer.failure else ""
    return (
        f"<article><h4>{escape(answer.name)}</h4><small>{escape(answer.remark)}</small>"
        f'<div class="text">{escape(answer.text)}</div>{failed}</article>'
    )
