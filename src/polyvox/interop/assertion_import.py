"""Taking assertions from a file: all that can be taken, in one transaction.

Ids are kept. What is here already is not added again, also when it has changed since; one that was
removed comes back. An id that means something else here is not taken from it: the newcomer gets
another, always the same one for the same thing, so that taking a file twice adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

import msgspec

from polyvox.errors import Invalid, NotFound, TooLarge
from polyvox.evaluation.contexts import Context
from polyvox.evaluation.tables import assertions, contexts, past_runs
from polyvox.evaluation.tables.assertions import OURS, Assertion, AssertionFilter
from polyvox.ids import content_hash, new_id
from polyvox.interop import assertion_file, files, space_assertions
from polyvox.interop.assertion_file import AssertionEntry, ParsedAssertions, Suite
from polyvox.interop.report import Report, take
from polyvox.store import advisors, turns
from polyvox.store.database import Database, Tx
from polyvox.values import Scope

LARGEST = 32_000_000
"""Bytes of a file."""


def understand(text: str, what: str) -> ParsedAssertions:
    """The assertions in a file: our YAML, or what SPACE Terminal stored."""
    if len(text) > LARGEST:
        raise TooLarge(f"{what} has more than {LARGEST:,} characters.", "Split it.")
    plain = text.removeprefix("\ufeff")
    as_json = plain.lstrip()[:1] in ("{", "[")
    data = files.parse_json(plain, what) if as_json else files.parse_yaml(plain, what)
    if as_json and space_assertions.is_space(data):
        return space_assertions.parse(data, what)
    return assertion_file.parse(data, what)


async def store(
    database: Database,
    scope: Scope,
    now: int,
    parsed: ParsedAssertions,
    *,
    into: str | None = None,
    phase: Callable[[Tx], str] | None = None,
    dry: bool = False,
) -> Report:
    """Store what a file holds; `dry` tells what would happen. `into` names the advisor that gets
    all of it, whoever the file is about; `phase` that of assertions written by hand."""

    def work(tx: Tx) -> Report:
        report = Report(refused=list(parsed.refused), notes=list(parsed.notes))
        for suite in parsed.suites:
            try:
                who = _advisor(tx, now, suite, into, report)
            except Invalid as error:
                report.refused += [
                    f"{entry.assertion.text[:60]}: {error.message}" for entry in suite.entries
                ]
                continue
            for entry in suite.entries:
                given = entry.assertion
                if phase is not None and not (given.id or given.source or given.phase):
                    entry = replace(entry, assertion=replace(given, phase=phase(tx)))
                _take(tx, now, who, entry, parsed.contexts, report)
        new = sum(past_runs.add(tx, run) for run in parsed.runs)
        if parsed.runs:
            report.notes.append(
                f"{new} of {len(parsed.runs)} earlier runs kept as history"
                if new
                else "its earlier runs are kept as history already"
            )
        return report

    return await take(database, scope, work, dry=dry)


def _advisor(tx: Tx, now: int, suite: Suite, into: str | None, report: Report) -> tuple[str, str]:
    """Id and name of who gets a suite: by id, by slug, else by exactly this name."""
    if into is not None:
        named = advisors.get(tx, into)
        return named.id, named.name
    for key in (suite.advisor_id, suite.slug):
        if key in OURS:
            return key, OURS[key]
        if key and (advisor := advisors.find(tx, key)) is not None:
            return advisor.id, advisor.name
    for advisor in advisors.list_all(tx):
        if suite.name and advisor.name == suite.name:
            return advisor.id, advisor.name
    if suite.description is None or not suite.name:
        who = suite.name or suite.slug or "whoever it is about"
        raise Invalid(f"there is no advisor {who!r} here; make it first, or name another")
    words = suite.description or "Came with its assertions; nothing else was known."
    made = advisors.create(
        tx, now, reason="imported", name=suite.name, description=words, active=False
    )
    report.notes.append(f"{made.slug} was not here: added, inactive, so that nothing is lost")
    return made.id, made.name


def _take(
    tx: Tx,
    now: int,
    who: tuple[str, str],
    entry: AssertionEntry,
    known: Mapping[str, Context],
    report: Report,
) -> None:
    given = entry.assertion
    made = replace(
        _linked(tx, now, given, who[0], known),
        advisor_id=who[0],
        advisor_name=who[1],
        created_at=given.created_at or now,
        updated_at=given.updated_at or now,
    )
    shown = made.text if len(made.text) <= 80 else f"{made.text[:79]}…"
    for name in _names(made):
        there = assertions.find(tx, name)
        if there is not None:
            if _is(there, made):
                changed = "" if there.wording == made.wording else " (changed since)"
                report.present.append(f"{shown}{changed}")
                return
        elif assertions.restore(tx, replace(made, id=name), now):
            report.taken.append(f"{shown} (it had been removed)")
            return
        elif not assertions.is_known(tx, name):
            if name != given.id:
                report.notes.append(f"{shown}: its id {given.id} is another's here; it has {name}")
            made = replace(made, id=name)
            break
    else:
        for assertion in assertions.list_all(tx, AssertionFilter(advisor_id=who[0])):
            if _is(assertion, made) and assertion.wording == made.wording:
                report.present.append(shown)
                return
        made = replace(made, id=new_id())
    assertions.add(tx, made)
    for old in entry.earlier:
        assertions.add_version(tx, replace(old, assertion_id=made.id))
    report.taken.append(shown)


def _names(made: Assertion) -> list[str]:
    """The id it has, and the one it gets where that is another's."""
    if not made.id:
        return []
    whence = made.source.answer_id if made.source else (made.user_input or "")
    return [made.id, f"{made.id}-{content_hash(f'{made.advisor_id} {whence}')[:8]}"[-200:]]


def _is(there: Assertion, made: Assertion) -> bool:
    """True if two assertions are one: of the same advisor and from the same place."""
    if there.advisor_id != made.advisor_id or there.user_input != made.user_input:
        return False
    if there.source is None or made.source is None:
        same = there.id == made.id or there.wording == made.wording
        return there.source is made.source and same
    return there.source.answer_id == made.source.answer_id


def _linked(
    tx: Tx, now: int, given: Assertion, advisor_id: str, known: Mapping[str, Context]
) -> Assertion:
    """The same with its contexts stored, and with the answer it came from where that is here."""

    def put(name: str) -> str:
        if (context := known.get(name)) is None:
            return ""
        mine = msgspec.structs.replace(context, advisor_id=advisor_id)
        return contexts.put(tx, mine.data, now, redacted=mine.redacted)

    given = replace(given, contexts=tuple(map(put, given.contexts)))
    source = given.source
    if source is None:
        return given
    source = replace(source, context_hash=put(source.context_hash))
    with suppress(NotFound):  # then it is only told where it came from
        here = turns.get_answer(tx, source.answer_id)
        source = replace(source, conversation_id=here.conversation_id, turn_id=here.turn_id)
    return replace(given, source=source)
