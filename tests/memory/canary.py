"""A secret that has been everywhere: said, answered, noted, recalled, told to a companion.

async with open_nest(database_url, home) as nest:
    await nest.everywhere()
    assert await nest.traces()
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.app import App as House
from tests.app import serve, settings_for
from tests.companion.lounge import reading_text
from tests.provider import ProviderServer, Script

from polyvox.app import Polyvox
from polyvox.store.database import Tx
from polyvox.values import Scope

ME = Scope()
OWN = {"tenantId": "polyvox", "userId": "local"}
MINUTE = 60_000_000
DAY = 24 * 60 * MINUTE
FRIDAY = 1_715_299_200_000_000  # 10 May 2024, midnight UTC
WORD = "quillabamba"
SAYS = "I need to paint the boathouse of Quillabamba by the seven herons."
ECHO = "So the boathouse of Quillabamba, by the seven herons, is what you paint. A fine plan."
KEPT = "A fine plan."
FILLER = "Tea is what I drink all day long, green tea with a little honey, before and after work."
NOTES: dict[str, Any] = {
    "facts": [
        {"n": 0, "quote": "the boathouse of Quillabamba", "subject": "Quillabamba",
         "attribute": "has", "text": "Quillabamba has a boathouse."}
    ],
    "loops": [
        {"n": 0, "quote": "I need to paint the boathouse", "type": "commitment",
         "text": "Paint the boathouse of Quillabamba"}
    ],
    "profile": [
        {"n": 0, "quote": "Quillabamba by the seven herons", "field": "key_relationships",
         "item": "Quillabamba", "text": "Quillabamba, who keeps herons"}
    ],
    "instructions": [],
}  # fmt: skip
EMPTY: dict[str, Any] = {"facts": [], "loops": [], "profile": [], "instructions": []}


@dataclass
class Nest:
    """A server with its provider, a clock that tests set, and a home whose files are looked at."""

    house: House
    home: Path
    clock: list[int]
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def polyvox(self) -> Polyvox:
        return self.house.polyvox

    def note(self, *replies: dict[str, Any] | Script) -> None:
        """What the model that memory works with replies next."""
        scripts = [
            one if isinstance(one, Script) else Script(pieces=(json.dumps(one),)) for one in replies
        ]
        self.house.provider.queue("notes", *scripts)

    async def work(self) -> None:
        """Everything that is due."""
        await self.polyvox.worker.run_due()

    async def close_session(self, conversation: str) -> str:
        """End the session that goes on in a conversation, and have it remembered."""
        listed = (await self.house.get(f"/api/sessions?conversation={conversation}")).json()
        (open_one,) = [one for one in items_of(listed) if one["ended_at"] is None]
        await self.house.post(f"/api/sessions/{open_one['id']}/end")
        await self.work()
        return str(open_one["id"])

    async def everywhere(self) -> None:
        """Let the secret go wherever words can go."""
        house, provider = self.house, self.house.provider
        provider.script("echo", Script(text=ECHO, thinking=f"Hm, {WORD}."))
        provider.script("talker", Script(text=ECHO))
        provider.script("gate", Script(text=reading_text(ASKING)))
        advisor = await house.advisor("lab:echo")
        spoken = await house.conversation(advisor)
        self.ids |= {"advisor": advisor["id"], "conversation": spoken}
        self.clock[0] = FRIDAY + 10 * 60 * MINUTE
        turn = await house.say(spoken, SAYS)
        self.ids |= {"turn": turn["turn_id"], "answer": turn["answers"][0]["answer_id"]}
        provider.queue("echo", Script(status=400, body=json.dumps(
            {"error": {"message": f"no such thing as {WORD} is allowed here"}})))  # fmt: skip
        self.clock[0] += MINUTE
        await house.say(spoken, "And then what?")
        self.clock[0] += MINUTE
        await house.say(spoken, FILLER)
        self.clock[0] += MINUTE
        await house.say(spoken, f"{FILLER} Really.")
        self.note(NOTES, {"summary": "They spoke of the boathouse of Quillabamba."})
        self.ids["session"] = await self.close_session(spoken)
        self.clock[0] = FRIDAY + DAY + 60 * MINUTE
        self.note({
            "themes": ["Quillabamba"], "scores": {"mood": 4}, "confidence": 0.9,
            "steering_note": "Be mindful of Quillabamba.",
        })  # fmt: skip
        await self.work()
        self.clock[0] = FRIDAY + DAY + 9 * 60 * MINUTE
        said = await house.post(
            "/api/chat", {"personaId": "harbor", "text": "Which boathouse was it, by the herons?"}
        )
        assert said.status == 200, said.text
        self.ids["told"] = said.json()["requestId"]
        told = (await house.get(f"/api/turns/{self.ids['told']}/trace")).json()
        wanted = {"handover", "daily_steering", "supplemental_context"}
        assert wanted <= set(told["system_blocks"]), told
        assert told["recall"]["found"] > 0
        self.ids |= {"companion": told["conversation_id"], "echo": told["answer_id"]}

    async def traces(self) -> dict[str, int]:
        """Count the word in every row of every table and every file of the home but backups."""
        # A number that stands inside an id, a hash or a decimal is not the secret.
        edges = (r"(?<![0-9a-f.-])", r"(?![0-9a-f-])") if WORD.isdigit() else ("", "")
        pattern = re.compile(re.escape(WORD).join(edges))

        def read(tx: Tx) -> dict[str, int]:
            if tx.dialect == "sqlite":
                # This one cannot be read; its words are in the tables that it keeps for itself.
                names = tx.all(
                    "SELECT name FROM sqlite_master"
                    " WHERE type = 'table' AND name <> 'episode_words'"
                )
            else:
                names = tx.all(
                    "SELECT table_name FROM information_schema.tables"
                    " WHERE table_schema = current_schema()"
                )
            found = {}
            for (name,) in names:
                rows = tx.all(f'SELECT * FROM "{name}"')
                if count := sum(bool(pattern.search(repr(row).lower())) for row in rows):
                    found[name] = count
            return found

        found = await self.polyvox.database.read(read, ME)
        for path in sorted(self.home.rglob("*")):
            if path.is_file() and path.suffix != ".bak":
                text = path.read_bytes().lower().decode("utf-8", "replace")
                if count := len(pattern.findall(text)):
                    found[path.name] = count
        return found


async def talk(nest: Nest, *turns: tuple[str, str]) -> tuple[str, str]:
    """A conversation in which this is said and answered: its id and its session's."""
    house = nest.house
    model = house.model(Script(text="I see."))
    house.provider.queue(model.partition(":")[2], *(Script(text=answer) for _, answer in turns))
    conversation = await house.conversation(await house.advisor(model))
    for says, _ in turns:
        await house.say(conversation, says)
        nest.clock[0] += MINUTE
    return conversation, await nest.close_session(conversation)


