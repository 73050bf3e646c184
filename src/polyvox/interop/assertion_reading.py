"""Any file of assertions, by what is in it; and the suites of this place as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyvox.errors import TooLarge
from polyvox.evaluation.contexts import Context, read
from polyvox.evaluation.tables import assertions, contexts
from polyvox.evaluation.tables.assertions import Wanted
from polyvox.evaluation.values import Assertion
from polyvox.interop import assertion_file, files, space_assertions
from polyvox.interop.assertion_file import LARGEST, Entry, Parsed, Suite
from polyvox.store import advisors
from polyvox.store.database import Tx


def understand(text: str, what: str) -> Parsed:
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


def suite_of(tx: Tx, advisor_id: str, name: str, found: dict[str, Context]) -> Suite:
    """An advisor's assertions as they are written to a file; the contexts they need are added to
    `found`. One that lost something cannot be replayed elsewhere either: it stays here."""
    known = advisors.even_removed(tx, advisor_id)
    entries = []
    for one in assertions.list_all(tx, Wanted(advisor_id=advisor_id)):
        earlier = assertions.versions(tx, one.id)[1:]
        entries.append(Entry(_with_context(tx, one, found), tuple(reversed(earlier))))
    return Suite(advisor_id, known.slug if known else "", name, tuple(entries))


def _with_context(tx: Tx, one: Assertion, found: dict[str, Context]) -> Assertion:
    if one.source is None or not one.source.context_hash:
        return one
    name = one.source.context_hash
    stored = None if name in found else contexts.find(tx, name)
    if stored is not None and not stored.redacted:
        found[name] = read(stored.data)
    if name in found:
        return one
    return replace(one, source=replace(one.source, context_hash=""))


def whole(tx: Tx, named: Sequence[tuple[str, str]]) -> str:
    """The suites of these advisors (id, name) as a file."""
    found: dict[str, Context] = {}
    suites = [suite_of(tx, *one, found) for one in named]
    return assertion_file.write(suites, found)
