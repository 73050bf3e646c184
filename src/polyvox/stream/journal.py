"""The journal: what models say, stored by group commit before anybody sees it.

Pieces are merged per answer and committed together, one row per commit and answer. The first words
of an answer go at once, then there is at most one commit per 50 ms and conversation. What a commit
stored is published; what it could not store (a full disk, a locked database) is kept and tried
again, so nothing is shown that is not stored, and nothing that was received is dropped.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from polyvox.errors import NotFound, PolyvoxError, StoreError
from polyvox.events import Delta, Event, Numbered, TextDelta, ThinkingDelta
from polyvox.ids import Clock
from polyvox.store import events, turns
from polyvox.store.database import Database, Tx
from polyvox.stream.hub import Hub
from polyvox.values import Scope

log = logging.getLogger("polyvox.stream")

INTERVAL = 0.06
"""Seconds between two commits of a conversation while its advisors speak."""
MOST = 20
"""Commits of a conversation in any second. What the pace leaves is for first and last words."""
GATHER = 0.003
"""Seconds that first words wait for each other: advisors tend to begin together."""
ROOM = 2_000_000
"""Characters of a conversation that may wait for the disk before its models are slowed down."""

T = TypeVar("T")
Act = Callable[[Tx], tuple[T, Sequence[Event]]]
"""Work for the same commit: returns what it made and the events to append."""


class Committed(NamedTuple, Generic[T]):
    """A stored act: the value it returned and its events with their numbers."""

    value: T
    events: Sequence[Numbered]


@dataclass(slots=True)
class _Voice:
    """The part of one answer that has come and is not committed yet."""

    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    text_at: int = 0
    thinking_at: int = 0
    stored: bool = False


@dataclass(slots=True, eq=False)
class _Deed:
    """Work that somebody waits for."""

    act: Act[Any]
    done: asyncio.Future[Committed[Any]]
    answer_id: str | None
    now: bool
    """Somebody waits for an answer: when the store cannot take it, they are told at once."""
    value: Any = None
    """What the act returned last: a commit that seemed to fail may have been stored."""

    def fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)


@dataclass(slots=True)
class _Commit:
    """One commit, about to be stored."""

    deltas: list[Delta]
    fresh: set[str]
    deeds: list[_Deed]
    current: _Deed | None = None
    """The deed that is being done: to blame when the transaction breaks."""
    again: bool = False
    """It was tried before. A connection that broke while it was answered may have stored it."""
    known: bool = False
    """It turned out to be stored already."""


class _Page:
    """The journal of one conversation."""

    def __init__(self, journal: Journal, scope: Scope, conversation: str) -> None:
        self._journal = journal
        self._scope = scope
        self._conversation = conversation
        self._voices: dict[str, _Voice] = {}
        self._deeds: list[_Deed] = []
        self._unstored: _Commit | None = None
        self._waiting = 0
        self._hurry = math.inf
        self._forced = False
        self._times: deque[float] = deque(maxlen=MOST)
        self._last = float("-inf")
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._task: asyncio.Task[None] | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._loop = asyncio.get_running_loop()

    @property
    def idle(self) -> bool:
        return not (self._voices or self._deeds or self._task or self._timer or self._unstored)

    @property
    def room(self) -> asyncio.Event:
        return self._room

    def add(self, answer_id: str, text: str, thinking: str) -> None:
        voice = self._voices.get(answer_id)
        first = voice is None
        if voice is None:
            voice = self._voices[answer_id] = _Voice()
        if text:
            voice.text.append(text)
        if thinking:
            voice.thinking.append(thinking)
        self._waiting += len(text) + len(thinking)
        if self._waiting > ROOM:
            self._room.clear()
        if first:
            self._schedule(GATHER)
        elif self._timer is None:
            self._schedule()

    def do(
        self, act: Act[T], answer_id: str | None, *, now: bool = False
    ) -> asyncio.Future[Committed[T]]:
        done: asyncio.Future[Committed[T]] = self._loop.create_future()
        self._deeds.append(_Deed(act, done, answer_id, now))
        if now:
            self._schedule(0, forced=True)
        elif answer_id is not None and self._all_said():
            self._schedule(0)
        else:
            self._schedule()
        return done

    def _all_said(self) -> bool:
        """True if every answer that has begun is ending: these are the last words."""
        ending = {deed.answer_id for deed in self._deeds}
        return ending.issuperset(self._voices)

    def _schedule(self, within: float | None = None, *, forced: bool = False) -> None:
        """Plan the next commit: at the pace, or `within` some seconds where there is room for one
        more; what somebody waits for is forced."""
        if self._task is not None:
            self._hurry = self._hurry if within is None else min(within, self._hurry)
            self._forced = self._forced or forced
            return
        now = self._loop.time()
        due = self._last + INTERVAL
        if within is not None and now + within < due and (forced or self._has_room(now + within)):
            due = now + within
        if len(self._times) == MOST and not forced:
            due = max(due, self._times[0] + 1.001)
        if self._timer is not None:
            if due >= self._due:
                return
            self._timer.cancel()
        self._due = max(due, now)
        self._timer = self._loop.call_at(self._due, self._start)

    def _has_room(self, at: float) -> bool:
        """True if a commit more at that time leaves room for those at the pace."""
        second = [time for time in self._times if time >= at - 1]
        ends = second[0] + 1 if second else at
        return len(second) + 1 + math.ceil((ends - at) / INTERVAL) <= MOST

    def _start(self) -> None:
        self._timer = None
        self._hurry, self._forced = math.inf, False
        self._last = self._loop.time()
        self._times.append(self._last)
        self._task = self._loop.create_task(self._commit())

    def _gather(self) -> _Commit:
        deltas: list[Delta] = []
        fresh: set[str] = set()
        for answer_id, voice in self._voices.items():
            if not voice.stored and (voice.text or voice.thinking):
                fresh.add(answer_id)
                voice.stored = True
            if voice.thinking:
                thought = "".join(voice.thinking)
                deltas.append(ThinkingDelta(answer_id, thought, voice.thinking_at))
                voice.thinking_at += len(thought)
                voice.thinking.clear()
            if voice.text:
                text = "".join(voice.text)
                deltas.append(TextDelta(answer_id, text, voice.text_at))
                voice.text_at += len(text)
                voice.text.clear()
        deeds, self._deeds = self._deeds, []
        self._waiting = 0
        return _Commit(deltas, fresh, deeds)

    async def _commit(self) -> None:
        """One commit; what the store cannot take is kept and tried again."""
        commit = self._unstored or self._gather()
        self._unstored = None
        try:
            stored = await self._stored(commit)
        except StoreError as error:
            self._task = None
            self._keep(commit, error)
            return
        except Exception as error:
            if not isinstance(error, NotFound):  # else the conversation was deleted meanwhile
                log.exception("journal: given up")
            self._task = None
            self._give_up(commit, error)
            if isinstance(error, NotFound):
                self._journal.gone(self._conversation)
            return
        self._journal.trouble = ""
        self._task = None
        self._room.set()
        batches = [batch for batch in stored if not isinstance(batch, PolyvoxError)]
        self._journal.hub.publish(self._conversation, [i for batch in batches for i in batch])
        if commit.known:
            self._journal.hub.refresh(self._conversation)
        for deed, batch in zip(commit.deeds, stored[1:], strict=True):
            if deed.answer_id is not None:
                self._voices.pop(deed.answer_id, None)
            if isinstance(batch, PolyvoxError):
                deed.fail(batch)
            elif not deed.done.done():
                deed.done.set_result(Committed(deed.value, batch))
        if self._deeds or any(voice.text or voice.thinking for voice in self._voices.values()):
            self._schedule(self._hurry if self._hurry < math.inf else None, forced=self._forced)

    async def _stored(self, commit: _Commit) -> list[list[Numbered] | PolyvoxError]:
        """The commit as it was stored, without deeds that turned out to be broken."""
        while True:
            try:
                return await self._journal.database.write(
                    lambda tx: self._write(tx, commit), self._scope
                )
            except StoreError:
                raise
            except Exception as error:
                broken = commit.current
                if broken is None:
                    raise
                log.exception("journal: left out of the commit")
                commit.deeds.remove(broken)
                broken.fail(error)

    def _keep(self, commit: _Commit, error: StoreError) -> None:
        """Try again later; but tell those who wait for an answer now."""
        log.warning("journal: not stored, will try again: %s", error.message)
        self._journal.trouble = error.message
        commit.again = True
        commit.deeds[:] = self._kept(commit.deeds, error)
        self._deeds = self._kept(self._deeds, error)
        if commit.deltas or commit.deeds:
            self._unstored = commit
        if self._unstored or self._deeds:
            self._due = self._loop.time() + self._journal.patience
            self._timer = self._loop.call_at(self._due, self._start)

    def _kept(self, deeds: Sequence[_Deed], error: StoreError) -> list[_Deed]:
        patient = [deed for deed in deeds if self._journal.patient and not deed.now]
        for deed in deeds:
            if deed not in patient:
                deed.fail(error)
        return patient

    async def close(self) -> None:
        """Commit what waits, now, once."""
        while self._timer is not None or self._task is not None:
            if self._timer is not None:
                self._timer.cancel()
                self._start()
            if self._task is not None:
                await asyncio.wait([self._task])
            if self._unstored is not None and self._timer is not None:
                self._timer.cancel()
                self._give_up(self._unstored, StoreError(self._journal.trouble))
                return

    def _give_up(self, commit: _Commit, error: Exception) -> None:
        self._voices.clear()
        self._unstored = None
        self._room.set()
        for deed in (*commit.deeds, *self._deeds):
            deed.fail(error)
        self._deeds.clear()

    def _write(self, tx: Tx, commit: _Commit) -> list[list[Numbered] | PolyvoxError]:
        """In the transaction: the deltas, then each deed with the events it answers. A deed that
        refuses does so before it writes, and only for itself."""
        now, commit.current = self._journal.clock(), None
        if commit.again and commit.deltas:
            commit.known = events.holds(tx, commit.deltas[0])
        if commit.known:
            return [[] for _ in range(1 + len(commit.deeds))]
        first = events.append(tx, self._conversation, commit.deltas, now)
        for item in first:
            if isinstance(item.event, TextDelta | ThinkingDelta):
                answer_id = item.event.answer_id
                if answer_id in commit.fresh:
                    turns.set_streaming(tx, answer_id, item.number, now)
        stored: list[list[Numbered] | PolyvoxError] = [first]
        for deed in commit.deeds:
            commit.current = deed
            try:
                deed.value, happened = deed.act(tx)
            except StoreError:
                raise
            except PolyvoxError as refusal:
                stored.append(refusal)
            else:
                stored.append(events.append(tx, self._conversation, happened, now))
        commit.current = None
        return stored


class Journal:
    """The journals of every conversation that is being written to."""

    patience = 1.0
    """Seconds before a commit that failed is tried again."""
    patient = True
    """Whether to keep trying at all: a program that ends does not wait for a disk."""

    def __init__(self, database: Database, hub: Hub, clock: Clock) -> None:
        self.database = database
        self.hub = hub
        self.clock = clock
        self.trouble = ""
        """Why the last commit was not stored; empty when it was."""
        self.gone: Callable[[str], None] = lambda _: None
        """Called when a conversation that is written to turns out to be deleted."""
        self._pages: dict[str, _Page] = {}

    def _page(self, scope: Scope, conversation: str) -> _Page:
        page = self._pages.get(conversation)
        if page is None:
            if len(self._pages) > 64:
                self._pages = {k: p for k, p in self._pages.items() if not p.idle}
            page = self._pages[conversation] = _Page(self, scope, conversation)
        return page

    def add(
        self, scope: Scope, conversation: str, answer_id: str, text: str, thinking: str = ""
    ) -> asyncio.Event | None:
        """Take a piece of an answer. Where the disk is behind, answers what to wait for."""
        page = self._page(scope, conversation)
        page.add(answer_id, text, thinking)
        return None if page.room.is_set() else page.room

    async def do(
        self,
        scope: Scope,
        conversation: str,
        act: Act[T],
        *,
        ends: str | None = None,
        now: bool = False,
    ) -> Committed[T]:
        """Run work in the next commit, behind what came before it; returns once that is stored.
        `ends` names the answer that is over with it; `now` does not wait for the pace."""
        return await self._page(scope, conversation).do(act, ends, now=now)

    def soon(self, scope: Scope, conversation: str, act: Act[None]) -> None:
        """Run work in the next commit without waiting for it."""
        done = self._page(scope, conversation).do(act, None)
        done.add_done_callback(_heard)

    async def close(self) -> None:
        """Store what has come. What a broken store does not take now is given up: it was never
        shown to anybody."""
        for page in list(self._pages.values()):
            await page.close()


def _heard(done: asyncio.Future[Committed[Any]]) -> None:
    error = done.exception()
    if error is not None:
        log.warning("journal: %s", error)
