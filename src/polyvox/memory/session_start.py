"""What a session starts with: read from the store, told as a startbrief or, more plainly, a brief.

`Known` is all that either may draw on; whoever reads it (`read`) or makes it up in a test gets the
same brief. Sessions are those that were ingested and, in the person's own memory, those of the
account too. The session that begins is none of them. Only the person's own words are told again,
quoted, and nothing of a turn in which they were in danger.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta, tzinfo
from itertools import islice
from typing import NamedTuple

from polyvox.context.words import plain
from polyvox.errors import CapReached, Conflict, ModelError, NotFound, StoreError
from polyvox.memory import facts, loops, profile
from polyvox.memory.handover import (
    Handover,
    Sources,
    Thread,
    ended,
    quote,
    write,
)
from polyvox.memory.packets import (
    Brief,
    BriefEvidence,
    BriefItem,
    Daily,
    OpsContext,
    Resume,
    StartBrief,
)
from polyvox.memory.profile import Profile
from polyvox.memory.tables import companions, derived, episodes, remembered
from polyvox.memory.times import CONTINUATION, MINUTE, Moment, Past, at, moment_of
from polyvox.memory.transcript import transcript_of
from polyvox.memory.values import Message, Partition
from polyvox.models.base import Model
from polyvox.resources import Resources
from polyvox.store import sessions, usage
from polyvox.store.database import Tx
from polyvox.store.usage import check_caps
from polyvox.values import REDACTED, Scope

ITEMS = 5
THREADS = 6
TOP = 3
"""Loops, hints, themes of the ops context, each."""
UNSURE = ("needs_review", "insufficient_data")
DUE = timedelta(days=2)
"""A loop that was due longer ago is no longer one of today."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the person's."""

    id: str
    session_id: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class OpenLoop:
    """A loop, in the person's words or close to them."""

    id: str
    text: str
    type: str | None = None
    horizon: str | None = None
    due: date | None = None
    salience: float | None = None
    seen_at: int | None = None
    quote: str = ""
    """The sentence that opened it."""
    places: tuple[str, ...] = ()
    """The ids of the messages that speak of it."""
    pinned: bool = False
    status: str = "open"

    @property
    def fresh(self) -> bool:
        """True if it is open and needs no review."""
        return self.pinned or self.status == "open"


@dataclass(frozen=True, slots=True)
class Known:
    """All that a brief may draw on. Loops come by priority, those that need review last; what was
    said comes oldest first."""

    now: int
    zone: tzinfo | None = None
    sessions: tuple[Past, ...] = ()
    said: tuple[Said, ...] = ()
    loops: tuple[OpenLoop, ...] = ()
    closed: tuple[OpenLoop, ...] = ()
    """Loops that are done or dropped: whoever writes a handover must not call them open."""
    facts: tuple[str, ...] = ()
    focus: str | None = None
    hints: tuple[str, ...] = ()
    """Lines of the profile."""
    summaries: tuple[str, ...] = ()
    """Of the last sessions, the newest first."""
    yesterday: Daily | None = None
    continues: Past | None = None
    """The last session of the same conversation, if it ended just now."""
    reply: str = ""
    """The answer to its last message."""
    hard: bool = False
    """The person was in danger or acute distress in the last session."""

    @property
    def moment(self) -> Moment:
        """When it is."""
        return moment_of(self.now, self.zone, self.sessions, self.continues)

    @property
    def last(self) -> Past | None:
        """The session before this one."""
        before = [one for one in self.sessions if one.started_at <= self.now and not one.running]
        newest = max(before, key=lambda one: (one.ended_at, one.session_id), default=None)
        return self.continues or newest


async def startbrief(
    known: Known, model: Model | None = None, seconds: float | None = None
) -> tuple[StartBrief, Handover]:
    """The brief, and how its handover came about."""
    moment = known.moment
    handover = await write(sources_of(known), model, seconds)
    listed = known.loops[:ITEMS]
    bridge = bridge_of(known, handover.text)
    ids = {one.id for one in handover.cited} | ({bridge.id} if bridge else set())
    cited = [one for one in known.said if one.id in ids]
    brief = StartBrief(
        handover_text=handover.text,
        handover_depth=moment.depth,
        time_context=moment.context(),
        resume=_resume(known, bridge),
        items=tuple(_item(one, known.zone) for one in listed),
        ops_context=_ops(known, moment.local.date()),
        evidence=BriefEvidence(
            session_ids=_sessions(known, cited),
            episode_ids=tuple(one.id for one in cited),
            loop_ids=tuple(one.id for one in listed),
            quality=_quality(known),
            fallback=handover.fallback,
        ),
    )
    return brief, handover


