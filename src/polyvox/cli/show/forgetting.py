"""What goes with something that is forgotten, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from polyvox.cli.words import count, one_line

if TYPE_CHECKING:
    from polyvox.web.memory_own import ForgetOut

WIDTH = 100
"""Most characters of a text."""
GOES = (
    ("messages", "message"),
    ("facts", "fact"),
    ("loops", "mention of a loop"),
    ("profile", "line of the profile"),
)
REPEATS = {
    "remembered": ("answer in memory", "answers in memory"),
    "trace": ("trace of a turn", "traces of turns"),
    "job": ("failure of a job", "failures of jobs"),
    "summary": ("summary of older messages", "summaries of older messages"),
    "context": ("request kept with an assertion", "requests kept with assertions"),
    "past_run": ("imported run", "imported runs"),
    "assertion": ("assertion", "assertions"),
    "verdict": ("verdict", "verdicts"),
    "sample": ("answer in an evaluation", "answers in evaluations"),
    "optimisation": ("optimisation", "optimisations"),
}


def forget_lines(shown: ForgetOut) -> Iterator[str]:
    """What goes, what loses some words, what is made anew, and where it still is."""
    gone = [
        f"{name}: {one_line(one['text'], WIDTH)}"
        for key, name in GOES
        for one in getattr(shown, key)
    ]
    yield from _listed("This goes, for good:", gone)
    yield from _listed("A mark takes its place in the conversation:", shown.conversations)
    yield from _listed("This repeats it, and loses those words:", list(_repeats(shown)))
    anew = [f"the summary of {one}" for one in shown.summaries]
    anew += [f"the analysis of {one}" for one in shown.days]
    yield from _listed("This is made anew from what is left:", anew)
    returns = [one_line(one["text"], WIDTH) for one in shown.returns]
    yield from _listed("This was said before it, and holds again:", returns)
    yield from _listed("It stays in these backups until you delete them:", shown.backups)


def _repeats(shown: ForgetOut) -> Iterator[str]:
    for one in shown.answers:
        yield f"answer: {one_line(one['text'], WIDTH)}"
    for one in shown.titles:
        yield f"title: {one_line(one['text'], WIDTH)}"
    for kind, number in shown.elsewhere.items():
        yield count(number, *REPEATS.get(kind, (kind.replace("_", " "), "")))
    if shown.receipts:
        yield f"{count(shown.receipts, 'receipt')}, not exact any more"


def _listed(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield title
        yield from (f"  {line}" for line in lines)
