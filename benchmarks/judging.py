"""Replies of judges that went wrong: how many of them pass silently, here and to a careless reader.

The corpus is that of the tests. A silent pass is one that is taken from a reply which does not say
it: without a reason, against its reason, twice in different ways, for an id nobody asked about …
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from tests.evaluation.replies import Bad, corpus

from benchmarks.report import Row, at_least, at_most, plain
from polyvox.evaluation.judge_prompt import Subject, asked, read
from polyvox.evaluation.tables.assertions import Assertion

Reader = Callable[[Bad], set[str]]
"""The ids that are taken to have passed."""


def judging() -> list[Row]:
    """Every figure."""
    made = [Assertion(f"id-{n}", "ann", "Ann", 1, f"It says {n}.") for n in (1, 2)]
    batch = asked(Subject("How much?", "It costs 12 francs."), made, 0)
    replies = corpus(*(one.key for one in batch))

    def ours(bad: Bad) -> set[str]:
        found = read(bad.text, batch, cut=bad.cut).verdicts
        return {key for key, said in found.items() if said[1] == "pass"}

    def careless(bad: Bad) -> set[str]:
        return _careless(bad.text)

    told = f"of {len(replies)} malformed replies"
    return [
        at_least("malformed replies of a judge", len(replies), 60),
        at_most("silent passes", _silent(replies, ours), 0, detail=told),
        plain("silent passes, first JSON taken as it is", _silent(replies, careless), detail=told),
    ]


def _silent(replies: list[Bad], reader: Reader) -> int:
    """Replies from which a pass is taken that they do not give."""
    passed = (
        (bad, {key for key, said in bad.allowed.items() if said == "pass"}) for bad in replies
    )
    return sum(bool(reader(bad) - allowed) for bad, allowed in passed)


def _careless(text: str) -> set[str]:
    """As it is often done: whatever lies between the first and the last brace, and its word."""
    found = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        rows = json.loads(found[0])["verdicts"] if found else []
        return {str(row["id"]) for row in rows if row["verdict"] in ("pass", True, 1)}
    except (ValueError, KeyError, TypeError, RecursionError):
        return set()