def sources_of(known: Known) -> Sources:
    """The sources of the handover: the words of the last session alone, and loops."""
    last = [] if known.hard else _last_words(known)
    if known.continues is not None:
        said = last[:1]
    else:  # a greeting or a goodbye tells less than what was said around it
        said = [one for one in last if telling(one.text)] or last[:1]
    fresh = [one for one in known.loops if one.fresh]
    return Sources(
        known.moment,
        tuple(Thread(one.id, one.text) for one in said[:THREADS]),
        tuple(
            Thread(one.id, one.text, open=one not in known.closed)
            for one in (*fresh[:THREADS], *known.closed[:THREADS])
        ),
        known.continues is not None,
        known.reply,
        known.hard,
    )


def bridge_of(known: Known, handover: str = "") -> Said | None:
    """The message that a bridge quotes: one of the last session, if it ended just now, that the
    handover does not quote."""
    if not _is_near(known):
        return None
    said = {one.id for one in sources_of(known).said[:1]}
    return next(
        (
            one
            for one in _last_words(known)
            if one.id not in said and telling(one.text) and not _shares(one.text, handover)
        ),
        None,
    )


def telling(text: str) -> bool:
    """Whether a message has more than three words, or letters of a script that parts none."""
    return len(text.split()) > 3 or len(plain(text)) > 24 or (len(text) > 6 and not text.isascii())


def _shares(text: str, handover: str) -> bool:
    """Whether a handover quotes a sentence of it."""
    told = plain(handover).casefold()
    parts = re.split(r"(?<=[.!?。！？])\s*", plain(text).casefold())
    return any(one.strip(" .!?") in told for one in parts if len(one) > 3)


def _last_words(known: Known) -> list[Said]:
    """What the person said in the last session, the latest first."""
    last = known.last
    said = (one for one in reversed(known.said) if plain(one.text))
    return [one for one in said if last is not None and one.session_id == last.session_id]


def _is_near(known: Known) -> bool:
    gap = known.moment.gap_minutes
    return gap is not None and gap <= CONTINUATION and not known.hard


def _resume(known: Known, bridge: Said | None) -> Resume:
    """The bridge: that the talk goes on, and something said before what the handover quotes."""
    if not _is_near(known) or not _last_words(known):
        return Resume()
    gap = known.moment.gap
    text = (
        f"The conversation goes on after {gap}."
        if known.continues
        else f"They were here {gap} ago."
    )
    if bridge is not None and (quoted := quote(bridge.text)):
        text = ended(f"{text} Before that they said: {quoted}")
    return Resume(True, text)


def _item(loop: OpenLoop, zone: tzinfo | None) -> BriefItem:
    return BriefItem(
        kind="tension" if loop.type == "friction" else "loop",
        text=plain(loop.text),
        type=loop.type,
        time_horizon=loop.horizon,
        due_date=None if loop.due is None else loop.due.isoformat(),
        salience=loop.salience,
        last_seen_at=None if loop.seen_at is None else at(loop.seen_at, zone).isoformat(),
    )


def _ops(known: Known, today: date) -> OpsContext:
    def due(one: OpenLoop) -> bool:
        soon = one.horizon == "today" if one.due is None else today - DUE <= one.due <= today
        return one.pinned or (one.fresh and soon)

    listed = [one for one in known.loops if one.type != "thread"]
    daily = known.yesterday
    sure = daily is not None and daily.exists and daily.quality_flag not in UNSURE
    return OpsContext(
        top_loops_today=tuple(plain(one.text) for one in listed if due(one))[:TOP],
        waiting_on=tuple(plain(one.text) for one in known.loops if one.type == "thread")[:TOP],
        user_model_hints=tuple(plain(one) for one in known.hints[:TOP]),
        yesterday_themes=tuple(plain(one) for one in daily.themes[:TOP]) if daily and sure else (),
        steering_note=daily.steering_note if daily and sure else None,
    )


