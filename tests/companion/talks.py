"""Conversations with one persona, for tests of sessions that follow each other."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tests.companion.lounge import Heard, Lounge, reading_text
from tests.provider import Script

ROOF = "The roof above the stove leaks and the plumber only comes on Thursday."
BREAD = "My sister wants to open a bakery with me in Ghent."
POT = "A pot below the leak helps for one night. Who else could look at the roof?"
LOAF = "A bakery means rising at night. Would you want that life?"


class Talk:
    """A conversation with the persona."""

    def __init__(self, lounge: Lounge, wren: Any, ident: str) -> None:
        self.lounge, self.wren, self.id = lounge, wren, ident

    async def say(self, text: str, at: datetime, reply: str = "I see.") -> Heard:
        house, provider = self.lounge.house, self.lounge.house.provider
        self.lounge.set(at)
        provider.script("gate", Script(text=reading_text({})))
        provider.script("talker", Script(text=reply))
        body = {"personaId": self.wren["id"], "text": text, "conversationId": self.id}
        answered = await house.post("/api/chat", body)
        assert answered.status == 200, answered.text
        data = answered.json()
        trace = (await house.get(f"/api/turns/{data['requestId']}/trace")).json()
        messages = provider.requests("talker")[-1].json()["messages"]
        system = [one["content"] for one in messages if one["role"] == "system"]
        sent = [one["content"] for one in messages if one["role"] != "system"]
        return Heard(200, data, trace, system, sent)


async def talks(lounge: Lounge, wren: Any, count: int) -> list[Talk]:
    ids = [await lounge.house.conversation(wren, recipe="companion") for _ in range(count)]
    return [Talk(lounge, wren, ident) for ident in ids]
