"""`polyvox memory`: see, correct, undo, delete and forget what is remembered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import ValidationError

from polyvox.app import Polyvox
from polyvox.cli.command import Json, Yes, command, new_group
from polyvox.cli.lookup import SCOPE
from polyvox.cli.memory_text import (
    UNREAD,
    ask_lines,
    brief_lines,
    forget_lines,
    print_recalled,
    profile_rows,
    startbrief_lines,
)
from polyvox.cli.output import note, print_list, say, say_json, table
from polyvox.cli.prompt import sure
from polyvox.cli.words import count, when
from polyvox.errors import Invalid, NotFound
from polyvox.interop import files
from polyvox.memory import session_start
from polyvox.memory.brief import brief as make_brief
from polyvox.memory.brief import written_brief
from polyvox.memory.daily import bounds
from polyvox.memory.forget import Target
from polyvox.memory.loops import LIVE, Loop
from polyvox.memory.packets import Brief, Recalled, StartBrief
from polyvox.memory.query import Query, shape
from polyvox.memory.remote import RemoteMemory
from polyvox.memory.shapes.contract import IngestBody, LoopOut, micros
from polyvox.memory.shapes.own import FactOut, ForgetOut
from polyvox.memory.shapes.profile import UserModelOut
from polyvox.memory.shapes.remote import brief_body, loops_body, profile_body, query_body
from polyvox.memory.times import zone_of
from polyvox.memory.values import Item, Partition
from polyvox.memory.view import Held
from polyvox.settings import shown_url
from polyvox.settings.complaint import complaint

group = new_group("facts")

OWN = Partition.own(SCOPE)
MOST_LOOPS = 100
LARGEST = 100_000_000
"""Bytes of a session's file."""
NOTHING_OPEN = "Nothing is open."
NO_PROFILE = "The profile is empty."
FactId = Annotated[str, typer.Argument(metavar="FACT", help="An id, as `facts` shows it.")]
EitherId = Annotated[
    str, typer.Argument(metavar="ID", help="An id, as `facts` or `loops` shows it.")
]
What = Literal["fact", "loop", "profile", "message", "session"]
Off = Annotated[bool, typer.Option("--off", help="Undo it.")]
Outdated = Annotated[bool, typer.Option("--history", help="Outdated facts, too.")]


class End(StrEnum):
    """States that a loop can be given."""

    done = "done"
    dropped = "dropped"
    open = "open"


@command(group, "query")
async def query(
    app: Polyvox,
    words: Annotated[str, typer.Argument(help="Words to look for.")],
    limit: Annotated[int, typer.Option(min=1, max=100, help="Most results.")] = 10,
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="As it was then: at the end of a day (2024-05-31), or at a time"
            " (2024-05-31T09:00), both where you are.",
        ),
    ] = None,
    history: Outdated = False,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, max=1_000_000, help="Most tokens in all.")
    ] = None,
    json: Json = False,
) -> None:
    """Search memory; the best results first, each with its source."""
    then = None if as_of is None else _time(as_of, app.settings.timezone)
    items: Sequence[Item | Recalled]
    if (remote := app.services.remote) is not None:
        if then is not None or history or max_tokens is not None:
            raise _not_asked(remote, "--as-of, --history or --max-tokens")
        if not words.strip():
            raise Invalid("There is nothing to look for.", "Give some words.")
        reply = remote.value(await remote.query(OWN, words, now=app.clock(), limit=limit))
        items, body, degrade = reply.items, query_body(reply, words, limit), None
    else:
        await app.catch_up.all(SCOPE)
        recalled = await app.memory.query(
            SCOPE,
            OWN,
            Query(
                words,
                app.clock(),
                limit,
                as_of=then,
                include_history=history,
                max_tokens=max_tokens,
            ),
        )
        items, body, degrade = recalled.items, shape(recalled), recalled.degrade
    if json:
        say_json(body)
        return
    print_recalled(items, app.settings.timezone)
    if degrade:
        note(f"Searched by words only ({degrade}).")


