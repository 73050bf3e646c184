"""Replay: a stored context with a prompt put in, asked again by the road itself.

What an advisor was sent for an answer is sent again, to the same model with the same parameters;
only the prompt differs, and where it does not, the request is the same to the byte. Where there is
nothing stored, for an assertion made by hand, the road compiles what a first message would send.

Invariant: the same sample or judgement of one run is paid for once, however often it is asked for;
a failure is never kept, so asking again tries again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, TypeVar

import msgspec

from polyvox.context.budget import TooLong
from polyvox.context.compile import compile_request
from polyvox.context.rebuild import Receipt
from polyvox.errors import EmptyAnswer, Invalid, NotFound
from polyvox.evaluation import reword
from polyvox.evaluation.budget import ModelReply, together
from polyvox.evaluation.checks import check
from polyvox.evaluation.contexts import (
    Context,
    Field,
    captured,
    in_other_words,
    read,
    under_phase,
    with_phase,
    with_prompt,
)
from polyvox.evaluation.judge import Judge, asked_plainly, unjudged
from polyvox.evaluation.judge_prompt import Subject, judge_hash
from polyvox.evaluation.tables import assertions as assertion_rows
from polyvox.evaluation.tables import contexts as context_rows
from polyvox.evaluation.tables import verdicts
from polyvox.evaluation.tables.assertions import Assertion
from polyvox.evaluation.tables.verdicts import CODE, Judged, StoredSample, Verdict
from polyvox.ids import content_hash, new_id
from polyvox.memory.tables import companions
from polyvox.recipes import find_recipe, known_recipe
from polyvox.resources import Resources
from polyvox.session.council import model_for, params_for, voiced
from polyvox.shapes import shape
from polyvox.store import advisors as advisor_rows
from polyvox.store import turns
from polyvox.store.database import Tx
from polyvox.store.usage import token_ratio
from polyvox.thread import Thread, ThreadTurn
from polyvox.values import Advisor

T = TypeVar("T")
FRESH_RECIPE = "council"
"""Recipe for a question that nobody has asked an advisor yet."""
MEANWHILE = (
    "Something of this was forgotten while it was judged. Run what could not be judged again."
)


PROMPT = "prompt"
"""Target of an optimisation: the advisor's identity (its prompt, else its description)."""
PHASE = "phase:"
"""Begins the name of a target that is the text of a recipe's phase."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text that is tried out, and where it stands."""

    text: str
    target: str = PROMPT
    """`prompt`, or `phase:NAME`."""

    @property
    def hash(self) -> str:
        """Its name by its content; for the advisor's identity that of its prompt version."""
        return content_hash(self.text if self.target == PROMPT else f"{self.target}\n{self.text}")

    @property
    def phase(self) -> str | None:
        """The phase whose text it is; None: it is the advisor's identity."""
        return self.target.removeprefix(PHASE) if self.target.startswith(PHASE) else None


@dataclass(frozen=True, slots=True)
class JudgedText:
    """The text that verdicts are about: a stored answer, or a sample (an answer had anew)."""

    sample: str
    """Names a sample: run, prompt, context, model, parameters and repeat; empty: it is none."""
    answer_id: str | None
    prompt_hash: str
    context_hash: str
    model: str
    """provider:name that gave it."""
    text: Subject | None = None
    """None: there is none, and every verdict on it is an error."""

    @property
    def subject(self) -> str:
        """Its name among the verdicts."""
        return self.sample or self.answer_id or ""


class Bench(Protocol):
    """Tries prompts out: the road itself (`RoadBench`), or a simulated one with set
    probabilities."""

    async def sample(self, prompt: Prompt, context_hash: str, repeat: int) -> JudgedText:
        """Have the advisor answer in that context with this prompt; another repeat is another
        answer. Raises `ModelError` where it does not answer, `CapReached` where nothing may be
        spent any more, `Invalid` where the context cannot be replayed."""
        ...

    async def judge(
        self, about: JudgedText, assertions: Sequence[Assertion], repeat: int
    ) -> list[Judged]:
        """One judgement for each assertion, in their order. A judge that is away or unreadable
        is an `error` in each of its own; only `CapReached` is raised."""
        ...

    async def reworded(self, contexts: Sequence[str]) -> Bench | None:
        """The same bench with the person's question put in other words in these contexts; None
        where that cannot be had. Raises `ModelError` and `CapReached`."""
        ...


