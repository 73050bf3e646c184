"""The rewriter by the road: a model edits the prompt, code checks what it wrote.

An attempt's text is stored under the name of the question that it answers, before it is tried: a
run that is taken up again asks the same and is not asked to pay again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from polyvox.errors import ModelError
from polyvox.evaluation.budget import Calls, ModelReply
from polyvox.evaluation.contexts import Context
from polyvox.evaluation.judge import asked_plainly
from polyvox.evaluation.optimise import rewrite as rewriting
from polyvox.evaluation.optimise.rewrite import Ask, Proposal
from polyvox.evaluation.tables import optimisations
from polyvox.evaluation.tables.optimisations import StoredAttempt
from polyvox.models.base import Request
from polyvox.resources import Resources
from polyvox.values import Scope

MAX_TOKENS = 4_096
CUT = "it ended before its end: the reply was too long."


@dataclass(frozen=True, slots=True)
class RoadRewriter:
    """Asks the optimiser model on behalf of one run."""

    resources: Resources
    scope: Scope
    run_id: str
    calls: Calls
    model: str
    said: tuple[str, ...]
    """Everything that stands in the contexts: nothing of it may be carried over."""

    async def rewrite(self, ask: Ask, number: int) -> Proposal:
        """See `Rewriter`."""
        ask = replace(ask, conversations=(*self.said, *ask.conversations))
        limit = self.resources.models.facts(self.model).max_tokens or MAX_TOKENS
        first = rewriting.request(ask, limit)
        name = rewriting.ask_hash(first)
        kept = await self.resources.database.read(
            lambda tx: optimisations.find_attempt(tx, self.run_id, number), self.scope
        )
        if kept is not None and kept.ask_hash == name:
            return Proposal(kept.text, kept.note)
        text, note = await self._written(ask, first)
        made = StoredAttempt(
            number,
            0,
            name,
            text,
            "refused" if text is None else "proposed",
            note,
            None,
            "{}",
            0,
            self.resources.clock(),
        )
        await self.resources.database.write(
            lambda tx: optimisations.put_attempt(tx, self.run_id, made), self.scope
        )
        return Proposal(text, note)

    async def _written(self, ask: Ask, request: Request) -> tuple[str | None, str]:
        """A prompt that can be taken, asked for twice at most; or why there is none."""
        reply, request = await self._reply(request)
        text, wrong = await asyncio.to_thread(self._read, reply, ask)
        if wrong:
            reply, _ = await self._reply(rewriting.again(request, reply.text, wrong))
            text, wrong = await asyncio.to_thread(self._read, reply, ask)
        return (None, rewriting.refusal(wrong)) if wrong else (text, "")

    def _read(self, reply: ModelReply, ask: Ask) -> tuple[str | None, str]:
        """The text and what is wrong with it. Long conversations take a while to look through."""
        text = rewriting.read(reply.text)
        if text is None and reply.cut:
            return None, CUT
        return text, rewriting.wrong(text, ask)

    async def _reply(self, request: Request) -> tuple[ModelReply, Request]:
        try:
            return await asked_plainly(self.calls, self.model, request)
        except ModelError as error:
            raise type(error)(
                f"The rewriter could not be asked: {error.message}", error.hint
            ) from error


def texts_of(contexts: list[Context]) -> tuple[str, ...]:
    """What was said in these contexts: the person's words, the advisors', and what was
    remembered."""
    found: dict[str, None] = {}
    for context in contexts:
        found |= dict.fromkeys(message.text for message in context.messages)
        found |= dict.fromkeys(block.text for block in context.memory)
        found[context.asked] = None
    return tuple(text for text in found if text)