@command(group, "loops")
async def loops(
    app: Polyvox,
    all_: Annotated[bool, typer.Option("--all", help="Also done, dropped and stale ones.")] = False,
    mark: Annotated[
        tuple[str, End] | None,
        typer.Option("--mark", metavar="LOOP STATUS", help="Mark one: done, dropped or open."),
    ] = None,
    json: Json = False,
) -> None:
    """List open loops by priority, pinned ones first; or mark one."""
    if (remote := app.services.remote) is not None:
        if mark is not None or all_:
            raise _not_asked(remote, "--all or --mark")
        listed = remote.value(await remote.loops(OWN, limit=MOST_LOOPS))
        print_list(
            listed,
            ("id", "status", "type", "due", "what"),
            lambda loop: (
                loop.id or "",
                loop.status or "",
                loop.type or "",
                loop.due_date or loop.time_horizon or "",
                loop.text,
            ),
            empty=NOTHING_OPEN,
            json=json,
            out=lambda loop: loops_body([loop])[0],
        )
        return
    await app.catch_up.all(SCOPE)
    if mark is not None:
        loop = await app.memory.change_loop(SCOPE, OWN, mark[0], status=mark[1].value)
        say(f"{loop.status}: {loop.text}")
        return
    states = (*LIVE, "stale", "done", "dropped") if all_ else LIVE
    print_list(
        await app.memory.loops(SCOPE, OWN, statuses=states),
        ("id", "status", "type", "due", "", "what"),
        lambda loop: (
            loop.id,
            loop.status,
            loop.type,
            loop.due or loop.horizon,
            "pinned" if loop.pinned else "",
            loop.text,
        ),
        empty=NOTHING_OPEN,
        json=json,
        out=LoopOut.of,
    )


@command(group, "profile")
async def profile(
    app: Polyvox,
    change: Annotated[
        str | None,
        typer.Option("--set", metavar="JSON", help='For instance \'{"current_focus": "…"}\'.'),
    ] = None,
    json: Json = False,
) -> None:
    """Show or change your profile."""
    if (remote := app.services.remote) is not None:
        if change is not None:
            raise _not_asked(remote, "--set")
        model = remote.value(await remote.user_model(OWN))
        if json:
            say_json(profile_body(model))
        else:
            table(("place", "source", "what"), profile_rows(model), empty=NO_PROFILE)
        return
    await app.catch_up.all(SCOPE)
    if change is not None:
        await app.memory.change_profile(SCOPE, OWN, _object(change))
    known = await app.memory.profile(SCOPE, OWN)
    if json:
        say_json(UserModelOut.of(known, app.clock()))
        return
    rows = [
        (
            line.id,
            f"{place} ({line.item})" if place in ("north_star", "key_relationships") else place,
            line.source,
            line.text,
        )
        for place, lines in sorted(known.lines.items())
        for line in lines
    ]
    table(("id", "place", "source", "what"), rows, empty=NO_PROFILE)


@command(group, "brief")
async def brief(
    app: Polyvox,
    start: Annotated[
        bool, typer.Option("--start", help="The brief that a session starts with.")
    ] = False,
    json: Json = False,
) -> None:
    """Show what is open, in focus and known.

    What stays on this machine is not in it. With --start, as a new session is told it; the memory
    model writes its handover, if there is one.
    """
    remote, zone = app.services.remote, app.settings.timezone
    made: Brief | StartBrief
    if remote is not None and start:
        got = await remote.startbrief(OWN, app.clock(), None, zone or None)
        made = remote.value(got)
    elif remote is not None:
        made = remote.value(await remote.brief(OWN, app.clock(), None, zone or None))
    else:
        await app.catch_up.all(SCOPE)
        known = await app.database.read(
            lambda tx: (
                session_start.read(tx, OWN, app.clock(), zone_of(zone), None, whole=not start).known
            ),
            SCOPE,
        )
        made = await written_brief(app.resources, SCOPE, known) if start else make_brief(known)
    if json:
        say_json(brief_body(made))
        return
    if isinstance(made, StartBrief):
        lines = startbrief_lines(made)
    else:
        lines = brief_lines(made, "" if remote is not None else "the first talk")
    for line in lines:
        say(line)


