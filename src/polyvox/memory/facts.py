"""Facts: statements with evidence, findable like episodes, each with the time for which it held.

A fact is added, never rewritten; correcting one adds a statement that stands against it. The index
knows of each when it was superseded, and is brought up to date with every line that is touched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta, tzinfo

from polyvox.memory import rules
from polyvox.memory.statements import Statement, history, id_of, key_of, plain
from polyvox.memory.tables import claims
from polyvox.memory.tables import facts as rows
from polyvox.memory.tables.facts import Fact, Precision
from polyvox.memory.times import Span, date_of, midnight, times_in
from polyvox.memory.values import Claim, Evidence, Item, Partition, Status
from polyvox.memory.words import words_of
from polyvox.store.database import Tx

KIND = "fact"
DAY = 86_400_000_000
PAGE = 32
_PRECISIONS: tuple[tuple[int, Precision], ...] = ((1, "day"), (7, "week"), (31, "month"))


@dataclass(frozen=True, slots=True)
class Known:
    """A fact with the time for which it held."""

    fact: Fact
    valid_from: int
    valid_to: int | None

    @property
    def status(self) -> Status:
        """Whether it holds."""
        return "current" if self.valid_to is None else "superseded"

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Where it was said; nowhere, where it was put in by hand."""
        fact = self.fact
        if fact.session_id is None or fact.index is None or fact.role is None:
            return ()
        return (Evidence(fact.session_id, fact.index, fact.role, fact.quote or "", fact.said_at),)


def line_of(subject: str, attribute: str, text: str, owner: str | None) -> str:
    """The line that a statement belongs to."""
    return json.dumps(
        key_of(Statement("", subject, attribute, text, 0, owner=owner)), ensure_ascii=False
    )


def about(words: str, said_at: int, zone: tzinfo | None = UTC) -> tuple[Span, Precision] | None:
    """The time that words speak of, seen from when and where they were said, and how exactly they
    say it."""
    spans = times_in(words, said_at, zone).spans
    if spans:
        days = round((spans[0].end - spans[0].start) / DAY)  # one may have 23 or 25 hours
        return spans[0], next((name for most, name in _PRECISIONS if days <= most), "year")
    due = rules.day_in(words, date_of(said_at, zone))
    if due is None:
        return None
    return Span(midnight(due, zone), midnight(due + timedelta(days=1), zone)), "day"


def remember(tx: Tx, partition: Partition, facts: Sequence[Fact]) -> int:
    """Store the facts that are not there yet, and make them findable; answers how many were new."""
    new = rows.add(tx, partition, facts)
    reindex(tx, partition, {fact.line for fact in new})
    return len(new)


def reindex(tx: Tx, partition: Partition, lines: set[str]) -> None:
    """Let the index know what holds in these lines."""
    found = held(rows.of_lines(tx, partition, sorted(lines)))
    hidden = [one.fact.id for one in found if one.fact.excluded or one.fact.retracts]
    claims.remove(tx, partition, KIND, hidden)
    claims.put(
        tx,
        partition,
        [
            Claim(
                KIND,
                one.fact.id,
                one.fact.said_at,
                _terms(one.fact),
                one.fact.advisor_id,
                one.fact.cloud,
                one.valid_to,
                one.fact.pinned,
            )
            for one in found
            if not one.fact.excluded and not one.fact.retracts
        ],
    )


def held(facts: Sequence[Fact], as_of: int | None = None) -> list[Known]:
    """Facts with the time for which each held. All statements of their lines must be given."""
    by_id = {fact.id: fact for fact in facts}
    statements = [
        Statement(
            one.id,
            one.line,
            "line",
            one.text,
            one.said_at,
            one.source,
            one.retracts,
            session=one.session_id or "",
            index=one.index or 0,
            place=one.place,
        )
        for one in facts
    ]
    return [
        Known(by_id[one.statement.id], one.valid_from, one.valid_to)
        for one in history(statements, as_of)
    ]


def tell(tx: Tx, partition: Partition, ids: Sequence[str], as_of: int | None) -> Mapping[str, Item]:
    """Facts as items of recall."""
    known = known_by_ids(tx, partition, ids, as_of)
    return {name: item_of(one) for name, one in known.items() if not one.fact.excluded}


