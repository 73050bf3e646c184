"""Sessions whose messages have no times: what was said last holds, in whatever order it arrives."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

from tests.memory.desk import DAY, EMPTY, FRIDAY, ME, MODEL, Desk, open_desk
from tests.provider import Script

from polyvox.memory.values import Message, Partition
from polyvox.store.database import Database

CITIES = ("Berlin", "Oslo", "Lima", "Rome", "Kyiv")
SESSIONS = {
    "now": (
        FRIDAY,
        ["I live in Berlin now.", "Actually no, I live in Oslo now.", "Sorry: I live in Lima."],
    ),
    "before": (FRIDAY - DAY, ["I live in Rome now."]),
    "long before": (FRIDAY - 2 * DAY, ["I live in Kyiv now."]),
}


def noted(body: dict[str, Any]) -> Script:
    """A fact for each city that is named, the last one first, and the names they want."""
    facts, names = [], []
    for line in body["messages"][-1]["content"].splitlines():
        said = json.loads(line)
        if "n" not in said:
            continue
        for name in re.findall(r"Call me (\w+)", said["text"]):
            row = {"n": said["n"], "quote": f"Call me {name}.", "text": name, "field": "name"}
            names.append(row)
        places = {city: said["text"].find(f"I live in {city}") for city in CITIES}
        for city in sorted((c for c in CITIES if places[c] >= 0), key=places.__getitem__):
            row = {"n": said["n"], "quote": f"I live in {city}", "text": f"Lives in {city}."}
            facts.append({**row, "subject": "user", "attribute": "home city"})
    notes = {**EMPTY, "facts": facts[::-1], "profile": names[::-1], "summary": "They moved."}
    return Script(pieces=(json.dumps(notes),))


async def tell(desk: Desk, part: Partition, session: str, at: int, texts: list[str]) -> None:
    messages = [Message("user", text) for text in texts]
    await desk.memory.ingest(ME, part, session, None, at, at + DAY // 24, messages)
    await desk.work()


async def test_the_last_statement_of_a_session_holds(database: Database, tmp_path: Path) -> None:
    async with open_desk(database, tmp_path) as desk:
        desk.provider.made(MODEL.partition(":")[2], noted)
        views = []
        for number, order in enumerate(itertools.permutations(SESSIONS)):
            part = Partition("polyvox", f"u{number}")
            for name in order:
                await tell(desk, part, name, *SESSIONS[name])
            (now,) = await desk.memory.facts(ME, part)
            assert now.statement.text == "Lives in Lima."
            (then,) = await desk.memory.facts(ME, part, as_of=FRIDAY - 1)
            assert then.statement.text == "Lives in Rome."
            views.append((await desk.view(part))["facts"])
            _, others = await desk.memory.fact(ME, part, now.statement.id)
            texts = [one.statement.text.split()[-1] for one in others]
            assert texts == ["Kyiv.", "Rome.", "Berlin.", "Oslo."]
        assert all(view == views[0] for view in views)


async def test_inside_a_message_the_last_words_hold(database: Database, tmp_path: Path) -> None:
    async with open_desk(database, tmp_path) as desk:
        desk.provider.made(MODEL.partition(":")[2], noted)
        for number, order in enumerate(itertools.permutations(CITIES[:3])):
            part = Partition("polyvox", f"u{number}")
            said = ", no: ".join(f"I live in {city}" for city in order)
            await tell(desk, part, "s", FRIDAY, [said])
            (now,) = await desk.memory.facts(ME, part)
            assert now.statement.text == f"Lives in {order[-1]}."
            every = await desk.memory.facts(ME, part, include_history=True)
            assert len(every) == 3, "nothing is lost"


async def test_the_profile_goes_by_the_last_words_too(database: Database, tmp_path: Path) -> None:
    async with open_desk(database, tmp_path) as desk:
        desk.provider.made(MODEL.partition(":")[2], noted)
        names = ("Bob", "Rob", "Robert")
        for number, order in enumerate(itertools.permutations(names)):
            said = [f"Call me {name}." for name in order]
            for shape, texts in (("one", [" ".join(said)]), ("three", said)):
                part = Partition("polyvox", f"{shape}{number}")
                await tell(desk, part, "s", FRIDAY, texts)
                line = (await desk.memory.profile(ME, part)).one("name")
                assert line is not None
                assert line.text == order[-1], shape
