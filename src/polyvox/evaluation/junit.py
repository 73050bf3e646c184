"""A run as a JUnit file, the way that build servers read test results. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from polyvox.evaluation.tables.verdicts import Outcome

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class JUnitCase:
    """One assertion as a test."""

    suite: str
    """The advisor's name."""
    name: str
    outcome: Outcome
    summary: str
    """Passes of repeats, in words."""
    reasons: tuple[str, ...] = ()


def junit(name: str, cases: Sequence[JUnitCase], seconds: float, at: str) -> str:
    """The file: a suite for each advisor, a test for each assertion. `at` is the time in ISO."""
    counts = _counts(cases)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites{_attributes(name=name, **counts, time=f'{seconds:.3f}')}>",
    ]
    for suite in dict.fromkeys(case.suite for case in cases):
        some = [case for case in cases if case.suite == suite]
        lines.append(f"  <testsuite{_attributes(name=suite, **_counts(some), timestamp=at)}>")
        for case in some:
            lines += _case(case)
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _counts(cases: Sequence[JUnitCase]) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    return {
        "tests": str(len(cases)),
        "failures": str(outcomes.count("fail")),
        "errors": str(outcomes.count("error")),
        "skipped": "0",
    }


def _case(case: JUnitCase) -> list[str]:
    head = f"    <testcase{_attributes(classname=case.suite, name=case.name, time='0')}"
    if case.outcome == "pass":
        return [head + "/>"]
    tag = "failure" if case.outcome == "fail" else "error"
    text = _text("\n".join(case.reasons))
    return [
        head + ">",
        f"      <{tag}{_attributes(message=case.summary, type=tag)}>{text}</{tag}>",
        "    </testcase>",
    ]


def _attributes(**values: str) -> str:
    return "".join(f' {name}="{_attribute(value)}"' for name, value in values.items())


def _attribute(value: str) -> str:
    return _text(" ".join(value.split()))


def _text(value: str) -> str:
    return html.escape(_ILLEGAL.sub("\ufffd", value), quote=True)