def _sessions(known: Known, cited: list[Said]) -> tuple[str, ...]:
    ids = [] if known.last is None else [known.last.session_id]
    return tuple(dict.fromkeys(ids + [one.session_id for one in cited]))


def _quality(known: Known) -> str:
    if not known.sessions:
        return "empty"
    return "good" if known.said or known.loops or known.hard else "thin"


# -- the brief: the plainer packet, and how its content fills the handover's place -----------------
# Pure. A brief can be foreign: all its texts are quoted as data when they are told.

FACTS, LOOPS, SUMMARIES = 8, 5, 3
CHARS = 1200
"""Most characters of the context sheet, and of the text that fills the handover's place."""
WORDS = 120
"""Most words of that text."""
EACH, SHEET = 60, 40
"""Most words of one piece of it; and so many are kept for a sheet that says something more."""
FEWEST = 8
"""A piece of which not even so many words fit is left out."""
_LABEL = re.compile(r"^[^:]{1,24}:")


def brief(known: Known) -> Brief:
    """The brief of what is known."""
    moment = known.moment
    gap = moment.gap
    promised = [one for one in known.loops if one.type == "commitment"]
    others = [one for one in known.loops if one.type != "commitment"]
    made = Brief(
        time_gap_description=None if gap is None else f"{gap} since the last talk",
        time_of_day_label=moment.part,
        facts=_texts(known.facts, FACTS),
        open_loops=_texts((one.text for one in others), LOOPS),
        commitments=_texts((one.text for one in promised), LOOPS),
        current_focus=plain(known.focus) if known.focus else None,
        narrative_summary=_texts(known.summaries, SUMMARIES) or _narrative(known),
    )
    pinned = {plain(one.text) for one in known.loops if one.pinned}
    lines = [f"time of day: {moment.part}"]
    lines += [f"gap: {made.time_gap_description}"] if gap else []
    pieces = _pieces(made)
    pieces.sort(key=lambda each: each[0] != "In focus" and each[1] not in pinned)
    lines += [f"{_SHEET[name]}: {quote(one)}" for name, one in pieces if one]
    room, sheet = CHARS, list[str]()
    for line in lines:  # as long as they fit, one on a line
        room -= len(line) + 1
        if room < 0:
            break
        sheet.append(line)
    return replace(made, brief_context="\n".join(sheet) or None)


_SHEET = {
    "In focus": "focus",
    "Promised": "promised",
    "Open": "open",
    "Known": "fact",
    "Before": "before",
}


def _pieces(found: Brief) -> list[tuple[str, str]]:
    named = (
        ("In focus", (found.current_focus or "",)),
        ("Promised", found.commitments),
        ("Open", found.open_loops),
        ("Known", found.facts),
        ("Before", found.narrative_summary),
    )
    return [(name, one) for name, texts in named for one in texts]


def as_handover(found: Brief) -> str:
    """The brief as a text for the handover's place: every piece a quotation, as long as it fits.
    Nothing, where it says nothing."""
    text = ""
    if found.time_gap_description:
        text = f"Since the last talk: {quote(found.time_gap_description, 12) or 'unknown'}."
    if found.time_of_day_label:
        text += f" Part of day: {quote(found.time_of_day_label.lower(), 3) or 'unknown'}."
    listed = _pieces(found)
    more = [("Known", line) for line in _unsaid(found, [one for _, one in listed])]
    kept = min(SHEET, sum(len(line.split()) + 1 for _, line in more))
    text = _filled(text, listed, WORDS - kept, EACH)
    return _filled(text, more, WORDS, WORDS).strip()


def _filled(text: str, pieces: Sequence[tuple[str, str]], most: int, each: int) -> str:
    """The text with these pieces, as long as they fit; the last one may be cut."""
    for name, words in pieces:
        lead = f"{text} {name}:"
        room = min(each, most - len(lead.split()))
        if told := _whole(words, room, CHARS - len(lead)):
            text = ended(f"{lead} {told}")
    return text


def _whole(text: str, words: int, chars: int) -> str:
    """A text between marks, whole where there is room for it, else cut; nothing, where too little
    of it would be left or it says nothing."""
    inside = plain(text)
    short = " ".join(inside.split()[: max(0, words)])[: max(0, chars - 5)].rstrip()
    if short != inside:
        if len(short.split()) < FEWEST:
            return ""
        short = f"{short.rstrip('…,;: ')}…"
    return f"“{short}”" if any(letter.isalnum() for letter in short) else ""


