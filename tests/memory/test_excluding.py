"""What is excluded is told by nothing, and comes back whole when it is taken back."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from tests.memory.canary import SAYS, WORD, open_nest
from tests.memory.desk import DAY, EMPTY, FRIDAY, ME, PART, open_desk

from polyvox.memory.tables import derived
from polyvox.store.database import Database, Tx

SECRET = "zanzibarx"
"""A word that stems to itself, as the index keeps it."""
TOLD = f"I need to call {SECRET} about the loan."
NOTES: dict[str, Any] = {
    "facts": [
        {
            "n": 0, "quote": f"call {SECRET} about the loan", "subject": SECRET,
            "attribute": "role", "text": f"{SECRET} handles the loan.",
        }
    ],
    "loops": [
        {"n": 0, "quote": f"I need to call {SECRET}", "type": "commitment",
         "text": f"Call {SECRET} about the loan"}
    ],
    "profile": [
        {"n": 0, "quote": f"call {SECRET} about", "field": "key_relationships",
         "item": SECRET, "text": f"{SECRET}, the banker"}
    ],
    "instructions": [],
}  # fmt: skip
DAILY = {
    "themes": [SECRET], "scores": {"mood": 4}, "confidence": 0.9,
    "steering_note": f"Be mindful of {SECRET}.",
}  # fmt: skip
FILLER = "Tea is what I drink all day long, green tea with a little honey, before and after work."


async def told(desk: Any) -> dict[str, bool]:
    """By what the secret is told."""
    facts = await desk.memory.facts(ME, PART)
    profile = await desk.memory.profile(ME, PART)
    _, day = await desk.memory.daily(ME, PART, date(2024, 5, 10))
    found = {
        "recall": await desk.ask(SECRET),
        "facts": [one for one in facts if not one.statement.excluded],
        "loops": await desk.memory.loops(ME, PART),
        "profile": profile.lines,
        "summary": await desk.memory.summaries(ME, PART),
        "day": day,
    }
    return {name: SECRET in repr(value) for name, value in found.items()}


async def test_everything_that_tells_of_it_is_silent_until_it_is_taken_back(
    database: Database, tmp_path: Path
) -> None:
    async with open_desk(database, tmp_path) as desk:
        desk.reply(NOTES, {"summary": f"They spoke of {SECRET}."})
        await desk.ingest("s", TOLD, FILLER, FILLER + " Really.")
        await desk.work()
        desk.reply(DAILY)
        desk.clock.now = FRIDAY + DAY + DAY // 2
        await desk.work()
        assert all((await told(desk)).values()), "or this would test nothing"
        desk.always({"summary": "They spoke of tea.", "themes": ["tea"], "scores": {}})

        await desk.memory.mark_message(ME, PART, "s", 0, excluded=True)
        assert not any((await told(desk)).values())
        await desk.work()
        assert not any((await told(desk)).values()), "nor does what is made anew tell of it"
        assert [one.text for one in await desk.memory.summaries(ME, PART)] == ["They spoke of tea."]
        shown = desk.provider.requests("notes")[-1].body.decode()
        assert SECRET not in shown

        desk.always({**DAILY, "summary": f"They spoke of {SECRET} again."})
        await desk.memory.mark_message(ME, PART, "s", 0, excluded=False)
        await desk.work()
        assert all((await told(desk)).values())


async def test_a_message_left_out_of_a_conversation_is_left_out_of_memory(
    database_url: str, tmp_path: Path
) -> None:
    url = "" if database_url.startswith("sqlite") else database_url
    async with open_nest(url, tmp_path / "home") as nest:
        await nest.everywhere()
        view = (await nest.house.get(f"/api/conversations/{nest.ids['conversation']}")).json()
        message = view["messages"][0]
        assert message["content"] == SAYS

        async def recalled() -> list[Any]:
            reply = await nest.house.get(f"/api/memory/search?q={WORD}&limit=20")
            items: list[Any] = reply.json()["factItems"]
            return items

        assert SAYS in [one["text"] for one in await recalled()]
        path = f"/api/messages/{message['id']}"
        assert (await nest.house.patch(path, {"excluded": True})).status == 200
        await nest.work()
        found = await recalled()
        theirs = [
            one for one in found if one["evidence"][0]["role"] == "user"
        ]  # an answer to another message may say it again
        assert not any(WORD in one["text"].lower() for one in theirs)
        assert (await nest.house.patch(path, {"excluded": False})).status == 200
        await nest.work()
        assert SAYS in [one["text"] for one in await recalled()]


async def test_what_was_out_when_its_session_was_worked_through_is_when_it_is_let_in(
    database: Database, tmp_path: Path
) -> None:
    async with open_desk(database, tmp_path) as desk:
        desk.always({**EMPTY, "summary": "They spoke of tea."})
        await desk.ingest("s", TOLD, FILLER)
        await desk.memory.mark_message(ME, PART, "s", 0, excluded=True)
        await desk.work()
        assert all(SECRET not in one.body.decode() for one in desk.provider.requests("notes"))
        assert await desk.memory.facts(ME, PART) == []

        desk.reply(NOTES)
        await desk.memory.mark_message(ME, PART, "s", 0, excluded=False)
        await desk.work()
        found = await told(desk)
        assert all(found[name] for name in ("recall", "facts", "loops", "profile")), found

        for index, out in ((2, False), (0, True), (0, False)):
            await desk.memory.mark_message(ME, PART, "s", index, excluded=out)
        waiting = {one.kind for one in await desk.jobs("pending")}
        assert "summarise" in waiting, "or this would test nothing"
        assert "extract" not in waiting, "one was never out, the other is known"


async def test_only_the_batch_that_is_taken_back_is_worked_through_again(
    database: Database,
) -> None:
    def work(tx: Tx) -> list[int]:
        found = []
        for first in (0, 10, 20):
            assert derived.keep_extraction(tx, PART, "s", first, first + 9, "", 1)
        found.append(derived.extracted(tx, PART, "s"))
        assert derived.take_back_extraction(tx, PART, "s", 12)
        found.append(derived.extracted(tx, PART, "s"))
        assert not derived.take_back_extraction(tx, PART, "s", 12), "it is already"
        assert derived.keep_extraction(tx, PART, "s", 10, 22, "", 2), "it may take in more"
        assert not derived.keep_extraction(tx, PART, "s", 10, 22, "", 2)
        found.append(derived.extracted(tx, PART, "s"))
        return found

    assert await database.write(work, ME) == [30, 10, 30]
