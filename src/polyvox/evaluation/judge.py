"""The judge: one question per answer with all its assertions, and what is unclear asked again.

A reply that cannot be used is asked for once more; what is still missing, one by one. A judge that
is away, refuses or stays unreadable gives `error` for the assertions it was asked about, each with
the reason; only a cap on spending is raised, for then nobody is asked any more.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from polyvox.errors import ModelError, Refused
from polyvox.evaluation import judge_prompt
from polyvox.evaluation.budget import Calls, ModelReply, together
from polyvox.evaluation.judge_prompt import JudgeReading, KeyedAssertion, Subject
from polyvox.evaluation.tables.assertions import Assertion
from polyvox.evaluation.tables.verdicts import Judged
from polyvox.models.base import Request
from polyvox.models.providers import EMBEDDED
from polyvox.resources import Resources
from polyvox.values import Scope

log = logging.getLogger("polyvox.evaluation")

GEMINI = "gemini:gemini-2.5-flash-lite"
TOO_SMALL = (
    "There is no judge: the embedded model is far too small to be one. Set models.judge, or a key"
    " for a provider; checks in code work without."
)
MAX_TOKENS = 4_096
AGAIN = 1_000
"""Repeats from here on are a fail's confirmation."""


def judge_model(resources: Resources) -> str | None:
    """The judge: the model that is set, a small cloud model with a key for it, the default one;
    None where there is only the embedded one."""
    models = resources.models
    named = resources.settings.models.judge
    if not named:
        named = GEMINI if models.has_key("gemini") else models.default
    return None if named == EMBEDDED else named


def own_model_warning(judge: str | None, asked: Sequence[str]) -> str | None:
    """Warn of a model that judges its own answers."""
    if judge is None or judge not in asked:
        return None
    return (
        f"The judge, {judge}, is the advisor's own model: it tends to be lenient with itself."
        " Name another one as models.judge."
    )


async def ask_judge(
    resources: Resources, scope: Scope, request: Request, model: str | None = None
) -> ModelReply | None:
    """Ask the judge's model (or a named one) one question outside of any run; None where there is
    none. Raises `CapReached`, and `ModelError` where no reply comes."""
    name = model or judge_model(resources)
    if name is None or name == EMBEDDED:
        return None
    reply, _ = await asked_plainly(Calls(resources, scope), name, request)
    return reply


async def asked_plainly(calls: Calls, model: str, request: Request) -> tuple[ModelReply, Request]:
    """Ask with the request's schema; where that is refused, once more without."""
    try:
        return await calls.ask(model, request), request
    except Refused:
        if request.schema is None:
            raise
        plain = replace(request, schema=None)  # perhaps that is what this server does not take
        return await calls.ask(model, plain), plain


@dataclass(frozen=True, slots=True)
class Judge:
    """Asks one judge on behalf of one run."""

    calls: Calls
    model: str | None
    confirm: bool = False
    """True: a fail counts only once it was asked about again."""

    async def judge(
        self, subject: Subject, assertions: Sequence[Assertion], repeat: int = 0
    ) -> list[Judged]:
        """One judgement for each assertion, in their order."""
        if self.model is None:
            return [unjudged(assertion, TOO_SMALL) for assertion in assertions]
        if not subject.answer.strip():
            return [unjudged(assertion, "There is no answer to judge.") for assertion in assertions]
        verdicts = await self._round(self.model, subject, assertions, repeat)
        if not self.confirm:
            return list(verdicts.values())
        failed = [row for row in assertions if verdicts[row.id].outcome == "fail"]
        confirm = partial(self._confirmed, self.model, subject, repeat)
        passed = [voice for voice in await together(confirm, failed) if voice is not None]
        return list((verdicts | {voice.assertion_id: voice for voice in passed}).values())

    async def _round(
        self, model: str, subject: Subject, assertions: Sequence[Assertion], repeat: int
    ) -> dict[str, Judged]:
        """A judgement by assertion, in their order."""
        facts = self.calls.resources.models.facts(model)
        limit = facts.max_tokens or MAX_TOKENS
        ordered = judge_prompt.asked(subject, assertions, repeat)
        parts, too_long = judge_prompt.batches(subject, ordered, facts.window, limit)
        unfit = f"The answer does not fit the window of {model}, and is not cut for it."
        verdicts = [unjudged(keyed.assertion, unfit) for keyed in too_long]
        for judged in await together(partial(self._batch, model, subject, limit), parts):
            verdicts += judged
        by_id = {verdict.assertion_id: verdict for verdict in verdicts}
        return {assertion.id: by_id[assertion.id] for assertion in assertions}

    async def _batch(
        self, model: str, subject: Subject, limit: int, batch: Sequence[KeyedAssertion]
    ) -> list[Judged]:
        """Every verdict of one question; what stays open is asked for one by one."""
        request = judge_prompt.request(subject, batch, limit)
        try:
            reading = await self._read(model, request, batch)
        except ModelError as error:
            away = f"The judge could not be asked: {error.message} {error.hint}".strip()
            return [unjudged(keyed.assertion, away) for keyed in batch]
        verdicts = [
            Judged(keyed.assertion.id, keyed.assertion.number, *reading.verdicts[keyed.key])
            for keyed in batch
            if keyed.key in reading.verdicts
        ]
        left = [keyed for keyed in batch if keyed.key in reading.wrong]
        if len(batch) == 1:
            wrong = "The judge's reply cannot be used: {}."
            errors = [unjudged(row.assertion, wrong.format(reading.wrong[row.key])) for row in left]
            return verdicts + errors
        alone = partial(self._batch, model, subject, limit)
        for judged in await together(alone, [[keyed] for keyed in left]):
            verdicts += judged
        return verdicts

    async def _read(
        self, model: str, request: Request, batch: Sequence[KeyedAssertion]
    ) -> JudgeReading:
        """The reading of a reply; where nothing of it can be used, of the one after it."""
        reply, request = await asked_plainly(self.calls, model, request)
        reading = await self._supported(model, reply, batch)
        if not reading.wrong or reading.verdicts:
            return reading
        log.debug("the judge's reply cannot be used: %s", "; ".join(set(reading.wrong.values())))
        again = judge_prompt.repair(request, reply.text, reading)
        reply, _ = await asked_plainly(self.calls, model, again)
        return await self._supported(model, reply, batch)

    async def _supported(
        self, model: str, reply: ModelReply, batch: Sequence[KeyedAssertion]
    ) -> JudgeReading:
        """The reading of a reply without verdicts that their reasons contradict. Where every reason
        ends as it was asked to, that costs nothing."""
        reading = judge_prompt.read(reply.text, batch, cut=reply.cut)
        if not reading.open_ended:
            return reading
        request = judge_prompt.support_request(reading, batch, MAX_TOKENS)
        meanings, _ = await asked_plainly(self.calls, model, request)
        return judge_prompt.supported(reading, meanings.text)

    async def _confirmed(
        self, model: str, subject: Subject, repeat: int, assertion: Assertion
    ) -> Judged | None:
        """Ask about a fail again. Answers None, unless two further voices agree that it passes."""
        voice = None
        for number in (1, 2):
            again = await self._round(model, subject, [assertion], number * AGAIN + repeat)
            voice = again[assertion.id]
            if voice.outcome != "pass":
                return None
        return voice


def unjudged(assertion: Assertion, reason: str) -> Judged:
    """Nothing was found out about an assertion, for this reason."""
    return Judged(assertion.id, assertion.number, reason, "error")
