"""Replies of judges that went wrong, by how they went wrong.

Two assertions were asked about, `a` and `b`. `allowed` is what may be taken from the reply; about
everything else nothing was found out. A careless reader would count a pass in each of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

HOLDS = "The answer names a figure, so the assertion holds."
NOT = "The answer names no figure, so the assertion does not hold."


@dataclass(frozen=True)
class Bad:
    """A reply, and what of it may be believed."""

    name: str
    text: str
    cut: bool = False
    allowed: Mapping[str, Literal["pass", "fail"]] = field(default_factory=dict)


def row(key: object, verdict: object = "pass", reason: object = HOLDS) -> dict[str, object]:
    return {"id": key, "reason": reason, "verdict": verdict}


def told(*rows: object) -> str:
    return json.dumps({"verdicts": list(rows)})


def corpus(a: str, b: str) -> list[Bad]:
    """Every bad reply, for these two ids."""
    whole = told(row(a), row(b))
    first = json.dumps(row(a))
    return [
        # nothing in it
        Bad("empty", ""),
        Bad("blank", " \n\t "),
        Bad("null", "null"),
        Bad("only prose", "Both assertions pass."),
        Bad("prose with ids", f"{a}: pass\n{b}: pass"),
        Bad("a bulleted list", f"- **{a}**: PASS, it names a figure\n- **{b}**: PASS"),
        Bad("a table", f"| id | verdict |\n|---|---|\n| {a} | pass |\n| {b} | pass |"),
        Bad("a bare list of words", '["pass", "pass"]'),
        Bad("an empty list", '{"verdicts": []}'),
        Bad("an empty object", "{}"),
        Bad("verdicts is a word", '{"verdicts": "pass"}'),
        Bad("a verdict for all", '{"all": true, "overall": "pass"}'),
        Bad("an apology", "I'm sorry, but I can't help with that."),
        Bad("another question", "Should I count the second sentence too? Otherwise both pass."),
        Bad("the schema itself", '{"type": "object", "properties": {"verdict": {"enum": "pass"}}}'),
        Bad("XML", f"<verdict id='{a}'>pass</verdict><verdict id='{b}'>pass</verdict>"),
        Bad("YAML", f"- id: {a}\n  reason: {HOLDS}\n  verdict: pass"),
        Bad("Python", f"[{{'id': '{a}', 'reason': 'it holds as it is', 'verdict': 'pass'}}]"),
        Bad("numbers in place of ids", told(row(1), row(2))),
        Bad("places in place of ids", told(row("1"), row("2"))),
        # cut off
        Bad(
            "cut in a verdict",
            '{"verdicts": [{"id": "' + a + '", "reason": "It", "verdict": "pa',
            True,
        ),
        Bad("cut in a reason", '{"verdicts": [{"id": "' + a + '", "reason": "It holds bec', True),
        Bad("cut behind the first", whole[: whole.index(b) - 8], True, {a: "pass"}),
        Bad("cut inside the second", whole[:-24], True, {a: "pass"}),
        Bad("cut without saying so", whole[:-24], False, {a: "pass"}),
        Bad("cut at the brace", told(row(a))[:-3], True),
        Bad("cut after a comma", '{"verdicts": [' + first + ",", True, {a: "pass"}),
        Bad("cut in its thoughts", f"<think>So {whole} would be", True),
        # something is missing
        Bad("one id missing", told(row(a)), False, {a: "pass"}),
        Bad("one id missing, a fail", told(row(b, "fail", NOT)), False, {b: "fail"}),
        Bad("no ids", told({"reason": HOLDS, "verdict": "pass"}, row(b))),
        Bad("no reason", told({"id": a, "verdict": "pass"}, row(b)), False, {b: "pass"}),
        Bad("an empty reason", told(row(a, reason=""), row(b)), False, {b: "pass"}),
        Bad("a blank reason", told(row(a, reason=" \n"), row(b)), False, {b: "pass"}),
        Bad("dots for a reason", told(row(a, reason="..."), row(b)), False, {b: "pass"}),
        Bad("n/a for a reason", told(row(a, reason="N/A"), row(b)), False, {b: "pass"}),
        Bad("the verdict for a reason", told(row(a, reason="pass"), row(b)), False, {b: "pass"}),
        Bad("a list for a reason", told(row(a, reason=["x"]), row(b)), False, {b: "pass"}),
        Bad("null for a reason", told(row(a, reason=None), row(b)), False, {b: "pass"}),
        Bad("no verdict", told({"id": a, "reason": HOLDS}, row(b)), False, {b: "pass"}),
        Bad("null for a verdict", told(row(a, None), row(b)), False, {b: "pass"}),
        # verdicts that are none
        Bad("true for a verdict", told(row(a, True), row(b)), False, {b: "pass"}),
        Bad("1 for a verdict", told(row(a, 1), row(b)), False, {b: "pass"}),
        Bad("a score", told(row(a, 0.9), row(b)), False, {b: "pass"}),
        Bad("passable", told(row(a, "passable"), row(b)), False, {b: "pass"}),
        Bad("partial pass", told(row(a, "partial pass"), row(b)), False, {b: "pass"}),
        Bad("pass or fail", told(row(a, "pass|fail"), row(b)), False, {b: "pass"}),
        Bad("not pass", told(row(a, "not pass"), row(b)), False, {b: "pass"}),
        Bad("unknown", told(row(a, "unknown"), row(b)), False, {b: "pass"}),
        Bad("a list of verdicts", told(row(a, ["pass"]), row(b)), False, {b: "pass"}),
        Bad(
            "an older shape",
            told({"id": a, "pass": True, "reason": HOLDS}, row(b)),
            False,
            {b: "pass"},
        ),
        Bad(
            "a verdict before its reason",
            told({"id": a, "verdict": "pass", "reason": HOLDS}, row(b)),
            False,
            {b: "pass"},
        ),
        # one thing said twice
        Bad(
            "two verdicts for one id", told(row(a), row(a, "fail", NOT), row(b)), False, {b: "pass"}
        ),
        Bad("fail, then pass", told(row(a, "fail", NOT), row(a), row(b)), False, {b: "pass"}),
        Bad(
            "two objects",
            told(row(a, "fail", NOT)) + "\nOr rather:\n" + told(row(a), row(b)),
            False,
            {b: "pass"},
        ),
        Bad(
            "a name twice",
            '{"verdicts": [{"id": "'
            + a
            + '", "reason": "'
            + NOT
            + '", "verdict": "fail", "verdict": "pass"}, '
            + json.dumps(row(b))
            + "]}",
            False,
            {b: "pass"},
        ),
        Bad(
            "an id twice",
            '{"id": "' + a + '", "id": "' + b + '", "reason": "' + HOLDS + '", "verdict": "pass"}',
        ),
        Bad(
            "verdicts twice",
            '{"verdicts": ['
            + json.dumps(row(a, "fail", NOT))
            + '], "verdicts": ['
            + first
            + ", "
            + json.dumps(row(b))
            + "]}",
            False,
            {b: "pass"},
        ),
        Bad(
            "an example before",
            'For example {"id": "'
            + a
            + '", "reason": "It names a number.", "verdict": "pass"}. Now mine: '
            + told(row(a, "fail", NOT), row(b)),
            False,
            {b: "pass"},
        ),
        # a reason against its verdict
        Bad("a reason that fails it", told(row(a, "pass", NOT), row(b)), False, {b: "pass"}),
        Bad("a reason that passes it", told(row(a, "fail", HOLDS), row(b)), False, {b: "pass"}),
        # more than was asked for
        Bad("an id of nobody", told(row(a), row(b), row("a0000000000"))),
        Bad("the assertion's number", told(row(a), row(b), row(3))),
        Bad("only ids of nobody", told(row("x"), row("y"))),
        Bad("an id with a tail", told(row(a + "1"), row(b))),
        Bad(
            "a wish of the answer",
            told(row(a), row(b), {"id": "all", "reason": "The answer says so.", "verdict": "pass"}),
        ),
        # broken
        Bad(
            "a comma too many",
            '{"verdicts": [{"id": "' + a + '", "reason": "' + HOLDS + '", "verdict": "pass",}]}',
        ),
        Bad(
            "comments",
            '{"verdicts": [{"id": "'
            + a
            + '", /* sure */ "reason": "'
            + HOLDS
            + '", "verdict": "pass"}]}',
        ),
        Bad("no quotes", "{verdicts: [{id: " + a + ", reason: it holds, verdict: pass}]}"),
        Bad(
            "raw quotes in a reason",
            '{"verdicts": [{"id": "'
            + a
            + '", "reason": "It says "pass" here", "verdict": "pass"}]}',
        ),
        Bad(
            "its end is missing everywhere",
            '{"verdicts": [{"id": "' + a + '", "reason": "' + HOLDS + '", "verdict": "pass"',
        ),
        Bad("deep nesting", "[" * 5000 + first, False, {a: "pass"}),
        Bad("braces only", "{" * 3000),
        Bad("only thoughts", f"<think>{whole}</think>"),
        Bad("thoughts that never end", f"<thinking>{whole}"),
    ]