async def forget(nest: Nest, kind: str, name: str, where: dict[str, str] = OWN) -> Any:
    """Forget it: what was shown before goes, no more and no less."""
    part = "&".join(f"{key}={value}" for key, value in where.items())
    query = f"{part}&kind={kind}&id={quote(name)}"
    shown = (await nest.house.get(f"/api/memory/forget?{query}")).json()
    went = await nest.house.post(f"/api/memory/forget?{part}", {"kind": kind, "id": name})
    assert went.status == 200, went.text
    changed = {key: value for key, value in went.json().items() if value != shown[key]}
    assert changed == {"scrubbed": True}, {key: shown[key] for key in changed}
    await nest.work()
    return shown


def items_of(listed: Any) -> list[Any]:
    """A list, or the items of a page of one."""
    return list(listed["items"] if isinstance(listed, dict) else listed)


ASKING = {
    "action": "memory_query", "confidence": 0.95, "explicit": True, "direct_request": True,
    "entities": ["boathouse"], "topics": ["paint"],
}  # fmt: skip


@asynccontextmanager
async def open_nest(database_url: str, home: Path, **more: Any) -> AsyncIterator[Nest]:
    """A nest of one's own."""
    clock = [FRIDAY]
    models = {
        "default": "lab:talker", "gate": "lab:gate", "memory": "lab:notes",
        **more.pop("models", {}),
    }  # fmt: skip
    home.mkdir(exist_ok=True)
    async with ProviderServer() as provider:
        provider.script(
            "notes",
            Script(pieces=(json.dumps({**EMPTY, "summary": "They spoke of tea.", "themes": []}),)),
        )
        settings = settings_for(
            home, provider, models=models, timezone="UTC", database=database_url, **more
        )
        async with serve(settings, provider, clock=lambda: clock[0]) as app:
            yield Nest(app, home, clock)
