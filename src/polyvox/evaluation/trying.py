"""One run of an evaluation: every subject at once, each asked again until it is decided.

Whatever is known already is not asked for again, so a run that is taken up goes on where it was,
and one that is run again for its errors asks only about those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polyvox.errors import Invalid, ModelError, NotFound, PolyvoxError
from polyvox.evaluation import replay as replaying
from polyvox.evaluation import suite
from polyvox.evaluation.budget import together
from polyvox.evaluation.judge_prompt import Subject
from polyvox.evaluation.replay import About, Places, Prompt, RoadBench
from polyvox.evaluation.suite import Unit
from polyvox.evaluation.tables import assertions as assertion_rows
from polyvox.evaluation.tables import evaluations, verdicts
from polyvox.evaluation.tables.evaluations import Evaluation
from polyvox.evaluation.values import Assertion, Judged, Verdict
from polyvox.resources import Resources
from polyvox.store import turns, versions
from polyvox.store.database import Tx
from polyvox.values import Advisor, PromptVersion, Scope, Usage

GONE = "The assertion was removed."


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored answer, and what is known of how it was made."""

    subject: Subject
    about: About


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a run works with."""

    assertions: Mapping[tuple[str, int], Assertion]
    places: Places
    prompts: Mapping[str, PromptVersion]
    stored: Mapping[str, Stored]
    known: Mapping[tuple[str, str], tuple[Verdict, ...]]
    """By assertion and subject."""


async def find_out(resources: Resources, scope: Scope, one: Evaluation) -> None:
    """Find out whatever is not known yet. `CapReached` ends it."""
    units = suite.read_plan(one.plan)
    loaded = await resources.database.read(lambda tx: _load(tx, resources, one, units), scope)

    def note(tx: Tx, used: Usage) -> None:
        evaluations.spend(tx, one.id, used)

    bench = replaying.road_bench(
        resources,
        scope,
        one.id,
        loaded.places,
        one.judge or None,
        note=note,
        confirm=one.confirm,
        model=one.model or None,
    )
    await together(_Run(resources, scope, one, bench, loaded).unit, units)


@dataclass(slots=True)
class _Run:
    resources: Resources
    scope: Scope
    one: Evaluation
    bench: RoadBench
    loaded: Loaded
    done: int = 0

    async def unit(self, unit: Unit) -> None:
        """Everything about one subject, repeat after repeat until it is decided."""
        found = [self.loaded.assertions.get(pair) for pair in unit.assertions]
        assertions = [one for one in found if one is not None]
        if unit.nowhere:
            await self._nowhere(unit, assertions)
            return
        name = self._name(unit)
        said = {one.id: list(self.loaded.known.get((one.id, name), ())) for one in assertions}
        counted = 0
        for repeat in range(self.one.repeats):
            wanted = [
                one
                for one in assertions
                if suite.still_open(said[one.id], self.one.repeats, early=self.one.early)
                and not any(v.repeat == repeat and v.outcome != "error" for v in said[one.id])
            ]
            if wanted:
                judged = await self._once(unit, wanted, repeat)
                for one in judged:
                    said[one.assertion_id] = [
                        v for v in said[one.assertion_id] if v.repeat != repeat
                    ] + [_verdict(one, repeat)]
                counted += len(wanted)
                await self._progress(len(wanted))
        await self._progress(len(unit.assertions) * self.one.repeats - counted)

    async def _once(self, unit: Unit, assertions: Sequence[Assertion], repeat: int) -> list[Judged]:
        if unit.answer:
            stored = self.loaded.stored.get(unit.answer)
            if stored is None:
                about = About("", unit.answer, "", "", "")
                return await self._errors(about, assertions, repeat, "The answer is gone.")
            return await self.bench.found_out(stored.about, stored.subject, assertions, repeat)
        name = self._name(unit)
        prompt = self._prompt(unit, name)
        about = About(name, None, prompt.hash, name, "")
        try:
            about = replace(about, sample=self.bench.key(prompt, name, repeat))
            sample = await self.bench.sample(prompt, name, repeat)
        except (ModelError, Invalid) as error:
            return await self._errors(about, assertions, repeat, _words(error))
        return await self.bench.judge(sample, assertions, repeat)

    async def _errors(
        self, about: About, assertions: Sequence[Assertion], repeat: int, reason: str
    ) -> list[Judged]:
        judged = [Judged(one.id, one.number, reason, "error") for one in assertions]
        await self.bench.keep(about, judged, repeat)
        return judged

    async def _nowhere(self, unit: Unit, assertions: Sequence[Assertion]) -> None:
        await self._errors(About("", None, "", "", ""), assertions, 0, unit.nowhere)
        await self._progress(len(unit.assertions))

    def _name(self, unit: Unit) -> str:
        """The subject as its verdicts name it."""
        if not unit.asked:
            return unit.subject
        known = self.loaded.places.of
        names = [name for one, _ in unit.assertions for name in known.get(one, ())]
        return names[0] if names else unit.asked

    def _prompt(self, unit: Unit, name: str) -> Prompt:
        if unit.prompt in self.loaded.prompts:
            return Prompt(self.loaded.prompts[unit.prompt].text)
        context = self.loaded.places.contexts.get(name)
        return Prompt(context.versioned if context else "")

    async def _progress(self, more: int) -> None:
        self.done += more
        done = min(self.done, self.one.total)
        await self.resources.database.write(
            lambda tx: evaluations.progress(tx, self.one.id, done), self.scope
        )


def _load(tx: Tx, resources: Resources, one: Evaluation, units: Sequence[Unit]) -> Loaded:
    found = {
        pair: made
        for unit in units
        for pair in unit.assertions
        if (made := version_of(tx, *pair)) is not None
    }
    prompts = {unit.prompt: versions.get(tx, unit.prompt) for unit in units if unit.prompt}
    made_with = {prompt.advisor_id: prompt for prompt in prompts.values()}
    places = Places({}, {}, {})
    if one.mode == "replay":
        places = replaying.places(tx, resources, list(found.values()))
    advisors = {
        key: _as_of(advisor, made_with[key]) if key in made_with else advisor
        for key, advisor in places.advisors.items()
    }
    known: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts.of_evaluation(tx, one.id):
        name = verdict.answer_id or verdict.context_hash or suite.NOWHERE
        known.setdefault((verdict.assertion_id, name), []).append(verdict)
    return Loaded(
        found,
        replace(places, advisors=advisors),
        prompts,
        _answers(tx, units, found),
        {key: tuple(some) for key, some in known.items()},
    )


def version_of(tx: Tx, assertion_id: str, number: int) -> Assertion | None:
    """An assertion as it was in this version; None where it was removed."""
    now = assertion_rows.find(tx, assertion_id)
    if now is None or now.number == number:
        return now
    for one in assertion_rows.versions(tx, assertion_id):
        if one.number == number:
            return replace(now, number=number, text=one.text, kind=one.kind, args=one.args)
    return None


def _as_of(advisor: Advisor, version: PromptVersion) -> Advisor:
    """The advisor with the identity that the run is about."""
    if version.field == "prompt":
        return replace(advisor, prompt=version.text, version_id=version.id)
    return replace(advisor, prompt=None, description=version.text, version_id=version.id)


def _answers(
    tx: Tx, units: Sequence[Unit], found: Mapping[tuple[str, int], Assertion]
) -> dict[str, Stored]:
    """The stored answers; of one whose conversation is gone, what its assertions keep of it."""
    stored = {}
    for unit in units:
        if not unit.answer:
            continue
        sources = [one.source for pair in unit.assertions if (one := found.get(pair)) is not None]
        source = next((s for s in sources if s is not None and s.answer_id == unit.answer), None)
        context = source.context_hash if source else ""
        try:
            answer = turns.get_answer(tx, unit.answer)
        except NotFound:
            if source is not None:
                about = About("", unit.answer, "", context, "")
                stored[unit.answer] = Stored(Subject(source.user_input, source.answer), about)
            continue
        asked = turns.get_turn(tx, answer.turn_id).content
        prompt = answer.prompt_version_id
        prompt_hash = versions.get(tx, prompt).hash if prompt else ""
        about = About("", unit.answer, prompt_hash, context, answer.model)
        stored[unit.answer] = Stored(Subject(asked, answer.text), about)
    return stored


def _verdict(one: Judged, repeat: int) -> Verdict:
    """As much of a verdict as deciding needs."""
    return Verdict(
        "",
        "",
        one.assertion_id,
        one.number,
        None,
        "",
        "",
        "",
        "",
        "",
        "",
        repeat,
        one.reason,
        one.outcome,
    )


def _words(error: PolyvoxError) -> str:
    return f"The advisor could not be asked: {error.message} {error.hint}".strip()
