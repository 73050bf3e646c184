"""A real process with the whole road in it, made to be killed: `python -m tests.session.victim …`

It begins the conversations that it is told to, and prints a line for everything that a listener is
shown: {"runner"} first, then {"talk", "number", "kind", "data"}.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec

from polyvox.app import Polyvox
from polyvox.events import payload
from polyvox.settings import Settings
from polyvox.values import Scope


class Plan(msgspec.Struct):
    """What to do."""

    home: str
    base_url: str
    talks: list[list[str]]
    """For each conversation the models of its advisors."""
    messages: list[str]
    database: str = ""


def say(**data: Any) -> None:
    sys.stdout.write(msgspec.json.encode(data).decode() + "\n")
    sys.stdout.flush()


async def listen(polyvox: Polyvox, conversation: str) -> None:
    async for item in polyvox.events(conversation):
        data = msgspec.json.decode(payload(item.event))
        say(talk=conversation, number=item.number, kind=item.event.kind, data=data)


async def main(plan: Plan) -> None:
    settings = Settings.model_validate(
        {
            "home": Path(plan.home),
            "database": plan.database,
            "models": {"default": "lab:default"},
            "providers": {"lab": {"base_url": plan.base_url}},
        }
    )
    me = Scope()
    async with Polyvox(settings, env={}) as polyvox:
        say(runner=polyvox.resources.runner_id, recovered=polyvox.recovered)
        listeners = []
        for models in plan.talks:
            advisors = [
                await polyvox.advisors.create(
                    me, name=model, description="You are brief.", model=f"lab:{model}"
                )
                for model in models
            ]
            talk = await polyvox.conversations.create(me, advisors=[one.id for one in advisors])
            listeners.append(asyncio.create_task(listen(polyvox, talk.id)))
            for message in plan.messages:
                await polyvox.turns.send(me, talk.id, message)
        await asyncio.gather(*listeners)


if __name__ == "__main__":
    asyncio.run(main(msgspec.json.decode(sys.argv[1], type=Plan)))