def known_by_ids(
    tx: Tx, partition: Partition, ids: Sequence[str], as_of: int | None
) -> dict[str, Known]:
    """These facts, each with the time for which it held."""
    lines = {fact.line for fact in rows.by_ids(tx, partition, ids)}
    wanted = set(ids)
    return {
        one.fact.id: one
        for one in held(rows.of_lines(tx, partition, sorted(lines)), as_of)
        if one.fact.id in wanted
    }


def item_of(one: Known, relevance: float = 0.0) -> Item:
    """A fact as something recalled."""
    return Item(
        one.fact.id,
        one.fact.text,
        relevance,
        KIND,
        one.evidence,
        one.valid_from,
        one.valid_to,
        one.status,
    )


def known(
    tx: Tx, partition: Partition, *, as_of: int | None = None, include_history: bool = False
) -> list[Known]:
    """What is known: pinned facts first, then the newest. Excluded ones are shown too."""
    found = [
        one
        for one in held(rows.every(tx, partition), as_of)
        if include_history or (one.valid_to is None and not one.fact.retracts)
    ]
    return sorted(found, key=lambda one: (not one.fact.pinned, -one.fact.said_at, one.fact.id))


def newest(tx: Tx, partition: Partition, as_of: int) -> Iterator[Known]:
    """What held then and is not excluded, as `known` tells it, read as it is asked for."""
    holding: dict[str, Known] = {}
    lines: set[str] = set()
    for pinned in (True, False):
        after: tuple[int, str] | None = (as_of + 1, "")
        while after is not None:
            page = rows.some(tx, partition, PAGE, pinned=pinned, excluded=False, after=after)
            new = {fact.line for fact in page} - lines
            lines |= new
            for one in held(rows.of_lines(tx, partition, sorted(new)), as_of):
                if one.valid_to is None and not one.fact.retracts:
                    holding[one.fact.id] = one
            yield from (holding[fact.id] for fact in page if fact.id in holding)
            after = (page[-1].said_at, page[-1].id) if len(page) == PAGE else None


def find(tx: Tx, partition: Partition, fact_id: str) -> tuple[Known, list[Known]]:
    """One fact, and everything else that was ever said of the same, oldest first."""
    fact = rows.get(tx, partition, fact_id)
    line = held(rows.of_lines(tx, partition, (fact.line,)))
    one = next(each for each in line if each.fact.id == fact_id)
    return one, [each for each in line if each.fact.id != fact_id]


def correct(
    tx: Tx, partition: Partition, fact_id: str, text: str, now: int, zone: tzinfo | None = UTC
) -> Known:
    """Put a statement by hand in place of a fact. It holds until something newer is said."""
    old = rows.get(tx, partition, fact_id)
    at = max(now, old.said_at + 1)
    when = about(text, at, zone)
    new = Fact(
        id_of("correction", old.id, plain(text), at),
        old.line,
        old.subject,
        old.attribute,
        text,
        at,
        about_from=None if when is None else when[0].start,
        about_to=None if when is None else when[0].end,
        about_precision=None if when is None else when[1],
        source="manual",
        advisor_id=old.advisor_id,
        cloud=old.cloud,
        pinned=old.pinned,
        excluded=old.excluded,
        corrects=old.id,
    )
    remember(tx, partition, [new])
    return find(tx, partition, new.id)[0]


def mark(
    tx: Tx,
    partition: Partition,
    fact_id: str,
    *,
    pinned: bool | None = None,
    excluded: bool | None = None,
) -> Known:
    """Pin a fact or not; exclude it from recall or take it back."""
    old = rows.get(tx, partition, fact_id)
    new = replace(
        old,
        pinned=old.pinned if pinned is None else pinned,
        excluded=old.excluded if excluded is None else excluded,
    )
    rows.mark(tx, partition, new)
    reindex(tx, partition, {old.line})
    return find(tx, partition, fact_id)[0]


def remove(tx: Tx, partition: Partition, ids: Sequence[str]) -> None:
    """Delete facts, from the index too; what they superseded may hold again."""
    lines = {fact.line for fact in rows.by_ids(tx, partition, ids)}
    claims.remove(tx, partition, KIND, ids)
    rows.remove(tx, partition, ids)
    reindex(tx, partition, lines)


def _terms(fact: Fact) -> tuple[str, ...]:
    """The words of a fact, and of what it is about where its text does not say it."""
    terms = words_of(fact.text)
    more = words_of(f"{fact.subject} {fact.attribute.replace('_', ' ')}")
    return (*terms, *(word for word in dict.fromkeys(more) if word not in terms))
