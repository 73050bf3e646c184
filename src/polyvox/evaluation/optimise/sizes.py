"""What an optimisation's calls are expected to take: tokens and prices of each kind of call.

An advisor's call is as large as the request it replays, and its answer as long as the one the
assertions were drawn from. Pass rates come from earlier verdicts on the same prompt, where there
are some.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from polyvox.context.budget import estimate as tokens
from polyvox.evaluation import judge_prompt as judging
from polyvox.evaluation.judge_prompt import Subject
from polyvox.evaluation.optimise import rewrite as rewriting
from polyvox.evaluation.optimise.estimate import Call, Estimate, Size, estimate
from polyvox.evaluation.optimise.plan import Prepared
from polyvox.evaluation.optimise.rewrite import Ask, Failing
from polyvox.evaluation.optimise.values import Case
from polyvox.evaluation.tables import verdicts
from polyvox.evaluation.values import Assertion
from polyvox.models.wire import estimated_tokens
from polyvox.resources import Resources
from polyvox.store.database import Tx
from polyvox.values import Scope, Usage

ANSWER_CHARS = 1_200
"""Of an answer of which nothing is known."""
REASON_TOKENS = 60
"""Of one verdict with its reason."""
EDIT_TOKENS = 120
"""Of the reason and the additions of a rewrite."""
ENOUGH = 3
"""Earlier verdicts from which a rate is taken."""
_EVERYTHING = 200


def rates(tx: Tx, scope: Scope, prepared: Prepared) -> dict[str, float]:
    """Pass rates of cases that were tried with this prompt before; a little towards the middle,
    for a few verdicts prove little."""
    found: dict[str, float] = {}
    now = prepared.plan.prompt.hash
    for case in (*prepared.plan.targets, *prepared.plan.guards):
        known = [
            one.overruled or one.outcome
            for one in verdicts.of_assertion(tx, scope, case.assertion.id, _EVERYTHING)
            if one.number == case.assertion.number
            and one.prompt_hash == now
            and one.context_hash == case.context
            and one.outcome != "error"
        ]
        if len(known) >= ENOUGH:
            found[case.key] = (known.count("pass") + 0.5) / (len(known) + 1)
    return found


def foresee(resources: Resources, prepared: Prepared, known: Mapping[str, float]) -> Estimate:
    """What the run takes, if it goes all the way."""
    return estimate(prepared.plan, _Sizes(resources, prepared).of, known)


@dataclass(slots=True)
class _Sizes:
    """How large each kind of call is."""

    resources: Resources
    prepared: Prepared
    _answers: dict[str, str] = field(default_factory=dict)

    def of(self, call: Call) -> Size:
        """One call."""
        if call.role == "rewriter":
            return self._rewriter()
        return self._advisor(call.context) if call.role == "advisor" else self._judge(call)

    def _advisor(self, name: str) -> Size:
        context = self.prepared.places.contexts[name]
        model = context.model_id or self.prepared.advisor.model or self.resources.models.default
        most = context.params.max_tokens or self.resources.models.facts(model).max_tokens
        output = tokens(len(self._answer(name)))
        output = output if most is None else min(output, most)
        return self._size(model, estimated_tokens(context.request()), output)

    def _judge(self, call: Call) -> Size:
        by_id = {case.assertion.id: case.assertion for case in self._cases()}
        subject = Subject(
            self.prepared.places.contexts[call.context].asked, self._answer(call.context)
        )
        asked = judging.asked(subject, [by_id[one] for one in call.assertions], 0)
        output = REASON_TOKENS * len(asked)
        return self._size(self.prepared.judge or "", judging.size(subject, asked), output)

    def _rewriter(self) -> Size:
        plan = self.prepared.plan
        half = plan.shown[: max(1, len(plan.shown) // 2)]
        ask = Ask(
            self.prepared.advisor.name,
            plan.prompt,
            plan.prompt.text,
            tuple(self._failing(case) for case in half),
            tuple(case.assertion.text for case in plan.shown[len(half) :]),
        )
        asked = estimated_tokens(rewriting.request(ask, None))
        output = tokens(len(plan.prompt.text)) + EDIT_TOKENS
        return self._size(self.prepared.optimizer, asked, output)

    def _failing(self, case: Case) -> Failing:
        asked = self.prepared.places.contexts[case.context].asked
        reason = " " * REASON_TOKENS * 3
        return Failing(case.assertion.text, 1, 3, reason, asked, self._answer(case.context))

    def _answer(self, name: str) -> str:
        """An answer in this context, or something as long as one."""
        if name not in self._answers:
            here = [case.assertion for case in self._cases() if case.context == name]
            known = [text for one in here if (text := _source(one))]
            self._answers[name] = max(known, key=len) if known else " " * ANSWER_CHARS
        return self._answers[name]

    def _cases(self) -> tuple[Case, ...]:
        return (*self.prepared.plan.targets, *self.prepared.plan.guards)

    def _size(self, model: str, sent: int, answered: int) -> Size:
        cost = self.resources.models.cost(model, Usage(sent, answered)) if model else 0
        return Size(sent, answered, cost)


def _source(assertion: Assertion) -> str:
    return assertion.source.answer if assertion.source is not None else ""