@command(group, "facts")
async def facts(
    app: Polyvox,
    words: Annotated[str, typer.Argument(help="Only facts about this.")] = "",
    history: Outdated = False,
    json: Json = False,
) -> None:
    """List facts: pinned ones first, then the newest."""
    _only_here(app, "a list of facts")
    await app.catch_up.all(SCOPE)
    print_list(
        await app.memory.facts(SCOPE, OWN, words=words, include_history=history),
        ("id", "said", "source", "", "what"),
        lambda known: (
            known.statement.id,
            when(known.statement.said_at, app.settings.timezone),
            known.statement.source,
            " ".join(["outdated"] * (not known.current) + _marks(known)),
            known.statement.text,
        ),
        empty="No facts yet.",
        json=json,
        out=FactOut.of,
    )
    if json or words:
        return
    if (model := app.memory.asker.model) is None:
        note(UNREAD)
    elif kept := await app.memory.kept_local(SCOPE):
        for line in ask_lines(kept, model, app.settings.memory.share):
            note(line)


@command(group, "remember")
async def remember(
    app: Polyvox, text: Annotated[str, typer.Argument(help="A fact, in your words.")]
) -> None:
    """Tell memory something outright. It is kept with or without a model."""
    _only_here(app, "remembering a sentence")
    if not text.strip():
        raise Invalid("There is nothing to remember.", "Give a sentence.")
    written = await app.memory.write_fact(SCOPE, OWN, text.strip())
    say(f"{written.statement.id}  {written.statement.text}")


@command(group, "undo")
async def undo(app: Polyvox, what: EitherId) -> None:
    """Make an outdated fact current again, or open a loop again."""
    _only_here(app, "undoing")
    try:
        known = await app.memory.change_fact(SCOPE, OWN, what, current=True)
        say(f"current: {known.statement.text}")
    except NotFound:
        loop = await _loop(app, what, status="open")
        say(f"{loop.status}: {loop.text}")


@command(group, "share")
async def share(
    app: Polyvox,
    never: Annotated[bool, typer.Option("--never", help="Keep them private.")] = False,
) -> None:
    """Let online models read what you told models here; or never.

    Sets `memory.share` to always, or to never.
    """
    _only_here(app, "sharing")
    setting: Literal["never", "always"] = "never" if never else "always"
    await app.configuration.change({"memory.share": setting})
    if never:
        say("Conversations with models on this machine stay private.")
        return
    opened = await app.memory.open_sessions(SCOPE)
    say(f"Online models may read them: {count(opened, 'conversation')} until now.")


@command(group, "correct")
async def correct(
    app: Polyvox, fact: FactId, text: Annotated[str, typer.Argument(help="The corrected text.")]
) -> None:
    """Replace the text of a fact; the old text becomes outdated."""
    _only_here(app, "a correction")
    if not text.strip():
        raise Invalid("The correction is empty.", "To delete a fact: `memory forget fact ID`.")
    corrected = await app.memory.change_fact(SCOPE, OWN, fact, text=text.strip())
    say(f"{corrected.statement.id}  {corrected.statement.text}")


@command(group, "pin")
async def pin(app: Polyvox, what: EitherId, off: Off = False) -> None:
    """Pin a fact or a loop, so that it comes first."""
    _only_here(app, "pinning")
    try:
        say(_marked(await app.memory.change_fact(SCOPE, OWN, what, pinned=not off)))
    except NotFound:
        loop = await _loop(app, what, pinned=not off)
        say(f"{'pinned' if loop.pinned else 'not pinned'}: {loop.text}")


@command(group, "exclude")
async def exclude(app: Polyvox, fact: FactId, off: Off = False) -> None:
    """Hide a fact from advisors, but keep it."""
    _only_here(app, "hiding")
    say(_marked(await app.memory.change_fact(SCOPE, OWN, fact, excluded=not off)))


async def _loop(app: Polyvox, loop_id: str, **change: Any) -> Loop:  # noqa: ANN401 - its options
    """Change a loop, where the id is no fact's."""
    try:
        return await app.memory.change_loop(SCOPE, OWN, loop_id, **change)
    except NotFound:
        hint = "List them with `polyvox memory facts --history` and `polyvox memory loops --all`."
        raise NotFound(f"There is no fact or loop {loop_id}.", hint) from None


