"""A room in which a prompt can be improved: an advisor that does what its prompt says, a judge that
looks for a word, and a rewriter that adds a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from tests.evaluation.suites import assert_of
from tests.provider import Script
from tests.session.room import ME, Room

from polyvox.evaluation.optimise.plan import OptimisationRequest
from polyvox.evaluation.optimise.run import KIND
from polyvox.evaluation.tables import optimisations
from polyvox.evaluation.tables.assertions import Assertion
from polyvox.evaluation.tables.optimisations import (
    Optimisation,
    OptimisationSummary,
    StoredAttempt,
)
from polyvox.values import Advisor

WORKED: dict[str, Any] = {"models": {"judge": "lab:judge", "optimizer": "lab:writer"}}
"""Settings of a workshop: models whose price nobody knows."""
PRICED: dict[str, Any] = {
    "models": {"judge": "openai:gpt-4o-mini", "optimizer": "openai:gpt-4o"},
    "limits": {"max_tokens": 60},
}
"""The same with prices; the advisor's is openai:gpt-4.1-mini. No answer may be long."""
PROMPT = "You are a calm advisor who answers in one sentence."


def system_of(body: Any) -> str:
    """The system text of a request."""
    return "\n".join(one["content"] for one in body["messages"] if one["role"] == "system")


def last_of(body: Any) -> Any:
    """The last message of a request, as data."""
    return msgspec.json.decode(body["messages"][-1]["content"])


@dataclass(frozen=True)
class Found:
    """A run as it is stored."""

    optimisation: Optimisation
    attempts: list[StoredAttempt]

    @property
    def summary(self) -> OptimisationSummary | None:
        """Its results."""
        return self.optimisation.results


async def found_in(room: Room, run_id: str) -> Found:
    """A run as it is now."""
    return await room.polyvox.database.read(
        lambda tx: Found(optimisations.get(tx, run_id), optimisations.attempts(tx, run_id)), ME
    )


@dataclass
class Workshop:
    """The room and who works in it."""

    room: Room
    advisor: Advisor
    assertions: list[Assertion] = field(default_factory=list)
    additions: Sequence[str] = ("Speak of the moon.",)
    """What the rewriter adds, one after another, the last one again and again."""
    told: list[Any] = field(default_factory=list)
    """What the rewriter was asked."""

    def writes(self, body: Any) -> Script:
        """The rewriter: the instructions it was given, and one more sentence."""
        asked = next(
            one["content"] for one in body["messages"] if one["content"].startswith('{"advisor"')
        )
        data = msgspec.json.decode(asked)
        self.told.append(data)
        more = self.additions[min(len(self.told), len(self.additions)) - 1]
        made = {"reason": "It says too little.", "instructions": f"{data['instructions']} {more}"}
        return Script(pieces=(msgspec.json.encode(made).decode(),))

    def begun(self, **wish: Any) -> Any:
        """A run that is wanted."""
        return self.room.polyvox.optimisations.begin(
            ME, OptimisationRequest(self.advisor.slug, **wish)
        )

    async def run(self, **wish: Any) -> Found:
        """A whole run."""
        return await self.finish((await self.begun(**wish)).id)

    async def finish(self, run_id: str) -> Found:
        """Work on a run until it has ended."""
        assert await self.room.polyvox.worker.run_one(ME, KIND, run_id)
        return await self.found(run_id)

    async def found(self, run_id: str) -> Found:
        """A run as it is now."""
        return await found_in(self.room, run_id)

    async def state(self, run_id: str) -> Optimisation:
        """The same in short."""
        return (await self.found(run_id)).optimisation

    async def prompt(self) -> str:
        """The advisor's prompt as it is now."""
        return (await self.room.polyvox.advisors.get(ME, self.advisor.id)).identity

    def calls(self, *models: str) -> int:
        """How many requests these models (all of the workshop) have got."""
        wanted = models or ("ann", "judge", "writer", "gpt-4.1-mini", "gpt-4o-mini", "gpt-4o")
        return sum(one.model in wanted for one in self.room.provider.log)


def answers(body: Any) -> Script:
    """The advisor: it says what it is told to speak of."""
    said = system_of(body)
    words = [word for word in ("moon", "sea", "fire") if f"Speak of the {word}" in said]
    return Script(text=f"There is {' and '.join(words) or 'nothing'} to be said.")


def judges(body: Any) -> Script:
    """The judge: an assertion holds if its last word stands in the answer."""
    asked = last_of(body)
    rows = []
    for one in asked["assertions"]:
        holds = one["text"].rstrip(".").split()[-1] in asked["answer"]
        reason = f"So it reads; so the assertion {'holds' if holds else 'does not hold'}."
        verdict = "pass" if holds else "fail"
        rows.append({"id": one["id"], "reason": reason, "verdict": verdict})
    return Script(text=msgspec.json.encode({"verdicts": rows}).decode())


async def open_workshop(
    room: Room,
    *texts: str,
    model: str = "lab:ann",
    judge: str = "judge",
    writer: str = "writer",
    prompt: str | None = PROMPT,
    advising: Callable[[Any], Script] = answers,
    **more: Any,
) -> Workshop:
    """An advisor with one conversation and assertions from it, each in a context of its own."""
    room.provider.made(model.partition(":")[2], advising)
    room.provider.made(judge, judges)
    ann = await room.advisor("Ann", model=model, prompt=prompt, description="Ann.")
    shop = Workshop(room, ann, **more)
    room.provider.made(writer, shop.writes)
    for number, text in enumerate(texts or ("It speaks of the moon.",)):
        talk = await room.conversation(ann)
        _, (answer,) = await room.say(talk, f"What about question {'abcdefgh'[number]}?")
        shop.assertions += await assert_of(room, answer.id, text)
    room.provider.log.clear()
    return shop
