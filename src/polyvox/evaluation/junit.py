"""A run as a JUnit file, the way that build servers read test results. Pure."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from datetime import UTC, datetime

from polyvox.evaluation.report import EvaluationOut, ResultOut

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(run: EvaluationOut) -> str:
    """The file: a suite for each advisor, a test for each assertion."""
    rows = run.results or []
    started = run.started_at or run.created_at
    seconds = ((run.ended_at or started) - started) / 1e6
    at = datetime.fromtimestamp(started // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    time = f"{seconds:.3f}"
    root = ET.Element("testsuites", {"name": "polyvox eval", **_counts(rows), "time": time})
    for name in dict.fromkeys(row.advisor_name or "polyvox" for row in rows):
        some = [row for row in rows if (row.advisor_name or "polyvox") == name]
        line = _line(name)
        counted = {"name": line, **_counts(some), "timestamp": at}
        suite = ET.SubElement(root, "testsuite", counted)
        for row in some:
            case = ET.SubElement(suite, "testcase", classname=line, name=_line(row.text), time="0")
            if row.outcome != "pass":
                tag = "failure" if row.outcome == "fail" else "error"
                passed = f"{row.passes} of {row.passes + row.fails} passed, {row.errors} errors"
                reasons = "\n".join(run.reasons(row.assertion_id))
                ET.SubElement(case, tag, message=passed, type=tag).text = _legal(reasons)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _counts(rows: Sequence[ResultOut]) -> dict[str, str]:
    outcomes = [row.outcome for row in rows]
    return {
        "tests": str(len(rows)),
        "failures": str(outcomes.count("fail")),
        "errors": str(outcomes.count("error")),
        "skipped": "0",
    }


def _line(text: str) -> str:
    return _legal(" ".join(text.split()))


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
