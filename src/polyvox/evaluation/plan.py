"""The plan of an evaluation: its assertions, subjects and models. Decided in one commit.

The plan names ids, versions and hashes, so that a run does the same whenever it is taken up, even
if the advisor or its assertions have changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from polyvox.errors import Conflict, Invalid, NotFound
from polyvox.evaluation.assertion import context_of
from polyvox.evaluation.judge import TOO_SMALL, judge_model, own_model_warning
from polyvox.evaluation.judge_prompt import judge_hash
from polyvox.evaluation.replay import Places, places
from polyvox.evaluation.suite import Unit
from polyvox.evaluation.tables import assertions as assertion_rows
from polyvox.evaluation.tables import evaluations
from polyvox.evaluation.tables.assertions import Assertion, AssertionFilter
from polyvox.evaluation.tables.evaluations import Evaluation, Mode, Origin
from polyvox.ids import new_id
from polyvox.resources import Resources
from polyvox.store import turns
from polyvox.store.database import Tx
from polyvox.values import ENDED, REDACTED, Answer

MOST_REPEATS = 50
NO_ANSWER = "It was made by hand: there is no stored answer to judge. Replay it instead."
NO_CONTEXT = (
    "There is no stored context to replay. Give the assertion a question of its own, or make one"
    " from an answer of this advisor."
)
NO_ADVISOR = "Its advisor is gone, and it has no stored context."
FORGOTTEN = "The answer it was drawn from was forgotten."


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """A request to evaluate assertions."""

    advisor: str | None = None
    """Id or slug; None: of all advisors."""
    assertion_ids: tuple[str, ...] | None = None
    """Only these; None: every active one."""
    answer_id: str | None = None
    """Judge this stored answer."""
    mode: Mode | None = None
    """None: `judge` for a stored answer, else `replay`."""
    repeats: int = 1
    confirm: bool | None = None
    early: bool = True
    failing: bool = False
    """Only what failed in the last run."""
    coded: bool = False
    """Only checks in code."""
    model: str = ""
    origin: Origin = "person"


def plan(tx: Tx, resources: Resources, wish: EvaluationRequest) -> Evaluation:
    """The run that is wished for, ready to be stored. `Invalid` where there is nothing to do."""
    mode: Mode = wish.mode or ("judge" if wish.answer_id else "replay")
    if wish.answer_id and mode == "replay":
        raise Invalid(
            "A stored answer is judged, not replayed.",
            "Leave answer_id out to have its assertions replayed.",
            param="mode",
        )
    if wish.model:
        resources.models.check_name(wish.model)
    answer = None if wish.answer_id is None else _answer(tx, wish.answer_id)
    advisor_id = answer.advisor_id if answer else None
    if wish.advisor is not None:
        advisor_id, _ = assertion_rows.owner(tx, wish.advisor)
    chosen = _chosen(tx, wish, advisor_id, mode)
    elsewhere: tuple[str, ...] = ()
    if answer is not None and wish.assertion_ids is None:
        chosen, elsewhere = _of_its_phase(tx, resources, answer, chosen)
    if answer is not None:
        units, asked = [Unit(_pairs(chosen), answer=answer.id)], [answer.model]
    elif mode == "judge":
        units = _grouped((_stored(assertion), assertion) for assertion in chosen)
        sources = {unit.answer for unit in units if unit.answer}
        asked = [stored.model for source in sources if (stored := _find(tx, source)) is not None]
    else:
        where = places(tx, resources, chosen)
        units = _grouped(_replayed(chosen, where))
        asked = [wish.model or context.model_id for context in where.contexts.values()]
    judge = judge_model(resources)
    confirm = resources.settings.evaluation.confirm if wish.confirm is None else wish.confirm
    return Evaluation(
        id=new_id(),
        advisor_id=advisor_id,
        mode=mode,
        origin=wish.origin,
        answer_id=wish.answer_id,
        model=wish.model,
        repeats=wish.repeats,
        confirm=confirm,
        early=wish.early,
        judge=judge or "",
        judge_hash=judge_hash(),
        plan=tuple(units),
        warnings=_warnings(chosen, judge, asked) + elsewhere,
        total=sum(len(u.assertions) * (1 if u.nowhere else wish.repeats) for u in units),
        created_at=resources.clock(),
    )


def _answer(tx: Tx, answer_id: str) -> Answer:
    answer = turns.get_answer(tx, answer_id)
    if answer.state not in ENDED:
        raise Conflict("This answer is still being written.", "Wait for its end.")
    if not answer.text.strip():
        raise Invalid("This answer has no text to judge.", "Retry it first.", param="answer_id")
    return answer


def _find(tx: Tx, answer_id: str) -> Answer | None:
    try:
        return turns.get_answer(tx, answer_id)
    except NotFound:
        return None


def _chosen(tx: Tx, wish: EvaluationRequest, advisor_id: str | None, mode: Mode) -> list[Assertion]:
    if wish.assertion_ids is not None:
        chosen = assertion_rows.get_many(tx, list(dict.fromkeys(wish.assertion_ids)))
        if advisor_id is not None:
            strange = [assertion for assertion in chosen if assertion.advisor_id != advisor_id]
            if strange:
                raise Invalid(
                    f"The assertion {strange[0].id} is another advisor's.", param="assertion_ids"
                )
    else:
        chosen = assertion_rows.list_all(tx, AssertionFilter(advisor_id=advisor_id, active=True))
    if wish.coded:
        chosen = [assertion for assertion in chosen if assertion.kind != "judge"]
    if not chosen:
        raise Invalid(
            "There are no active assertions to evaluate.",
            "Add one with POST /api/assertions or `polyvox assertions add`.",
        )
    if not wish.failing:
        return chosen
    last = evaluations.latest(tx, advisor_id, mode=mode)
    results = last.results if last is not None else None
    failed = (
        {row.assertion_id for row in results.assertions if row.outcome == "fail"} if results else ()
    )
    chosen = [assertion for assertion in chosen if assertion.id in failed]
    if not chosen:
        why = "Nothing failed in the last run." if results else "There is no earlier run."
        raise Invalid(why, "Run all of them, without --failing.", param="failing")
    return chosen


def _of_its_phase(
    tx: Tx, resources: Resources, answer: Answer, chosen: Sequence[Assertion]
) -> tuple[list[Assertion], tuple[str, ...]]:
    """The assertions that are meant for the phase of a stored answer, and a word about others."""
    context = context_of(tx, resources.settings, answer)
    own = context.phase if context is not None else ""
    fitting = [row for row in chosen if not own or row.phase in (None, own)]
    if len(fitting) == len(chosen):
        return fitting, ()
    others = len(chosen) - len(fitting)
    number = f"{others} assertions are" if others > 1 else "1 assertion is"
    word = f"{number} not judged here: meant for another phase than {own!r}."
    if not fitting:
        raise Invalid(word, "Choose them by name to judge them all the same.")
    return fitting, (word,)


def _pairs(chosen: Sequence[Assertion]) -> tuple[tuple[str, int], ...]:
    return tuple((assertion.id, assertion.number) for assertion in chosen)


def _grouped(tried: Iterable[tuple[Unit, Assertion]]) -> list[Unit]:
    """Subjects with all of their assertions; first those that are nowhere, then own questions."""
    groups: dict[Unit, list[Assertion]] = {}
    for subject, assertion in tried:
        groups.setdefault(subject, []).append(assertion)
    units = [replace(subject, assertions=_pairs(some)) for subject, some in groups.items()]
    return sorted(units, key=lambda unit: (not unit.nowhere, not unit.asked))


def _stored(assertion: Assertion) -> Unit:
    """The answer that an assertion was drawn from."""
    if assertion.source is None or not assertion.source.answer.strip():
        return Unit(nowhere=NO_ANSWER)
    if assertion.source.answer == REDACTED:
        return Unit(nowhere=FORGOTTEN)
    return Unit(answer=assertion.source.answer_id)


def _replayed(chosen: Sequence[Assertion], where: Places) -> Iterator[tuple[Unit, Assertion]]:
    """Each assertion in its contexts."""
    questions: dict[tuple[str, str, str | None], str] = {}
    for assertion in chosen:
        advisor = where.advisors.get(assertion.advisor_id)
        names = where.of[assertion.id]
        if not names:
            yield Unit(nowhere=NO_CONTEXT if advisor else NO_ADVISOR), assertion
        elif assertion.source is None and assertion.user_input is not None:
            key = (assertion.advisor_id, assertion.user_input, assertion.phase)
            asked = questions.setdefault(key, assertion.id)
            yield Unit(asked=asked, prompt=advisor.version_id if advisor else ""), assertion
        else:
            for name in names:
                then = where.advisors.get(where.contexts[name].advisor_id)
                yield Unit(context=name, prompt=then.version_id if then else ""), assertion


def _warnings(
    chosen: Sequence[Assertion], judge: str | None, asked: Sequence[str]
) -> tuple[str, ...]:
    if all(assertion.kind != "judge" for assertion in chosen):
        return ()
    if judge is None:
        return (TOO_SMALL,)
    own = own_model_warning(judge, asked)
    return () if own is None else (own,)
