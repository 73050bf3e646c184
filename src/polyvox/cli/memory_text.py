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
    ("loops", "open loop"),
    ("profile", "profile line"),
    ("titles", "title"),
)
UNREAD = (
    "There is no capable model for memory, so nothing is noted by itself.\n"
    "What you said can still be found, and `polyvox memory remember TEXT` is kept.\n"
    "Name a model as models.memory, or add a key."
)


def ask_lines(kept: int, model: str, share: str) -> Iterator[str]:
    """The question whether an online model may read what was told to models on this machine."""
    them = "it" if kept == 1 else "them"
    talks = f"{count(kept, 'conversation')} {'was' if kept == 1 else 'were'}"
    held = f"{talks} held with a model on this computer"
    if share == "never":
        yield f"{held} and {'stays' if kept == 1 else 'stay'} private; `polyvox memory share` lets"
        yield f"{model} read {them}."
        return
    yield f"{held}. {model} runs online. May it read {them}?"
    yield "  polyvox memory share          allow it, now and later"
    yield "  polyvox memory share --never  keep such conversations private"


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
    """List what goes, which answers go unless kept, what is rewritten, and where it still is."""
    gone = [
        f"{name}: {one_line(each['text'], WIDTH)}"
        for key, name in GOES
        for each in getattr(shown, key)
    ]
    yield from _headed("This is deleted:", gone)
    answers = [f"{each['id']}  {one_line(each['text'], WIDTH)}" for each in shown.answers]
    yield from _headed("These answers used it and go too, unless kept (--keep ID):", answers)
    yield from _headed("In these conversations a mark stays:", shown.conversations)
    if records := shown.receipts + sum(shown.elsewhere.values()):
        lose = "loses" if records == 1 else "lose"
        yield f"{count(records, 'record')} (receipts, traces, evaluations) {lose} it as well."
    rewritten = [f"the summary of {each}" for each in (*shown.summaries, *shown.days)]
    yield from _headed("This is rewritten without it:", rewritten)
    returns = [one_line(each["text"], WIDTH) for each in shown.returns]
    yield from _headed("This becomes current again:", returns)
    yield from _headed("These backups still have it until you delete them:", shown.backups)


def _headed(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield title
        yield from (f"  {line}" for line in lines)


def print_recalled(items: Sequence[Item | Recalled], zone: str) -> None:
    """Best first; what no advisor would be told stands apart."""
    if not items:
        note("Nothing found.")
        return
    sure = [item for item in items if item.relevance is None or item.relevance >= RELEVANT]
    _told(sure, zone)
    if len(sure) < len(items):
        say("\nless likely:" if sure else "No sure result; less likely:")
        _told([item for item in items if item not in sure], zone)


def _told(items: Sequence[Item | Recalled], zone: str) -> None:
    for item in items:
        relevance = "  – " if item.relevance is None else f"{item.relevance:.2f}"
        past = "" if item.status == "current" else ", outdated"
        say(f"{relevance}  {when(item.valid_from, zone)}  {item.text}")
        for evidence in item.evidence[:1]:
            where = f"{evidence.role}, {evidence.session_id}#{evidence.index}"
            say(f"      {item.source or 'memory'}{past}: {where}")