def _unsaid(found: Brief, listed: Iterable[str]) -> list[str]:
    """The lines of the context sheet that tell something which is not listed as well."""
    texts = (*listed, found.time_gap_description or "", found.time_of_day_label or "")
    said = sorted({plain(one).casefold().rstrip(".") for one in texts} - {""}, key=len)[::-1]
    lines = (found.brief_context or "").splitlines()
    return [line for line in lines if plain(line) and not _repeats(line, said)]


def _repeats(line: str, said: Sequence[str]) -> bool:
    """Whether a line says nothing but these, one or several of them, or the beginning of one."""
    core = _LABEL.sub("", plain(line).casefold()).strip(" '.…-")
    if not core or any(core in one for one in said):
        return True
    left = core
    for one in said:
        left = re.sub(rf"(?<!\w){re.escape(one)}(?!\w)", " ", left)
    return left != core and not re.search(r"\w", left)


def _narrative(known: Known) -> tuple[str, ...]:
    """Without summaries: the last telling words of each of the last sessions, newest first."""
    last: dict[str, str] = {}
    for one in reversed(known.said):
        if telling(one.text):
            last.setdefault(one.session_id, quote(one.text))
    return tuple(f"They said: {words}" for words in last.values() if words)[:SUMMARIES]


def _texts(texts: Iterable[str], most: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for one in texts if (text := plain(one))))[:most]


# -- reading it from the store ---------------------------------------------------------------------

SESSIONS = 50
"""So many sessions are looked at: more than anybody begins in a day."""
MESSAGES = 100
IDLE = 5
"""Minutes: a session without a message for so long counts as over before it is closed."""
STATUSES: tuple[loops.LoopStatus, ...] = (*loops.LIVE, *loops.OVER)
CLOSED = timedelta(days=14)
"""Loops that were closed longer ago are not shown to whoever writes a handover."""
HINTS = ("work_context", "preferences.tone", "patterns")


class Talk(NamedTuple):
    """The conversation that a session begins in, and the advisor who alone answers there; nobody
    else is told what that advisor replied."""

    conversation_id: str
    advisor_id: str | None = None


class Found(NamedTuple):
    """What a brief may draw on, with the loops and the profile as they are."""

    known: Known
    loops: list[loops.Loop]
    who: Profile


def read(
    tx: Tx,
    partition: Partition,
    now: int,
    zone: tzinfo | None,
    session_id: str | None = None,
    *,
    talk: Talk | None = None,
    cloud: bool = True,
    whole: bool = True,
) -> Found:
    """Read what is known as a session starts. `cloud`: it may be shown to a cloud model. Without
    `whole`, as much as a startbrief needs: no facts and no summaries."""
    own = partition == Partition.own(tx.scope)
    stored = remembered.persons_words(tx, partition, now + 1, MESSAGES)
    spoken = {one.session_id: at for one, at, _ in stored[::-1]}
    past = _past(tx, partition, session_id, now, spoken)
    talk = talk or (_talk_of(tx, session_id) if own and session_id else None)
    continues = _continued(tx, talk, past, now) if own and talk else None
    blank = Known(now, zone, past, continues=continues)
    last = blank.last.session_id if blank.last else ""
    places = derived.hard(tx, partition, {last, *spoken})
    hard = {session for session, _ in places}
    if own:  # a turn may not be ingested yet
        hard |= companions.at_risk(tx, {last, *spoken}).keys()
    risky = {f"{session}#{index}" for session, index in places}
    told = [(one, time) for one, time, may_leave in stored[::-1] if may_leave or not cloud]
    said = [
        Said(one.id, one.session_id, one.text, time)
        for one, time in told
        if one.session_id != session_id and one.id not in risky
    ]
    reply = ""
    if continues and talk and last not in hard:
        if last not in spoken:
            said += _unread(tx, partition, last, now)
        if talk.advisor_id and any(one.session_id == last for one in said):
            reply = _reply(tx, last, talk.advisor_id)
    every = [
        one
        for one in loops.listed(
            tx, partition, now, statuses=STATUSES, zone=zone, said_by=now, without=session_id
        )
        if (one.cloud or not cloud) and not risky.intersection(_places(one))
    ]
    live = [one for one in every if one.status in loops.LIVE]
    live.sort(key=lambda one: not one.pinned and one.status != "open")  # review comes last
    since = now - CLOSED // timedelta(microseconds=1)
    closed = [one for one in every if one not in live and (one.ended_at or 0) > since]
    person = profile.read(tx, partition, now, cloud=cloud, without=session_id)
    focus = person.one("current_focus")
    known = replace(
        blank,
        said=tuple(said),
        loops=tuple(map(_open, live)),
        closed=tuple(map(_open, closed)),
        facts=_facts(tx, partition, now, session_id, cloud) if whole else (),
        focus=None if focus is None else focus.text,
        hints=tuple(line.text for place in HINTS for line in person.all(place)[-1:]),
        summaries=_summaries(tx, partition, now, session_id, cloud, hard) if whole else (),
        yesterday=_yesterday(tx, partition, at(now, zone).date(), hard, cloud=cloud),
        reply=reply,
        hard=last in hard,
    )
    return Found(known, live, person)