@dataclass(frozen=True, slots=True)
class Places:
    """Contexts in which assertions are tried out."""

    contexts: Mapping[str, Context]
    """By hash."""
    of: Mapping[str, tuple[str, ...]]
    """The hashes of each assertion's contexts; none where it has no place to be tried."""
    advisors: Mapping[str, Advisor]
    """Advisors of the contexts, as they are now, without those that are gone."""
    stored: Mapping[str, str] = field(default_factory=dict)
    """The stored context's hash, by the name of one that is tried under another phase."""


def places(tx: Tx, resources: Resources, assertions: Sequence[Assertion]) -> Places:
    """Find the contexts of each assertion: the one it was drawn from, one with the question it
    has of its own, or else in every stored context of its advisor."""
    contexts: dict[str, Context] = {}
    of: dict[str, tuple[str, ...]] = {}
    advisors: dict[str, Advisor] = {}
    moved: dict[str, str] = {}
    for assertion in assertions:
        advisor = advisors.get(assertion.advisor_id) or advisor_rows.find(tx, assertion.advisor_id)
        if advisor is not None:
            advisors[advisor.id] = advisor
        if assertion.source is not None:
            own = assertion.source.context_hash
            names = [own, *assertion.contexts] if own else list(assertion.contexts)
        elif assertion.user_input is not None:
            fresh = advisor and _fresh(tx, resources, advisor, assertion)
            contexts |= {fresh.hash: fresh} if fresh else {}
            names = [fresh.hash] if fresh else []
        else:
            names = assertion_rows.context_hashes(tx, assertion.advisor_id)
        for name in names:
            if name not in contexts and (stored := context_rows.find(tx, name)) is not None:
                contexts[name] = _today(tx, resources, read(stored.data))
        names = [name for name in names if name in contexts]
        if (phase := assertion.phase) is not None:
            for at, name in enumerate(names):
                context = in_phase(tx, resources, contexts[name], phase)
                if context is not contexts[name]:
                    names[at] = content_hash(f"{name}\n{phase}")
                    contexts[names[at]], moved[names[at]] = context, name
        of[assertion.id] = tuple(names)
    return Places(contexts, of, advisors, moved)


def in_phase(tx: Tx, resources: Resources, context: Context, phase: str) -> Context:
    """The context under the phase that an assertion is meant for."""
    recipe = known_recipe(tx, resources.settings, context.recipe[0])
    return context if recipe is None else under_phase(context, recipe, phase)


def _today(tx: Tx, resources: Resources, context: Context) -> Context:
    """A context under the phase that the person has written since: their own text of it is part of
    what is tried out, as the advisor's prompt is."""
    recipe = known_recipe(tx, resources.settings, context.recipe[0])
    for phase in recipe.phases if recipe is not None else ():
        if phase.name == context.phase and phase.text:
            try:
                return with_phase(context, phase.name, phase.text)
            except Invalid:  # it does not show where that text stood: it is tried as it was
                return context
    return context


def _fresh(tx: Tx, resources: Resources, advisor: Advisor, assertion: Assertion) -> Context | None:
    """Compile the request for a first message to this advisor, under the assertion's phase; None
    where it does not fit."""
    asked = assertion.user_input or ""
    recipe = find_recipe(tx, resources.settings, FRESH_RECIPE)
    model = model_for(resources, recipe, advisor)
    facts = resources.models.facts(model)
    thread = Thread(
        voiced(recipe, advisor),
        ThreadTurn("", "", 1, asked, None),
        ratio=token_ratio(tx, model),
    )
    params = params_for(resources, recipe, advisor, facts)
    try:
        compiled = compile_request(recipe, thread, resources.settings.limits, facts, params)
    except TooLong:
        return None
    receipt = Receipt("", compiled.draft, compiled.request, (), None, ())
    context = captured(receipt, advisor, recipe, asked)
    if assertion.phase is not None:
        context = under_phase(context, recipe, assertion.phase)
    return msgspec.structs.replace(context, model_id=model)


