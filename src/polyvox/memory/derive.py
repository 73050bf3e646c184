"""The background work of memory: episodes first, then what follows from them, each a durable job.

    ingest → extract → summarise, daily
           ↘ embed ↙

Each job can die anywhere and be taken up again: what it has done is stored together with the mark
that it was done. A message that was forgotten while a model was reading it leaves nothing behind.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from itertools import islice

from polyvox.errors import Conflict, NotFound
from polyvox.memory import consent, daily, extract, facts, summaries
from polyvox.memory.asking import Asker, prompt
from polyvox.memory.extract import Batch, Extracted, Said
from polyvox.memory.loops import listed
from polyvox.memory.recall import Reader, recall
from polyvox.memory.remote import RemoteMemory
from polyvox.memory.tables import companions, derived, episodes
from polyvox.memory.tables import statements as rows
from polyvox.memory.tables.remembered import (
    EPISODE,
    SESSION_BITS,
    Stored,
    View,
    in_views,
    stored_of,
)
from polyvox.memory.tables.statements import Statement
from polyvox.memory.times import at
from polyvox.memory.transcript import Ingested, Unfinished, ingest, ingest_session, transcript_for
from polyvox.memory.values import Message, Partition
from polyvox.memory.view import view
from polyvox.store import jobs, sessions
from polyvox.store.database import Database, Tx
from polyvox.store.jobs import Job
from polyvox.store.sessions import INGEST
from polyvox.values import Scope
from polyvox.work.worker import Handler, Hopeless

EXTRACT, SUMMARISE, DAILY, EMBED = "extract", "summarise", "daily", "embed"
JUDGE = "judge"
REFUSALS = ("400", "409", "413", "422")
"""What a memory service answers when sending the same again would not help."""
BEFORE = 8
"""So many messages before the first are read with it: the answers that it may reply to."""
READ = 2 * extract.BATCH_MESSAGES
"""So many messages of a session are read at a time, answers included."""
MOST_A_DAY = 5_000
"""So many messages of one day are looked at."""
NEAREST = 3
"""Known facts nearest to each message that are shown to the extractor, beside every live loop, the
whole profile and the newest facts: what is replaced seldom shares a word with what replaces it."""
NEWEST = 60
MOST_KNOWN = 150


class Untaken(Conflict):
    """A memory service elsewhere did not take a session."""


def subject_of(partition: Partition, what: str) -> str:
    """What a job is about: a session or a day of a partition."""
    return json.dumps([partition.tenant, partition.user, what], ensure_ascii=False)


def parse(subject: str) -> tuple[Partition, str]:
    """The partition and the session or day that a job is about."""
    tenant, user, what = json.loads(subject)
    return Partition(tenant, user), what


def said_in(
    tx: Tx, partition: Partition, session_id: str, first: int = 0, before: int | None = None
) -> list[Said]:
    """What the person said in a session, from one index on and before another; what they excluded
    is left out."""
    numbers = episodes.session_numbers(tx, partition, (session_id,))
    views = [View(one << SESSION_BITS, ((one + 1) << SESSION_BITS) - 1) for one in numbers]
    only, params = "AND e.message_index >= ?", [first - BEFORE]
    if before is not None:
        only, params = f"{only} AND e.message_index < ?", [*params, before]
    rows = in_views(tx, partition, views, EPISODE, only, params)
    return [one for one in _said(map(stored_of, rows)) if one.episode.index >= first]


def next_batch(tx: Tx, partition: Partition, session_id: str) -> Batch | None:
    """What is to be worked through next of a session; no more of it is read than it takes."""
    known = episodes.find_transcript(tx, partition, session_id)
    if known is None:
        return None
    first = derived.extracted(tx, partition, session_id)
    said: list[Said] = []
    batch = None
    for start in range(first, known.messages, READ):
        end = min(start + READ, known.messages)
        said += said_in(tx, partition, session_id, start, end)
        batch = extract.next_batch(said, first, end)
        if batch is not None and batch.last < end - 1:
            break  # it is full
    return batch


def said_on(tx: Tx, partition: Partition, day: date, zone: tzinfo | None) -> list[Said]:
    """What the person said on a day."""
    first, after = daily.bounds(day, zone)
    return _said(episodes.said_between(tx, partition, first, after, MOST_A_DAY))


def _said(stored: Iterable[Stored]) -> list[Said]:
    """The person's messages, each with the answers right before it."""
    found: list[Said] = []
    answers: list[str] = []
    session = ""
    for one in sorted(stored, key=lambda one: one.doc):
        if one.episode.session_id != session:
            session, answers = one.episode.session_id, []
        if one.episode.excluded:
            continue
        if one.episode.role != "user":
            answers.append(one.episode.text)
        else:
            found.append(Said(one.episode, one.at, one.cloud, tuple(answers)))
            answers = []
    return found