def _open(one: loops.Loop) -> OpenLoop:
    return OpenLoop(
        id=one.id,
        text=one.text,
        type=one.type,
        horizon=one.horizon,
        due=None if one.due is None else date.fromisoformat(one.due),
        salience=float(one.salience),
        seen_at=one.last_seen_at,
        quote=one.evidence[-1].quote if one.evidence else "",
        places=_places(one),
        pinned=one.pinned,
        status=one.status,
    )


def _places(one: loops.Loop) -> tuple[str, ...]:
    return tuple(f"{each.session_id}#{each.index}" for each in one.evidence)


def _facts(
    tx: Tx, partition: Partition, now: int, session_id: str | None, cloud: bool
) -> tuple[str, ...]:
    """Current facts that belong to nobody's private memory."""
    told = (
        one.text
        for one in (held.statement for held in facts.newest(tx, partition, now))
        if one.advisor_id is None
        and (one.cloud or not cloud)
        and (one.session_id is None or one.session_id != session_id)
    )
    return tuple(islice(told, FACTS))


def _summaries(
    tx: Tx,
    partition: Partition,
    now: int,
    session_id: str | None,
    cloud: bool,
    hard: Collection[str],
) -> tuple[str, ...]:
    found = derived.list_summaries(tx, partition, "session", SUMMARIES + 1 + len(hard), now)
    return tuple(
        one.text
        for one in found
        if one.subject != session_id and one.subject not in hard and (one.cloud or not cloud)
    )[:SUMMARIES]


def _yesterday(
    tx: Tx, partition: Partition, today: date, hard: Collection[str], *, cloud: bool
) -> Daily | None:
    """The day before's analysis, unless it draws on a hard talk or on what must not leave."""
    day = today - timedelta(days=1)
    found = derived.find_daily(tx, partition, day.isoformat())
    if found is None or set(found.sessions) & set(hard) or (cloud and not found.cloud):
        return None
    return Daily(
        analysis_date=found.day,
        themes=found.themes,
        scores=found.scores,
        steering_note=found.steering_note,
        confidence=found.confidence,
        exists=True,
        quality_flag=None if found.quality == "ok" else found.quality,
    )


def _past(
    tx: Tx, partition: Partition, session_id: str | None, now: int, spoken: Mapping[str, int]
) -> tuple[Past, ...]:
    """The sessions before this one. What is not over yet, or claims to end later, lasts until the
    person's last word by now (`spoken`, by session)."""
    found = {name: Past(name, time, time) for name, time in spoken.items()}
    for one in episodes.list_transcripts(tx, partition, SESSIONS, now + 1):
        found[one.session_id] = Past(one.session_id, one.started_at, one.ended_at)
    if partition == Partition.own(tx.scope):
        newest = sessions.newest(tx, SESSIONS)
        gone = episodes.forgotten_of(tx, partition, [one.id for one in newest])
        for session in newest:
            if session.id not in gone and session.started_at <= now:
                end = session.last_user_at if session.ended_at is None else session.ended_at
                end = end if end <= now else spoken.get(session.id, session.started_at)
                running = session.ended_at is None and now - end < IDLE * MINUTE
                found[session.id] = Past(session.id, session.started_at, end, running)
    found.pop(session_id or "", None)
    return tuple(sorted(found.values(), key=lambda one: (one.ended_at, one.session_id)))


