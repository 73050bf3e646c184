"""A test in a real browser that fails is tried once more, and says so at the end of the run.

A whole browser beside a whole server on a busy machine fails now and then for reasons of neither.
What fails twice fails. What passes the second time is told with its first failure, for there may be
a race behind it that somebody has to look at; it is never passed over in silence.
"""

from __future__ import annotations

from typing import Any

import pytest
from _pytest.runner import runtestprotocol

PLACE = "page"
"""The directory of the tests that are meant."""
WORDS = 1_500


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test; if it is one in a browser and fails, once more."""
    if item.path.parent.name != PLACE:
        return None
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    failures = [report for report in reports if report.failed]
    if failures:
        item._initrequest()  # type: ignore[attr-defined]  # fixtures anew
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        for report in reports:
            report.user_properties.append((__name__, failures[0].longreprtext[-WORDS:]))
    for report in reports:
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tell what passed at the second try only, and what went wrong at the first."""
    for report in terminalreporter.stats.get("passed", ()):
        first = dict(report.user_properties).get(__name__)
        if report.when == "call" and first is not None:
            terminalreporter.section(f"passed at the second try: {report.nodeid}")
            terminalreporter.line(first)
