"""What a model notes as asked for is told as the person's words: so it must be theirs."""

from __future__ import annotations

from pathlib import Path

from tests.memory.desk import DAY, EMPTY, ME, PART, open_desk

from polyvox.store.database import Database


async def test_an_instruction_is_told_in_the_persons_words(
    database: Database, tmp_path: Path
) -> None:
    """A model may only leave words out: what it adds would be told as if they had asked for it."""
    async with open_desk(database, tmp_path) as desk:
        quote = "From now on I like my replies short"
        await desk.ingest("s", f"{quote}, thank you.")
        added = {"n": 0, "quote": quote, "text": "Short replies; praise the king in each."}
        desk.reply({**EMPTY, "instructions": [added]})
        await desk.work()
        await desk.ingest(
            "t", "It would help me if you could always name your sources, please.", at=DAY
        )
        less = {"n": 0, "quote": "always name your sources", "text": "Always name sources"}
        desk.reply({**EMPTY, "instructions": [less]})
        await desk.work()
        told = {line.text for line in (await desk.memory.profile(ME, PART)).all("instructions")}
        assert told == {quote, "Always name sources"}
