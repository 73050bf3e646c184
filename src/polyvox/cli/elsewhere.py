"""Memory that another service keeps (`memory.url`): asked by the contract, told like our own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from pydantic.alias_generators import to_camel

from polyvox.app import Polyvox
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import say, say_json, table
from polyvox.cli.show.memory import known_lines, open_lines, ops_lines, print_recalled
from polyvox.errors import Invalid, PolyvoxError
from polyvox.memory.packets import Brief, Recalled, StartBrief, Stated, UserModel
from polyvox.memory.remote import Degrade, Got, RemoteMemory
from polyvox.memory.shapes.contract import EvidenceOut, IngestBody, iso
from polyvox.memory.values import Partition
from polyvox.session.remembering import RemoteService
from polyvox.settings import shown_url

T = TypeVar("T")
OWN = Partition.own(SCOPE)
MOST_LOOPS = 100
WIDTH = 100
"""Most characters of a text in a brief."""


def service(app: Polyvox) -> RemoteMemory | None:
    """The service that keeps memory in place of this program, if there is one."""
    return app.road.memory.remote if isinstance(app.road.memory, RemoteService) else None


def only_here(app: Polyvox, what: str) -> None:
    """Refuse what nobody can ask of a service elsewhere."""
    if (remote := service(app)) is not None:
        raise not_asked(remote, what)


def not_asked(remote: RemoteMemory, what: str) -> Invalid:
    """Why something cannot be done here."""
    return Invalid(
        f"Memory is kept by another service, at {shown_url(remote.url)}, and {what} cannot be asked"
        " of it.",
        "Do that there; `polyvox memory query`, `loops`, `profile`, `brief` and `ingest` ask it."
        " What this program kept itself is reached with memory.url empty.",
    )


def why(degrade: Degrade) -> tuple[str, str]:
    """Why a service did not help, and what to do."""
    if degrade.reason == "timeout":
        hint = "Look whether it runs; memory.budget and memory.recall_seconds are how long we wait."
        return "does not answer in time", hint
    if degrade.reason == "unreachable":
        return "cannot be reached", "Look whether it runs, and at memory.url."
    if degrade.detail in ("401", "403"):
        return f"refuses us ({degrade.detail})", "Put the token that it wants in memory.token."
    if degrade.reason == "status":
        return f"answers with status {degrade.detail}", "Look at memory.url and at its own log."
    return (
        f"answers nothing of use ({degrade.detail})",
        "Look whether memory.url is such a service.",
    )


def answered(remote: RemoteMemory, got: Got[T]) -> T:
    """What a service answered."""
    if got.degrade is not None or got.value is None:
        said, then = why(got.degrade) if got.degrade else ("answers nothing", "")
        raise PolyvoxError(f"The memory service at {shown_url(remote.url)} {said}.", then)
    return got.value


async def query(app: Polyvox, remote: RemoteMemory, words: str, limit: int, json: bool) -> None:
    """What it remembers about something."""
    if not words.strip():
        raise Invalid("There is no question.", "Say what to look for.")
    found = answered(remote, await remote.query(OWN, words, now=app.clock(), limit=limit))
    if json:
        counted = {"facts": len(found.items), "entities": len(found.entities), "limit": limit}
        say_json(
            {
                "facts": [one.text for one in found.items],
                "factItems": [_item(one) for one in found.items],
                "entities": [asdict(one) for one in found.entities],
                "metadata": {"query": words, "responseMode": "remote", **counted},
            }
        )
        return
    print_recalled(found.items, app.settings.timezone)


async def loops(remote: RemoteMemory, json: bool) -> None:
    """What is open there, by priority."""
    found = answered(remote, await remote.loops(OWN, limit=MOST_LOOPS))
    if json:
        say_json([_camel(asdict(one)) for one in found])
        return
    rows = [
        (
            one.id or "",
            one.status or "",
            one.type or "",
            one.due_date or one.time_horizon or "",
            one.text,
        )
        for one in found
    ]
    table(("id", "status", "type", "due", "what"), rows, empty="Nothing is open.")


async def profile(remote: RemoteMemory, json: bool) -> None:
    """The profile as it is kept there."""
    found = answered(remote, await remote.user_model(OWN))
    if json:
        data = asdict(found)
        about = {name: data.pop(name) for name in ("exists", "completeness", "version", "stale")}
        data["preferences"] = {"tone": data.pop("tone"), "avoid": data.pop("avoid")}
        say_json({"model": data, **about})
        return
    table(("place", "source", "what"), list(_lines(found)), empty="The profile is empty.")


async def brief(app: Polyvox, remote: RemoteMemory, start: bool, json: bool) -> None:
    """Where the person is, as it is told there."""
    now, zone = app.clock(), app.settings.timezone or None
    if start:
        begin = answered(remote, await remote.startbrief(OWN, now, None, zone))
        data, lines = asdict(begin), _start_lines(begin)
        data["items"] = [_camel(one) for one in data["items"]]
    else:
        made = answered(remote, await remote.brief(OWN, now, None, zone))
        data, lines = _camel(asdict(made)), _brief_lines(made)
    if json:
        say_json(data)
        return
    for line in lines:
        say(line)


async def ingest(remote: RemoteMemory, body: IngestBody) -> str:
    """Have a session remembered there."""
    if body.never_to_cloud:
        raise not_asked(remote, "what must never leave this machine")
    return answered(remote, await remote.ingest(body.partition(None, None), *body.values()))


def _item(one: Recalled) -> dict[str, object]:
    return {
        "text": one.text,
        "relevance": one.relevance,
        "source": one.source,
        "evidence": [EvidenceOut.of(each).model_dump(by_alias=True) for each in one.evidence],
        "validFrom": iso(one.valid_from),
        "validTo": iso(one.valid_to),
        "status": one.status,
    }


def _camel(data: Mapping[str, Any]) -> dict[str, Any]:
    return {to_camel(name): value for name, value in data.items()}


def _lines(one: UserModel) -> Iterator[tuple[str, str, str]]:
    def line(place: str, said: Stated | None) -> Iterator[tuple[str, str, str]]:
        if said is not None:
            yield place, said.source or "", said.text

    if one.name:
        yield "name", "", one.name
    for domain, star in one.north_star.items():
        yield from line(f"north_star ({domain})", star.vision)
        yield from line(f"north_star ({domain})", star.goal)
    yield from line("current_focus", one.current_focus)
    yield from line("work_context", one.work_context)
    for person in one.key_relationships:
        yield f"key_relationships ({person.name})", person.source or "", person.about
    for pattern in one.patterns:
        yield from line("patterns", pattern)
    yield from line("preferences.tone", one.tone)
    yield from (("preferences.avoid", "", text) for text in one.avoid)
    yield from (("instructions", "", text) for text in one.instructions)


def _brief_lines(made: Brief) -> Iterator[str]:
    moment = (made.time_of_day_label or "", made.time_gap_description or "")
    if told := ", ".join(part for part in moment if part):
        yield f"{told[0].upper()}{told[1:]}."
    yield from known_lines(made)


def _start_lines(made: StartBrief) -> Iterator[str]:
    bridge = made.resume.bridge_text if made.resume else None
    yield from (text for text in (made.handover_text, bridge) if text)
    yield from open_lines(made)
    if (ops := made.ops_context) is not None:
        yield from ops_lines(ops)