@dataclass(slots=True, eq=False)
class RoadBench:
    """The road as a bench: contexts are replayed, answers are judged, and both are kept."""

    run_id: str
    """The evaluation or optimisation that this is for."""
    places: Places
    voice: Judge
    """Who judges, and by whose calls advisors are asked too."""
    model: str | None = None
    """Asks this model in place of the one that had answered."""
    writer: str = ""
    """Puts questions in other words where there is no judge."""
    wordings: Mapping[str, str] = field(default_factory=dict)
    """Questions in other words, by context."""
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def sample(self, prompt: Prompt, context_hash: str, repeat: int) -> JudgedText:
        """Have the advisor answer in that context with this prompt."""
        calls, context = self.voice.calls, self._context(context_hash)
        request = self._with(context, prompt).request()
        key = self.key(prompt, context_hash, repeat)
        async with self._locks.setdefault(key, asyncio.Lock()):
            kept = await self._read(lambda tx: self._kept(tx, key, context_hash))
            if kept is None:
                now = calls.resources.clock()

                def made(reply: ModelReply) -> StoredSample:
                    where = (key, self.run_id, context_hash, prompt.hash)
                    return StoredSample(*where, reply.model, repeat, reply.text, now)

                async def keep(reply: ModelReply) -> None:
                    if reply.text.strip():
                        await self.write(partial(self._keep_sample, made(reply)))

                model = self._model(context)
                reply = await calls.ask(model, request, keep)
                if not reply.text.strip():
                    hint = "Run what could not be judged again."
                    raise EmptyAnswer(f"{model} answered nothing.", hint)
                kept = made(reply)
        text = Subject(context.asked, kept.text)
        return JudgedText(key, None, prompt.hash, context_hash, kept.model, text)

    def key(self, prompt: Prompt, context_hash: str, repeat: int) -> str:
        """The name of a sample: another run, prompt, context, model, parameters or repeat is
        another one."""
        context = self._context(context_hash)
        advisor = self.places.advisors.get(context.advisor_id)
        named: tuple[object, ...] = (
            self.run_id,
            prompt.target,
            prompt.hash,
            content_hash(advisor.identity if advisor else context.versioned),
            context_hash,
            self._model(context),
            context.params,
            repeat,
        )
        if context_hash in self.wordings:
            named += (self.wordings[context_hash],)
        return content_hash(msgspec.json.encode(named).decode())

    async def judge(
        self, about: JudgedText, assertions: Sequence[Assertion], repeat: int
    ) -> list[Judged]:
        """One judgement for each assertion, in their order; what was found out before is not asked
        for again."""
        if (text := about.text) is None:
            return await self.errors(about, assertions, repeat, "The answer is gone.")
        known = await self._read(
            lambda tx: verdicts.of_subject(tx, self.run_id, about.subject, repeat)
        )
        judged = {
            (verdict.assertion_id, verdict.number): shape(Judged, verdict)
            for verdict in known
            if verdict.outcome != "error"
        }
        left = [row for row in assertions if (row.id, row.number) not in judged]
        coded = [_checked(row, text.answer) for row in left if row.kind != "judge"]
        coded = await self._keep(about, coded, repeat, coded=True)
        worded = [row for row in left if row.kind == "judge"]
        spoken = await self.voice.judge(text, worded, repeat) if worded else []
        spoken = await self._keep(about, spoken, repeat)
        judged |= {(row.assertion_id, row.number): row for row in (*coded, *spoken)}
        return [judged[row.id, row.number] for row in assertions]

    async def reworded(self, contexts: Sequence[str]) -> RoadBench | None:
        """The same bench with the person's question put in other words in these contexts."""
        texts = await together(self._reworded, contexts)
        wordings = {name: text for name, text in zip(contexts, texts, strict=True) if text}
        return replace(self, wordings=wordings) if len(wordings) == len(contexts) else None

    async def _reworded(self, context_hash: str) -> str | None:
        """The question of a context in other words, kept as samples are; None: there is none."""
        calls, context = self.voice.calls, self._context(context_hash)
        model = self.voice.model or self.writer
        if not model or in_other_words(context, "") is None:
            return None
        key = content_hash(f"{self.run_id}\nreworded\n{context_hash}")
        kept = await self._read(lambda tx: self._kept(tx, key, context_hash))
        if kept is None:
            reply, _ = await asked_plainly(calls, model, reword.request(context.asked))
            text = reword.read(reply.text, context.asked)
            if text is None:
                return None
            now = calls.resources.clock()
            kept = StoredSample(key, self.run_id, context_hash, "", reply.model, 0, text, now)
            await self.write(partial(self._keep_sample, kept))
        return kept.text

    async def errors(
        self, about: JudgedText, assertions: Sequence[Assertion], repeat: int, reason: str
    ) -> list[Judged]:
        """Nothing could be found out, for this reason."""
        return await self._keep(about, [unjudged(row, reason) for row in assertions], repeat)

    async def _keep(
        self, about: JudgedText, judged: Sequence[Judged], repeat: int, *, coded: bool = False
    ) -> list[Judged]:
        """Store what was found out, before anybody goes on; answers what was stored. A reason may
        quote its subject: where something of that was forgotten meanwhile, it is an error."""
        now = self.voice.calls.resources.clock()
        judge, prompt = (CODE, "") if coded else (self.voice.model or "", judge_hash())

        def store(tx: Tx) -> list[Judged]:
            companions.drops_held(tx)
            kept = list(judged)
            if about.text is not None and not self._stands(tx, about, about.text):
                kept = [replace(verdict, reason=MEANWHILE, outcome="error") for verdict in judged]
            rows = [
                shape(
                    Verdict,
                    about,
                    id=new_id(),
                    evaluation_id=self.run_id,
                    assertion_id=verdict.assertion_id,
                    number=verdict.number,
                    judge=judge,
                    judge_hash=prompt,
                    repeat=repeat,
                    reason=verdict.reason,
                    outcome=verdict.outcome,
                    overruled=None,
                    created_at=now,
                )
                for verdict in kept
            ]
            verdicts.put(tx, rows)
            return kept

        return await self.write(store) if judged else []

    async def _read(self, work: Callable[[Tx], T]) -> T:
        calls = self.voice.calls
        return await calls.resources.database.read(work, calls.scope)

    async def write(self, work: Callable[[Tx], T]) -> T:
        """Store something of the run."""
        calls = self.voice.calls
        return await calls.resources.database.write(work, calls.scope)

    def _keep_sample(self, made: StoredSample, tx: Tx) -> None:
        companions.drops_held(tx)
        self._kept(tx, made.key, made.context_hash)
        verdicts.put_sample(tx, made)

    def _kept(self, tx: Tx, key: str, context_hash: str) -> StoredSample | None:
        """A sample that is stored, unless something of its context was forgotten since it was
        read: that is refused."""
        stored = context_rows.find(tx, self.places.stored.get(context_hash, context_hash))
        asked = self.places.contexts[context_hash].asked
        if stored.redacted if stored else not assertion_rows.is_asked(tx, asked):
            raise _forgotten()
        return verdicts.find_sample(tx, key)

    def _stands(self, tx: Tx, about: JudgedText, text: Subject) -> bool:
        """True if the judged text is stored as it was read."""
        try:
            if about.sample:
                kept = self._kept(tx, about.sample, about.context_hash)
                return kept is not None and kept.text == text.answer
            answer = turns.get_answer(tx, about.answer_id or "")
        except Invalid:
            return False
        except NotFound:  # its conversation is gone: the assertion keeps what it was drawn from
            return True
        asked = turns.get_turn(tx, answer.turn_id).content
        return (asked, answer.text) == (text.question, text.answer)

    def _context(self, context_hash: str) -> Context:
        context = self.places.contexts.get(context_hash)
        if context is None:
            raise Invalid(
                "The context of this assertion is not there any more.",
                "Make the assertion again from another answer.",
            )
        wording = self.wordings.get(context_hash)
        return (wording and in_other_words(context, wording)) or context

    def _with(self, context: Context, prompt: Prompt) -> Context:
        """The context with this prompt in it, and the advisor's own where it is a phase's."""
        if context.redacted:
            raise _forgotten()
        advisor = self.places.advisors.get(context.advisor_id)
        if prompt.phase is None:
            return with_prompt(context, prompt.text, _field(advisor, prompt.text))
        if advisor is not None:
            context = with_prompt(context, advisor.identity, _field(advisor, advisor.identity))
        return with_phase(context, prompt.phase, prompt.text)

    def _model(self, context: Context) -> str:
        """The model that had answered; where that is not known, the advisor's of today."""
        if self.model or context.model_id:
            return self.model or context.model_id
        advisor = self.places.advisors.get(context.advisor_id)
        return (advisor.model if advisor else None) or self.voice.calls.resources.models.default


def _field(advisor: Advisor | None, text: str) -> Field | None:
    """Tell prompt from description: a text is the description only where it is that now. Of an
    advisor that is gone nobody knows: what it was then holds."""
    if advisor is None:
        return None
    return "description" if not advisor.prompt and advisor.description == text else "prompt"


def _forgotten() -> Invalid:
    return Invalid(
        "Something in this context was forgotten, so it cannot be replayed.",
        "Make the assertion again from another answer.",
    )


def _checked(assertion: Assertion, answer: str) -> Judged:
    try:
        result = check(assertion.kind, assertion.args, answer)
    except Invalid as error:
        return unjudged(assertion, error.message)
    return Judged(assertion.id, assertion.number, result.reason, result.outcome)
