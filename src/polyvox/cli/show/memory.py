"""The briefs of memory in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyvox.cli.output import note, say
from polyvox.cli.words import count, one_line, when
from polyvox.memory.packets import Brief, OpsContext, Recalled, StartBrief
from polyvox.memory.shapes.brief import BriefOut, OpsOut, StartBriefOut
from polyvox.memory.shapes.own import ForgetOut
from polyvox.memory.values import Item
from polyvox.session.remembering import RELEVANT

WIDTH = 100
"""Most characters of a text."""


def brief_lines(made: BriefOut) -> Iterator[str]:
    """A brief, line by line."""
    gap = made.time_gap_description
    yield f"{made.time_of_day_label.capitalize()}, {gap or 'the first talk'}."
    yield from known_lines(made)


def startbrief_lines(made: StartBriefOut) -> Iterator[str]:
    """A startbrief, line by line."""
    yield made.handover_text
    if made.resume.bridge_text:
        yield made.resume.bridge_text
    ops = made.ops_context
    yield from open_lines(made)
    yield from ops_lines(ops)


def known_lines(made: BriefOut | Brief) -> Iterator[str]:
    """The lines of a brief beside the time, ours or another service's."""
    yield from _listed("in focus", [made.current_focus] if made.current_focus else [])
    yield from _listed("promised", made.commitments)
    yield from _listed("open", made.open_loops)
    yield from _listed("known", made.facts)
    yield from _listed("before", made.narrative_summary)


def open_lines(made: StartBriefOut | StartBrief) -> Iterator[str]:
    """The open items of a startbrief."""
    for item in made.items:
        due = item.due_date or item.time_horizon
        yield f"open: {one_line(item.text, WIDTH)}{f' ({due})' if due else ''}"


def ops_lines(ops: OpsOut | OpsContext) -> Iterator[str]:
    """The lines about what is to be done."""
    yield from _listed("today", ops.top_loops_today)
    yield from _listed("waiting for", ops.waiting_on)
    yield from _listed("profile", ops.user_model_hints)
    yield from _listed("yesterday", ops.yesterday_themes)
    yield from _listed("note", [ops.steering_note] if ops.steering_note else [])


def _listed(name: str, texts: Sequence[str]) -> Iterator[str]:
    return (f"{name}: {one_line(text, WIDTH)}" for text in texts)


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
    """List what goes, what loses some words, what is made anew, and where it still is."""
    gone = [
        f"{name}: {one_line(each['text'], WIDTH)}"
        for key, name in GOES
        for each in getattr(shown, key)
    ]
    yield from _headed("This goes, for good:", gone)
    yield from _headed("A mark takes its place in the conversation:", shown.conversations)
    yield from _headed("This repeats it, and loses those words:", list(_repeats(shown)))
    anew = [f"the summary of {each}" for each in shown.summaries]
    anew += [f"the analysis of {each}" for each in shown.days]
    yield from _headed("This is made anew from what is left:", anew)
    returns = [one_line(each["text"], WIDTH) for each in shown.returns]
    yield from _headed("This was said before it, and holds again:", returns)
    yield from _headed("It stays in these backups until you delete them:", shown.backups)


def _repeats(shown: ForgetOut) -> Iterator[str]:
    for repeated in shown.answers:
        yield f"answer: {one_line(repeated['text'], WIDTH)}"
    for repeated in shown.titles:
        yield f"title: {one_line(repeated['text'], WIDTH)}"
    for kind, number in shown.elsewhere.items():
        yield count(number, *REPEATS.get(kind, (kind.replace("_", " "), "")))
    if shown.receipts:
        yield f"{count(shown.receipts, 'receipt')}, not exact any more"


def _headed(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield title
        yield from (f"  {line}" for line in lines)


def print_recalled(items: Sequence[Item | Recalled], zone: str) -> None:
    """Best first; what no advisor would be told stands apart."""
    if not items:
        note("Nothing is remembered about that.")
        return
    sure = [item for item in items if item.relevance is None or item.relevance >= RELEVANT]
    _told(sure, zone)
    if len(sure) < len(items):
        say("\nless sure:" if sure else "Nothing is surely about that; less sure:")
        _told([item for item in items if item not in sure], zone)


def _told(items: Sequence[Item | Recalled], zone: str) -> None:
    for item in items:
        relevance = "  – " if item.relevance is None else f"{item.relevance:.2f}"
        past = "" if item.status == "current" else ", superseded"
        say(f"{relevance}  {when(item.valid_from, zone)}  {item.text}")
        for evidence in item.evidence[:1]:
            where = f"{evidence.role}, {evidence.session_id}#{evidence.index}"
            say(f"      {item.source or 'memory'}{past}: {where}")