def _marks(known: Held) -> list[str]:
    marks = {"pinned": known.statement.pinned, "hidden": known.statement.excluded}
    return [name for name, is_set in marks.items() if is_set]


def _marked(known: Held) -> str:
    return f"{' and '.join(_marks(known)) or 'not pinned, not hidden'}: {known.statement.text}"


@command(group, "forget")
async def forget(
    app: Polyvox,
    what: Annotated[What, typer.Argument(help="The kind of thing.")],
    id_: Annotated[str, typer.Argument(metavar="ID", help="An id; a message: SESSION#INDEX.")],
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="ANSWER", help="An answer to keep, as the preview lists it."),
    ] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Only show what would go.")] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Delete a fact, loop or line; forget a message or session.

    Shows first what goes. Deleting a fact, a loop or a line touches no message. With a message go
    all notes taken from it and the answers that used it; --keep keeps one (again for more).
    """
    _only_here(app, "forgetting")
    target = Target(what, id_, frozenset(keep or ()))
    shown = ForgetOut.of(await app.memory.preview(SCOPE, OWN, target))
    if preview or not json:
        _tell(shown, json)
    if preview:
        return
    kind = "profile line" if what == "profile" else what
    verb = "Forget" if what in ("message", "session") else "Delete"
    sure(f"{verb} this {kind} for good?", yes)
    gone = ForgetOut.of(await app.memory.forget(SCOPE, OWN, target))
    if json:
        _tell(gone, json)
    elif gone.scrubbed:
        say("forgotten")
    else:
        say("forgotten; the files are wiped when the program that is reading them ends")


def _tell(shown: ForgetOut, json: bool) -> None:
    if json:
        say_json(shown)
        return
    for line in forget_lines(shown):
        say(line)


@command(group, "ingest")
async def ingest(
    app: Polyvox,
    file: Annotated[Path, typer.Argument(help="JSON as POST /session/ingest takes it.")],
) -> None:
    """Import a session from a file, once by its id. Without tenantId and userId it is yours."""
    given = {"tenantId": OWN.tenant, "userId": OWN.user}
    try:
        data = _object(files.read_text(file, LARGEST))
        body = IngestBody.model_validate({**given, **data})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise Invalid(f"{file}: {place}: {complaint(first)}.", "Correct that value.") from None
    whose, remote = body.partition(None, None), app.services.remote
    status: str
    if remote is None:
        cloud = not body.never_to_cloud
        status = await app.memory.ingest(SCOPE, whose, *body.values(), cloud=cloud)
    elif body.never_to_cloud:
        raise _not_asked(remote, "keeping a session on this machine")
    else:
        got = await remote.ingest(whose, *body.values())
        status = remote.value(got)
    say(f"{status} {body.session_id}")


def _only_here(app: Polyvox, what: str) -> None:
    """Refuse what cannot be asked of a remote service."""
    if (remote := app.services.remote) is not None:
        raise _not_asked(remote, what)


def _not_asked(remote: RemoteMemory, what: str) -> Invalid:
    return Invalid(
        f"Memory is kept by another service, at {shown_url(remote.url)}, and {what} cannot be asked"
        " of it.",
        "Do that there; `polyvox memory query`, `loops`, `profile`, `brief` and `ingest` ask it."
        " What this program kept itself is reached with memory.url empty.",
    )


def _object(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise Invalid("This is not a JSON object.", "Write it as {…}.")
    return data


def _time(text: str, timezone: str) -> int:
    """A time in the person's zone, where it names no other; a day is meant to its end."""
    zone = zone_of(timezone)
    try:
        moment = datetime.fromisoformat(text)
        micros("as-of", moment)
        try:
            return bounds(date.fromisoformat(text), zone)[1] - 1
        except ValueError:  # it names an hour, too
            local = moment.replace(tzinfo=zone) if moment.tzinfo is None else moment
            return micros("as-of", local.astimezone())
    except (ValueError, OverflowError):
        raise Invalid(f"{text!r} is no time.", "Write it as 2024-05-31.") from None
