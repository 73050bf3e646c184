"""`polyvox memory`: what is remembered, from where, and what is to be done with it."""

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
    brief_lines,
    forget_lines,
    print_recalled,
    profile_rows,
    startbrief_lines,
)
from polyvox.cli.output import note, print_list, say, say_json, table
from polyvox.cli.prompt import sure
from polyvox.cli.words import when
from polyvox.errors import Invalid, NotFound
from polyvox.interop import files
from polyvox.memory import session_start
from polyvox.memory.daily import bounds
from polyvox.memory.forget import Target
from polyvox.memory.loops import LIVE
from polyvox.memory.packets import Brief, Recalled, StartBrief
from polyvox.memory.query import Query, shape
from polyvox.memory.remote import RemoteMemory
from polyvox.memory.session_start import brief as make_brief
from polyvox.memory.session_start import written_brief
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
FactId = Annotated[str, typer.Argument(metavar="FACT", help="Its id, as `facts` shows it.")]
PinId = Annotated[str, typer.Argument(help="Its id, as `facts` or `loops` shows it.")]
What = Literal["fact", "loop", "profile", "message", "session"]
Off = Annotated[bool, typer.Option("--off", help="Undo it.")]


class End(StrEnum):
    """States that a loop can be given."""

    done = "done"
    dropped = "dropped"
    open = "open"


@command(group, "query")
async def query(
    app: Polyvox,
    words: Annotated[str, typer.Argument(help="What to look for.")],
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many.")] = 10,
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="As it was then: at the end of a day (2024-05-31), or at a time"
            " (2024-05-31T09:00), both where you are.",
        ),
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="What was superseded, too.")] = False,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, max=1_000_000, help="How much, at most, in tokens.")
    ] = None,
    json: Json = False,
) -> None:
    """Everything that is remembered about something, with its source, best first."""
    then = None if as_of is None else _time(as_of, app.settings.timezone)
    items: Sequence[Item | Recalled]
    if (remote := app.services.remote) is not None:
        if then is not None or history or max_tokens is not None:
            raise _not_asked(remote, "--as-of, --history or --max-tokens")
        if not words.strip():
            raise Invalid("There is no question.", "Say what to look for.")
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
        note(f"Looked for by words alone ({degrade}).")


@command(group, "loops")
async def loops(
    app: Polyvox,
    all_: Annotated[bool, typer.Option("--all", help="Also what is over or stale.")] = False,
    mark: Annotated[
        tuple[str, End] | None,
        typer.Option("--mark", metavar="LOOP STATUS", help="Mark one: done, dropped or open."),
    ] = None,
    json: Json = False,
) -> None:
    """What is open, by priority, pinned ones first."""
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
    """Who you are and how you want to be answered; or change it by hand."""
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
        bool, typer.Option("--start", help="The startbrief: what a session starts with.")
    ] = False,
    json: Json = False,
) -> None:
    """Where you are: what is open, in focus and known, without what must never leave this machine.

    With --start, as a session is told it; the model for memory writes its handover, if there is
    one.
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
    words: Annotated[str, typer.Argument(help="Only those about this.")] = "",
    history: Annotated[bool, typer.Option("--history", help="What was superseded, too.")] = False,
    json: Json = False,
) -> None:
    """What is known: pinned facts first, then the newest."""
    _only_here(app, "a list of facts")
    await app.catch_up.all(SCOPE)
    print_list(
        await app.memory.facts(SCOPE, OWN, words=words, include_history=history),
        ("id", "said", "source", "", "what"),
        lambda known: (
            known.statement.id,
            when(known.statement.said_at, app.settings.timezone),
            known.statement.source,
            " ".join([known.status] * (known.status != "current") + _marks(known)),
            known.statement.text,
        ),
        empty="No facts are known yet.",
        json=json,
        out=FactOut.of,
    )


@command(group, "correct")
async def correct(
    app: Polyvox, fact: FactId, text: Annotated[str, typer.Argument(help="What is so.")]
) -> None:
    """Put a statement of your own in place of a fact. It holds until you say something newer."""
    _only_here(app, "a correction")
    if not text.strip():
        raise Invalid("A correction says something.", "To be rid of a fact, forget it.")
    corrected = await app.memory.change_fact(SCOPE, OWN, fact, text=text.strip())
    say(f"{corrected.statement.id}  {corrected.statement.text}")


@command(group, "pin")
async def pin(app: Polyvox, what: PinId, off: Off = False) -> None:
    """Let a fact or a loop come first; a loop does not grow old then."""
    _only_here(app, "pinning")
    try:
        say(_marked(await app.memory.change_fact(SCOPE, OWN, what, pinned=not off)))
    except NotFound:  # then it is a loop's
        try:
            loop = await app.memory.change_loop(SCOPE, OWN, what, pinned=not off)
        except NotFound:
            hint = "List them with `polyvox memory facts` and `polyvox memory loops`."
            raise NotFound(f"There is neither a fact nor a loop {what}.", hint) from None
        say(f"{'pinned' if loop.pinned else 'not pinned'}: {loop.text}")


@command(group, "exclude")
async def exclude(app: Polyvox, fact: FactId, off: Off = False) -> None:
    """Keep a fact, but let no model be told it."""
    _only_here(app, "excluding")
    say(_marked(await app.memory.change_fact(SCOPE, OWN, fact, excluded=not off)))


def _marks(known: Held) -> list[str]:
    return [name for name in ("pinned", "excluded") if getattr(known.statement, name)]


def _marked(known: Held) -> str:
    return f"{' and '.join(_marks(known)) or 'neither pinned nor excluded'}: {known.statement.text}"


@command(group, "forget")
async def forget(
    app: Polyvox,
    what: Annotated[What, typer.Argument(help="What it is.")],
    id_: Annotated[str, typer.Argument(metavar="ID", help="Its id; a message: SESSION#INDEX.")],
    preview: Annotated[bool, typer.Option("--preview", help="Only show what would go.")] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Forget something for good, with everything that was made of it. Shows first what goes."""
    _only_here(app, "forgetting")
    target = Target(what, id_)
    shown = ForgetOut.of(await app.memory.preview(SCOPE, OWN, target))
    if preview or not json:
        _tell(shown, json)
    if preview:
        return
    sure(f"Forget this {what}, with all of that, for good?", yes)
    gone = ForgetOut.of(await app.memory.forget(SCOPE, OWN, target))
    if json:
        _tell(gone, json)
    elif gone.scrubbed:
        say("forgotten")
    else:
        say("forgotten; the files are scrubbed when the program that reads them has ended")


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
    """Remember a session from a file, once by its id. Without tenantId and userId it is yours."""
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
        raise _not_asked(remote, "what must never leave this machine")
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