def readable(tx: Tx, partition: Partition, said: Sequence[Said], *, away: bool) -> list[Said]:
    """The messages that a model may read in the background, less the hard ones: nothing is noted,
    summed up or analysed from those. `away`: the model is online."""
    hard = derived.hard(tx, partition, {one.episode.session_id for one in said})
    own = partition == Partition.own(tx.scope)
    local = set(consent.kept_local(tx)) if away and own else set()
    return [
        replace(one, cloud=one.cloud and one.episode.session_id not in local)
        for one in said
        if (one.episode.session_id, one.episode.index) not in hard
    ]


def _words(said: Sequence[Said]) -> list[tuple[int, str]]:
    return [(one.episode.index, one.episode.text) for one in said]


def known_near(
    tx: Tx, partition: Partition, said: Sequence[Said], now: int, *, cloud: bool
) -> list[Statement]:
    """The statements that the extractor is shown: live loops, the profile, the newest facts and
    those nearest to each message; for a cloud model less what must not go there."""
    found: dict[str, Statement] = {}
    for loop in listed(tx, partition, now):
        found[loop.last.id] = loop.last
    who = rows.every(tx, partition, ["profile", "instruction"])
    held = view(who, rows.links(tx, partition, ["profile", "instruction"]))
    out = episodes.kept_out(tx, partition)
    known = (one.statement for one in held.values() if one.current)
    found |= {one.id: one for one in known if one.place not in out}
    newest = islice(facts.newest(tx, partition, now), NEWEST)
    found |= {one.statement.id: one.statement for one in newest}
    near = [
        item.id
        for one in said
        for item in recall(
            tx,
            partition,
            one.episode.text,
            reference_time=now,
            limit=NEAREST,
            reader=Reader(everything=True, roles=frozenset({"claim"})),
            sources={facts.KIND: facts.tell},
        )
    ]
    found |= {one.id: one for one in rows.by_ids(tx, partition, dict.fromkeys(near))}
    local = set(consent.kept_local(tx)) if cloud else set()
    return [
        one for one in found.values() if not cloud or (one.cloud and one.session_id not in local)
    ][:MOST_KNOWN]


def take_in(
    tx: Tx,
    partition: Partition,
    session_id: str,
    persona_id: str | None,
    started_at: int,
    ended_at: int,
    messages: Sequence[Message],
    now: int,
    *,
    cloud: bool = True,
    embed: bool = False,
) -> Ingested:
    """Make a session findable, and want what follows from it done; `embed`: vectors too."""
    companions.drops_held(tx)
    status = ingest(
        tx, partition, session_id, persona_id, started_at, ended_at, messages, cloud=cloud
    )
    if status == "ingested":
        _follow(tx, partition, session_id, now, embed=embed)
    return status


def _follow(tx: Tx, partition: Partition, session_id: str, now: int, *, embed: bool) -> None:
    """Want done what follows when something new was said in a session."""
    jobs.enqueue_again(tx, EXTRACT, subject_of(partition, session_id), now)
    if embed:
        want_vectors(tx, partition, now)


def _is_over(tx: Tx, session_id: str) -> bool:
    """Whether nothing more will be said in a session; one that is none of ours is over."""
    try:
        return sessions.get(tx, session_id).ended_at is not None
    except NotFound:
        return True


def want_judged(tx: Tx, session_id: str, now: int) -> None:
    """Want a session remembered as far as it has come."""
    jobs.enqueue_again(tx, JUDGE, session_id, now)


def want_vectors(tx: Tx, partition: Partition, now: int) -> None:
    """Want a vector for everything in a partition that has none."""
    jobs.enqueue_again(tx, EMBED, subject_of(partition, ""), now)