def _talk_of(tx: Tx, session_id: str) -> Talk | None:
    try:
        return Talk(sessions.get(tx, session_id).conversation_id)
    except NotFound:
        return None


def _continued(tx: Tx, talk: Talk, past: Sequence[Past], now: int) -> Past | None:
    """The last session of the conversation, if it ended within the continuation gap."""
    ours = {one.id for one in sessions.of_conversation(tx, talk.conversation_id)}
    last = next((one for one in reversed(past) if one.session_id in ours), None)
    near = last is not None and now - last.ended_at < (CONTINUATION + 1) * MINUTE
    return last if near else None


def _transcript(tx: Tx, session_id: str) -> Sequence[Message]:
    """What was said in a session of the account; nothing while it is still being answered."""
    try:
        return transcript_of(tx, session_id).messages
    except Conflict:
        return ()


def _unread(tx: Tx, partition: Partition, session_id: str, now: int) -> list[Said]:
    """The person's words in a session that was not ingested yet."""
    if episodes.forgotten(tx, partition, session_id):
        return []
    return [
        Said(f"{session_id}#{index}", session_id, one.text, one.said_at or now)
        for index, one in enumerate(_transcript(tx, session_id))
        if one.role == "user" and one.text != REDACTED
    ]


def _reply(tx: Tx, session_id: str, advisor_id: str) -> str:
    """The last answer of a session, if nobody else answered in it."""
    told = [one for one in _transcript(tx, session_id) if one.role == "assistant"]
    alone = told and {one.advisor_id for one in told} == {advisor_id}
    return told[-1].text if alone and told[-1].text != REDACTED else ""


# -- a startbrief whose handover is written by the model that memory works with --------------------
# Only a model that somebody chose for memory is asked, within the budget of a session's start and
# the caps on cost; whatever hinders it, the template is there. `known` must have been read for a
# cloud model: which machine a model runs on is not asked here.

log = logging.getLogger("polyvox.session")

SHARE = 0.8
"""Of a session start's budget, what the writing may take."""
PURPOSE = "memory"
"""Under this name its usage is summed."""


@dataclass(frozen=True, slots=True)
class BriefWriter:
    """Writes the handovers of sessions."""

    resources: Resources

    @property
    def writes(self) -> bool:
        """Whether somebody chose a model for memory; else a template does."""
        return bool(self.resources.settings.models.memory)

    @property
    def cloud(self) -> bool:
        """Whether what it is told leaves this machine."""
        resources = self.resources
        return not resources.models.stays_here(resources.settings.models.memory)

    async def brief(self, scope: Scope, known: Known) -> StartBrief:
        """The brief, with time left to tell it plainly where the model takes too long."""
        budget = self.resources.settings.memory.budget * SHARE
        return await written_brief(self.resources, scope, known, budget)


async def written_brief(
    resources: Resources, scope: Scope, known: Known, seconds: float | None = None
) -> StartBrief:
    """The brief; why its handover is the template's stands in its evidence."""
    model, reason = await _model(resources, scope)
    budget = resources.settings.memory.budget if seconds is None else seconds
    made, handover = await startbrief(known, model, budget)
    if handover.spent:
        await _record(resources, scope, handover)
    if reason and made.evidence is not None:
        return replace(made, evidence=replace(made.evidence, fallback=reason))
    return made


async def _model(resources: Resources, scope: Scope) -> tuple[Model | None, str]:
    """Who writes, or why nobody does."""
    name = resources.settings.models.memory
    if not name:
        return None, ""
    now, limits = resources.clock(), resources.settings.limits
    try:
        await resources.database.read(lambda tx: check_caps(tx, limits, "", None, now), scope)
        return resources.models.chain(name, ()), ""
    except CapReached:
        return None, "cap_reached"
    except ModelError as error:
        return None, error.category


async def _record(resources: Resources, scope: Scope, handover: Handover) -> None:
    now = resources.clock()

    def write(tx: Tx) -> None:
        for model, used in handover.spent:
            usage.record(tx, usage=used, model=model, advisor_id=PURPOSE, at=now, purpose=PURPOSE)

    try:
        await resources.database.write(write, scope)
    except StoreError as error:  # the brief is there; it shall not be lost for its bill
        log.warning("usage not recorded: %s", error.message)
