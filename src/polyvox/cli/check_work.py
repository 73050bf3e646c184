"""The doctor's look at background work, and at the embeddings that are made there."""

from __future__ import annotations

from collections.abc import Iterator

from polyvox.cli import words
from polyvox.cli.checks import Finding
from polyvox.cli.jobs import described, stands
from polyvox.memory import probes
from polyvox.memory.tables import vectors
from polyvox.settings import Settings
from polyvox.store import jobs
from polyvox.store.database import Tx
from polyvox.values import Scope

WHAT = "background work"
MOST = 10
"""So many failures are told one by one."""
LATE = 10 * 60_000_000
"""What has been due for longer than this waits for somebody to do it."""


def background(
    tx: Tx,
    now: int,
    zone: str = "",
    scope: Scope = Scope(),  # noqa: B008 - a frozen value
) -> Iterator[Finding]:
    """How much waits, what failed, and why; times in the person's zone."""
    found = jobs.counts(tx, scope)
    if not any(found.values()):
        yield Finding("ok", WHAT, "nothing waits, nothing failed")
        return
    rows = jobs.list_jobs(tx, scope, limit=10_000)
    waiting = [one for one in rows if one.state == "pending"]
    told = f"{found['pending']} waiting, {found['running']} running, {found['failed']} failed"
    then = ""
    if waiting:
        oldest = min(waiting, key=lambda one: (one.created_at, one.id))
        since = words.when(oldest.created_at, zone)
        told += f"; the oldest wants to {described(oldest)} since {since}"
        if min(one.due_at for one in waiting) < now - LATE:
            then = "Nobody does it: start `polyvox serve` or `polyvox worker`."
    yield Finding("warn" if then or found["failed"] else "ok", WHAT, told, then)
    failing = [one for one in rows if one.failure and one.state in ("failed", "pending")]
    failing.sort(key=lambda one: one.state != "failed")
    for one in failing[:MOST]:
        yield Finding(
            "warn",
            f"{WHAT}, {described(one)}",
            f"{stands(one, zone)}: {one.failure}",
            f"Try it again with `polyvox jobs retry '{one.id}'`.",
        )
    if len(failing) > MOST:
        more = words.count(len(failing) - MOST, "more job")
        yield Finding("warn", WHAT, f"{more} failed", "`polyvox jobs` lists all of them.")


def embeddings(tx: Tx, settings: Settings, scope: Scope = Scope()) -> Iterator[Finding]:  # noqa: B008 - a frozen value
    """Whether recall has its vectors, where a model is set that makes them."""
    model = settings.models.embeddings
    if not model:
        return
    if vectors.space(tx) is None and not vectors.possible(tx):
        error = vectors.no_extension()
        yield Finding("warn", "vectors", error.message, error.hint)
        return
    scale = vectors.scale(tx, scope, model)
    if scale is None:
        yield Finding("ok", "vectors", f"none of {model} yet; they are made in the background")
    elif not probes.useful(scale):
        yield Finding(
            "warn",
            "vectors",
            f"{model} does not tell texts that belong together from others, so recall goes by words"
            " alone",
            "Name an embeddings model as models.embeddings.",
        )
    else:
        number = words.count(vectors.count(tx, scope, model), "vector")
        yield Finding("ok", "vectors", f"{number} of {model}, {scale.size} numbers each")
