"""Briefs, profiles, recalled and forgotten things in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyvox.cli.output import note, say
from polyvox.cli.words import count, one_line, when
from polyvox.memory.packets import Brief, Recalled, StartBrief, Stated, UserModel
from polyvox.memory.remembering import RELEVANT
from polyvox.memory.shapes.own import ForgetOut
from polyvox.memory.values import Item

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


def brief_lines(made: Brief, first: str) -> Iterator[str]:
    """A brief, line by line; `first` is said in place of the time since the last talk."""
    moment = (made.time_of_day_label or "", made.time_gap_description or first)
    if line := ", ".join(part for part in moment if part):
        yield f"{line[0].upper()}{line[1:]}."
    yield from _listed("in focus", [made.current_focus] if made.current_focus else [])
    yield from _listed("promised", made.commitments)
    yield from _listed("open", made.open_loops)
    yield from _listed("known", made.facts)
    yield from _listed("before", made.narrative_summary)


def startbrief_lines(made: StartBrief) -> Iterator[str]:
    """A startbrief, line by line."""
    bridge = made.resume.bridge_text if made.resume else None
    yield from (text for text in (made.handover_text, bridge) if text)
    for item in made.items:
        due = item.due_date or item.time_horizon
        yield f"open: {one_line(item.text, WIDTH)}{f' ({due})' if due else ''}"
    if (ops := made.ops_context) is not None:
        yield from _listed("today", ops.top_loops_today)
        yield from _listed("waiting for", ops.waiting_on)
        yield from _listed("profile", ops.user_model_hints)
        yield from _listed("yesterday", ops.yesterday_themes)
        yield from _listed("note", [ops.steering_note] if ops.steering_note else [])


def profile_rows(model: UserModel) -> list[tuple[str, str, str]]:
    """The profile of a remote service: place, source, text."""
    stars = [
        (f"north_star ({domain})", stated)
        for domain, star in model.north_star.items()
        for stated in (star.vision, star.goal)
    ]
    people = [
        (f"key_relationships ({person.name})", Stated(person.about, person.source))
        for person in model.key_relationships
    ]
    lines = [
        ("name", Stated(model.name) if model.name else None),
        *stars,
        ("current_focus", model.current_focus),
        ("work_context", model.work_context),
        *people,
        *(("patterns", pattern) for pattern in model.patterns),
        ("preferences.tone", model.tone),
        *(("preferences.avoid", Stated(text)) for text in model.avoid),
        *(("instructions", Stated(text)) for text in model.instructions),
    ]
    return [(place, line.source or "", line.text) for place, line in lines if line is not None]


def _listed(name: str, texts: Sequence[str]) -> Iterator[str]:
    return (f"{name}: {one_line(text, WIDTH)}" for text in texts)


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