def want_day(tx: Tx, partition: Partition, day: date, zone: tzinfo | None, now: int) -> None:
    """Want a day analysed when it is over, or again if it was."""
    subject = subject_of(partition, day.isoformat())
    due = max(now, daily.bounds(day, zone)[1])
    if jobs.enqueue(tx, DAILY, subject, now, due_at=due):
        return
    # One that runs may have read the day already; one that waits has not.
    if jobs.get(tx, f"{DAILY}:{subject}").state != "pending":
        jobs.enqueue_again(tx, DAILY, subject, now)


@dataclass(frozen=True, slots=True)
class Deriving:
    """Does the jobs."""

    database: Database
    asker: Asker
    zone: Callable[[], tzinfo | None]
    embeds: Callable[[], bool] = lambda: False
    """Whether there is a model that makes vectors."""
    remote: Callable[[], RemoteMemory | None] = lambda: None
    """The memory service elsewhere that is used in place of this one."""

    @property
    def handlers(self) -> dict[str, Handler]:
        """By kind of job."""
        return {
            INGEST: self.ingest,
            JUDGE: self.judge,
            EXTRACT: self.extract,
            SUMMARISE: self.summarise,
            DAILY: self.daily,
        }

    async def ingest(self, job: Job) -> None:
        """A session of a conversation becomes episodes."""
        scope, session_id = job.scope, job.subject
        now, embed = self.asker.clock(), self.embeds()

        def write(tx: Tx) -> None:
            companions.drops_held(tx)
            own = Partition.own(scope)
            status = ingest_session(tx, session_id, self._leaves)
            # What was judged turn by turn has been ingested already, and has no summary yet.
            judged = status == "duplicate" and _is_over(tx, session_id)
            summed = derived.find_summary(tx, own, "session", session_id) is not None
            if status == "ingested" or (judged and not summed):
                _follow(tx, own, session_id, now, embed=embed)

        try:
            if (remote := self.remote()) is not None:
                await self._send(remote, scope, session_id)
            else:
                await self.database.write(write, scope)
        except NotFound:
            return  # its conversation was deleted meanwhile: there is nothing to remember

    @property
    def _away(self) -> bool:
        """True if the model that memory works with is online."""
        return self.asker.model is not None and self.asker.is_cloud(self.asker.model)

    def _leaves(self, model: str) -> bool:
        """True if what a model is told may be read online: it is already, or the person agreed."""
        agreed = self.asker.settings().memory.share == "always"
        return agreed or self.asker.is_cloud(model)

    async def open_sessions(self, scope: Scope) -> int:
        """Let online models read the sessions that were held on this machine; return how many."""
        own, now = Partition.own(scope), self.asker.clock()

        def write(tx: Tx) -> int:
            opened = consent.agree(tx)
            for session_id in opened:
                _follow(tx, own, session_id, now, embed=self.embeds())
            return len(opened)

        return await self.database.write(write, scope)

    async def judge(self, job: Job) -> None:
        """A session that still goes on is remembered as far as it has come. Whatever this leaves,
        another turn or the session's end takes up: a message is known by where it came from."""
        with suppress(Unfinished):
            await self.ingest(job)

    async def _send(self, remote: RemoteMemory, scope: Scope, session_id: str) -> None:
        """Have a session remembered elsewhere. It is known there by its id, so sending it again
        after an answer that never came changes nothing."""
        told = await self.database.write(
            lambda tx: transcript_for(tx, session_id, remote.url), scope
        )
        session = told.session
        if not told.messages:
            return
        got = await remote.ingest(
            Partition.own(scope),
            session.id,
            told.persona_id,
            session.started_at,
            session.last_user_at if session.ended_at is None else session.ended_at,
            told.messages,
        )
        if got.degrade is not None:
            refused = got.degrade.reason == "status" and got.degrade.detail in REFUSALS
            raise (Hopeless if refused else Untaken)(
                f"The memory service did not take the session: {got.degrade}.",
                "Check memory.url and memory.token, and what that service says; then retry.",
            )

    async def extract(self, job: Job) -> None:
        """A session is worked through, batch by batch; the marks of done batches are the steps.
        Without a capable model nothing is guessed: what was said stays findable."""
        scope = job.scope
        partition, session_id = parse(job.subject)

        def next_(tx: Tx) -> Batch | None:
            return next_batch(tx, partition, session_id)

        if self.asker.model is not None:
            while (batch := await self.database.read(next_, scope)) is not None:
                if not await self._work_through(scope, partition, session_id, batch):
                    break
        now, zone, embed = self.asker.clock(), self.zone(), self.embeds()

        def follow(tx: Tx) -> None:
            if embed:
                want_vectors(tx, partition, now)
            said = said_in(tx, partition, session_id)
            own = partition == Partition.own(tx.scope)
            if said and not (own and not _is_over(tx, session_id)):
                jobs.enqueue_again(tx, SUMMARISE, subject_of(partition, session_id), now)
            for day in sorted({at(one.at, zone).date() for one in said}):
                want_day(tx, partition, day, zone, now)

        await self.database.write(follow, scope)

    async def _work_through(
        self, scope: Scope, partition: Partition, session_id: str, batch: Batch
    ) -> bool:
        """Note what a batch says; False where the model may not read it."""
        model = self.asker.model or ""
        said = await self.database.read(
            lambda tx: readable(tx, partition, batch.said, away=self._away), scope
        )
        if self._away and said and not any(one.cloud for one in said):
            return False
        found = await self._extracted(scope, partition, model, said)
        now = self.asker.clock()

        def write(tx: Tx) -> None:
            companions.drops_held(tx)
            known = episodes.find_transcript(tx, partition, session_id)
            if known is None:
                return
            # Forgotten, excluded or included meanwhile: a note on one message may tell the words
            # of another, so all of them are read anew.
            there = said_in(tx, partition, session_id, batch.first, batch.last + 1)
            if _words(there) != _words(batch.said) or not derived.keep_extraction(
                tx, partition, session_id, batch.first, batch.last, model, now
            ):
                return
            derived.keep_hard(tx, partition, session_id, found.hard)
            facts.add(tx, partition, found.statements, found.links, now)

        await self.database.write(write, scope)
        return True

    async def _extracted(
        self, scope: Scope, partition: Partition, model: str, said: Sequence[Said]
    ) -> Extracted:
        away, zone, now = self.asker.is_cloud(model), self.zone(), self.asker.clock()

        def read(tx: Tx) -> tuple[list[Said], list[Statement]]:
            shown = [one for one in said if one.cloud or not away]
            return shown, known_near(tx, partition, shown, now, cloud=away)

        shown, known = await self.database.read(read, scope)
        if not shown:
            return Extracted()
        request = extract.as_request(shown, known, zone)
        data = await self.asker.ask(
            scope, model, prompt("extract"), request, "facts", extract.LISTS
        )
        return extract.verified(data, shown, known, zone)

    async def summarise(self, job: Job) -> None:
        """A session gets its summary, in place of the one before."""
        scope = job.scope
        partition, session_id = parse(job.subject)
        said = await self.database.read(
            lambda tx: readable(tx, partition, said_in(tx, partition, session_id), away=self._away),
            scope,
        )
        if not said:
            await self.database.write(
                lambda tx: derived.drop_summaries(tx, partition, "session", (session_id,)), scope
            )
            return
        made = await summaries.summarise(self.asker, scope, session_id, said, self.zone())

        def write(tx: Tx) -> None:
            companions.drops_held(tx)
            left = {one.episode.id for one in said_in(tx, partition, session_id)}
            _still(left.issuperset(made.covers))
            derived.put_summary(tx, partition, made)

        await self.database.write(write, scope)

    async def daily(self, job: Job) -> None:
        """A day gets its analysis, in place of the one before."""
        scope, zone = job.scope, self.zone()
        partition, name = parse(job.subject)
        day = date.fromisoformat(name)
        said = await self.database.read(
            lambda tx: readable(tx, partition, said_on(tx, partition, day, zone), away=self._away),
            scope,
        )
        if not said:
            await self.database.write(lambda tx: derived.drop_daily(tx, partition, (name,)), scope)
            return
        made = await daily.analyse(self.asker, scope, day, said, zone)

        def write(tx: Tx) -> None:
            companions.drops_held(tx)
            left = {one.episode.id for one in said_on(tx, partition, day, zone)}
            _still(left.issuperset(one.episode.id for one in said))
            derived.put_daily(tx, partition, made)

        await self.database.write(write, scope)


def _still(true: bool) -> None:
    if not true:
        raise Conflict(
            "What was being read was forgotten or excluded meanwhile.", "It is read again."
        )


def work_again(tx: Tx, partition: Partition, session_id: str, index: int, now: int) -> None:
    """Want a message worked through once more, if it was."""
    if derived.take_back_extraction(tx, partition, session_id, index):
        jobs.enqueue_again(tx, EXTRACT, subject_of(partition, session_id), now)
