"""Any file of assertions, by what is in it; and the suites of this place as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyvox.errors import TooLarge
from polyvox.evaluation.contexts import Context, read
from polyvox.evaluation.tables import assertions, contexts
from polyvox.evaluation.tables.assertions import Assertion, AssertionFilter
from polyvox.interop import assertion_file, files, space_assertions
from polyvox.interop.assertion_file import LARGEST, AssertionEntry, ParsedAssertions, Suite
from polyvox.store import advisors
from polyvox.store.database import Tx


def understand(text: str, what: str) -> ParsedAssertions:
    """The assertions in a file: our YAML, or what SPACE Terminal stored."""
    if len(text) > LARGEST:
        raise TooLarge(f"{what} has more than {LARGEST:,} characters.", "Split it.")
    plain = text.removeprefix("\ufeff")
    if plain.lstrip()[:1] in ("{", "["):
        data = files.parse_json(plain, what)
        if space_assertions.is_space(data):
            return space_assertions.parse(data)
    else:
        data = files.parse_yaml(plain, what)
    return assertion_file.parse(data, what)


def suite_of(tx: Tx, advisor_id: str, name: str, kept: dict[str, Context]) -> Suite:
    """An advisor's assertions as they are written to a file; the contexts they need are added to
    `found`. One that lost something cannot be replayed elsewhere either: it stays here."""
    known = advisors.even_removed(tx, advisor_id)
    entries = []
    for assertion in assertions.list_all(tx, AssertionFilter(advisor_id=advisor_id)):
        earlier = assertions.versions(tx, assertion.id)[1:]
        entries.append(AssertionEntry(_with_context(tx, assertion, kept), tuple(reversed(earlier))))
    return Suite(advisor_id, known.slug if known else "", name, tuple(entries))


def _with_context(tx: Tx, assertion: Assertion, kept: dict[str, Context]) -> Assertion:
    if assertion.source is None or not assertion.source.context_hash:
        return assertion
    name = assertion.source.context_hash
    stored = None if name in kept else contexts.find(tx, name)
    if stored is not None and not stored.redacted:
        kept[name] = read(stored.data)
    if name in kept:
        return assertion
    return replace(assertion, source=replace(assertion.source, context_hash=""))


def whole(tx: Tx, named: Sequence[tuple[str, str]]) -> str:
    """The suites of these advisors (id, name) as a file."""
    kept: dict[str, Context] = {}
    suites = [suite_of(tx, *owner, kept) for owner in named]
    return assertion_file.write(suites, kept)
