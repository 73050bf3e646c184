"""What was said earlier in a session that still goes on, once the request no longer holds it.

It is not remembered yet, so nothing is looked up: the words themselves are searched, ranked as
anything else is, and told as what they are. There is as much of it as one session has.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from polyvox.context.draft import Draft
from polyvox.context.recipe import Recipe
from polyvox.context.window import NOTE_ABOVE, select
from polyvox.errors import ProtocolError
from polyvox.memory.asking import Asker, prompt, text_of
from polyvox.memory.packets import Recalled
from polyvox.memory.rank import Question, Scale, Text, asked_for, excerpt, newest_first, rank
from polyvox.memory.tables import companions
from polyvox.memory.tables.remembered import SUB_BITS, Role
from polyvox.memory.times import times_in
from polyvox.memory.values import Evidence
from polyvox.memory.words import terms_of, words_of
from polyvox.store import conversations, jobs, summaries, turns
from polyvox.store.database import Tx
from polyvox.store.jobs import Job
from polyvox.store.search import fold
from polyvox.store.summaries import KIND, RunningSummary
from polyvox.store.threads import thread_between
from polyvox.thread import Thread, ThreadSummary, ThreadTurn
from polyvox.values import Scope, Turn
from polyvox.work.worker import Handler

MOST = 400
"""So many messages are looked at, the last ones."""
MEMORY = 300
"""A session is judged as a part of a memory of at least so many texts: what is rare in a few
messages need not be rare."""
BEGINNING = 3
"""Words that begin with so many of the same letters may be forms of one."""
NOWHERE = -1
"""The index of a message that is not ingested yet."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of a session that goes on."""

    session_id: str
    role: Role
    text: str
    said_at: int | None


def recalled(
    words: str, heard: Sequence[Heard], now: int, limit: int, zone: tzinfo | None
) -> list[Recalled]:
    """Which of these messages (in their order) a question is about, best first. `zone`: where
    "yesterday" is meant."""
    terms = terms_of(words)
    some = heard[-MOST:]
    beginnings = {form[:BEGINNING] for term in terms for form in term.all_forms}
    asked = asked_for(terms)
    texts, by_place = [], dict[int, Heard]()
    place = -1
    for one in some:
        place += 1 if (place + 1) % 2 == (one.role == "assistant") else 2
        by_place[place] = one
        folded = fold(one.text)
        found = words_of(one.text) if any(begin in folded for begin in beginnings) else ()
        texts.append(Text.of(place << SUB_BITS, one.said_at or 0, " ".join(found), False, asked))
    known = Counter(word for text in texts for word in text.counts)
    if not known:
        return []
    docs = max(MEMORY, len(texts))
    length = max(1.0, sum(text.length for text in texts) / sum(bool(t.terms) for t in texts))
    question = Question(terms, times_in(words, now, zone).spans, docs, length, known)
    wanted = {form for term in terms for form in term.all_forms}
    scores = newest_first(question, rank(question, texts))
    scale = Scale(question, scores)
    return [
        _told(by_place[score.text.place], wanted, round(scale.relevance(score), 4))
        for score in scores[:limit]
    ]


def _told(one: Heard, wanted: set[str], relevance: float) -> Recalled:
    quote = excerpt(one.text, wanted)
    evidence = Evidence(one.session_id, NOWHERE, one.role, quote, one.said_at)
    return Recalled(quote, relevance, "episode", (evidence,), one.said_at)


# -- what the window has dropped -------------------------------------------------------------------

TURNS = 200
"""So many turns before those that were read for a request are looked at."""


def unread_of(tx: Tx, turn: Turn, thread: Thread) -> tuple[ThreadTurn, ...]:
    """The turns of this session before what was read of an advisor's thread, the last ones."""
    first = thread.past[0] if thread.past else None
    if first is None or first.depth <= 1 or first.session_id != turn.session_id:
        return ()
    after = max(0, first.depth - 1 - TURNS)
    before = thread_between(tx, turn, thread.advisor.id, after, first.depth)
    return tuple(one for one in before if one.session_id == turn.session_id)


def heard_of(said: Sequence[ThreadTurn], shown: Collection[str]) -> tuple[Heard, ...]:
    """The messages and answers of these turns that are not shown ("u" and a turn's id, "a" and an
    answer's), in order."""
    found = []
    for one in said:
        session = one.session_id or ""
        if f"u{one.turn_id}" not in shown:
            found.append(Heard(session, "user", one.text, one.said_at))
        found += [
            Heard(session, "assistant", own.text, one.said_at)
            for own in one.own
            if f"a{own.answer_id}" not in shown
        ]
    return tuple(found)


# -- the running summary: what left a bookends window, in short, for the thread that it left -------
# An answer that ended with messages left out wants one made, in the same commit. The job tells
# the model that memory works with what the summary said so far and what left the window since,
# some turns at a time; each piece is kept with the ids it covers, so whoever dies in the middle
# goes on there. A summary is used only for exactly the stretch it tells of; until there is one,
# or without a model, the plain note stands. Invariant: it is made of one advisor's own thread and
# shown in no other.

LONGEST = 1_600
"""Characters of a summary."""
BATCH_CHARS = 16_000
"""Characters of messages that a model is shown at once; a single turn may have more."""
SHOWN_CHARS = 8_000
"""Characters of one message that it is shown."""

RecipeOf = Callable[[Tx, str], Recipe]
ThreadOf = Callable[[Tx, Turn, Recipe, str], Thread | None]
"""The thread of an advisor as it would be read for a turn; None: there is no such advisor."""


def leaves_out(recipe: Recipe, draft: Draft) -> bool:
    """Whether a request was short of messages that a note stands for."""
    return _notes(recipe) and any(one.reason == "window" for one in draft.omitted)


def want(tx: Tx, turn: Turn, advisor_id: str, now: int) -> None:
    """Want what left an advisor's window summed up."""
    subject = summaries.subject(turn.conversation_id, turn.branch_id, advisor_id)
    jobs.enqueue_again(tx, KIND, subject, now)


def find(tx: Tx, turn: Turn, recipe: Recipe, advisor_id: str) -> ThreadSummary | None:
    """What is stored for an advisor's thread up to a turn; the compiler sees whether it fits."""
    if not _notes(recipe):
        return None
    found = summaries.find(tx, turn.conversation_id, turn.branch_id, advisor_id)
    if found is None:
        return None
    return ThreadSummary(
        found.text, found.after_id, found.before_id, len(found.covers), found.covers
    )


def _notes(recipe: Recipe) -> bool:
    return recipe.window.kind == "bookends" and recipe.window.system_messages > 0


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be told next: the summary so far, the turns behind it, and what is around them."""

    before: RunningSummary | None
    told: tuple[ThreadTurn, ...]
    """Turns to add now; none: the summary is whole."""
    covers: tuple[str, ...]
    """What the summary covers once they are in it."""
    after_id: str
    before_id: str


@dataclass(frozen=True, slots=True)
class RunningSummaries:
    """Makes them."""

    asker: Asker
    recipe_of: RecipeOf
    thread_of: ThreadOf

    @property
    def handlers(self) -> dict[str, Handler]:
        """By kind of job."""
        return {KIND: self.make}

    async def make(self, job: Job) -> None:
        """Bring a summary up to where the window will begin with the next message."""
        scope, subject = job.scope, job.subject
        name, database = self.asker.model, self.asker.database
        if name is None:
            return  # the plain note stands
        while (plan := await database.read(lambda tx: self._plan(tx, subject), scope)) is not None:
            text = plan.before.text if plan.before is not None else ""
            if plan.told:
                text = await self._tell(scope, name, text, plan.told)
            made = RunningSummary(
                *summaries.parse(subject),
                text,
                plan.covers,
                plan.after_id,
                plan.before_id,
                name,
                self.asker.clock(),
            )

            def write(tx: Tx, plan: _Plan = plan, made: RunningSummary = made) -> None:
                # What changed while the model was reading is looked at anew.
                companions.drops_held(tx)
                if self._plan(tx, subject) == plan:
                    summaries.put(tx, made)

            await database.write(write, scope)

    def _plan(self, tx: Tx, subject: str) -> _Plan | None:
        """What to do next; None: nothing."""
        conversation_id, branch_id, advisor_id = summaries.parse(subject)
        conversation = conversations.find(tx, conversation_id)
        tip = turns.tip(tx, conversation_id, branch_id)
        if conversation is None or tip is None:
            return None
        recipe = self.recipe_of(tx, conversation.recipe)
        thread = self.thread_of(tx, _next(tip), recipe, advisor_id)
        if thread is None or not _notes(recipe):
            return None
        selected = select(recipe, thread)
        if selected.missing <= NOTE_ABOVE or selected.head >= len(selected.units):
            return None
        last = selected.units[selected.head - 1] if selected.head else None
        first = selected.units[selected.head]
        depth = last.depth if last else 0
        gap = thread_between(tx, _next(tip), advisor_id, depth, first.depth)
        after_id = last.turn_id if last else ""
        refs = _refs(gap)
        known = summaries.of_advisor(tx, conversation_id, advisor_id)
        fitting = [
            one
            for one in known
            if one.after_id == after_id and one.covers and refs[: len(one.covers)] == one.covers
        ]
        before = max(
            fitting, key=lambda one: (len(one.covers), one.branch_id == branch_id), default=None
        )
        done = len(before.covers) if before is not None else 0
        # It may tell of all that is missing and still end before a turn that is no longer there.
        here = before is not None and (before.branch_id, before.before_id)
        if done == len(refs) and here == (branch_id, first.turn_id):
            return None
        left = _behind(gap, done)
        told = _some(left)
        following = left[len(told)].turn_id if len(left) > len(told) else first.turn_id
        return _Plan(before, told, refs[: done + len(_refs(told))], after_id, following)

    async def _tell(self, scope: Scope, name: str, text: str, told: Sequence[ThreadTurn]) -> str:
        lines = [{"so_far": text}] if text else []
        for one in told:
            lines.append({"who": "person", "text": one.text[:SHOWN_CHARS]})
            lines += [{"who": "you", "text": own.text[:SHOWN_CHARS]} for own in one.own]
        data = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
        reply = await self.asker.ask(scope, name, prompt("running"), data, "summary")
        summary = text_of(reply, "summary", LONGEST)
        if not summary:
            raise ProtocolError(
                f"{name} wrote an empty summary.",
                "Retry the job, or name a more capable model as models.memory.",
            )
        return summary


def _next(tip: Turn) -> Turn:
    """The turn that the next message would be."""
    return Turn(
        id="",
        conversation_id=tip.conversation_id,
        message_id="",
        session_id=tip.session_id,
        parent_id=tip.id,
        branch_id=tip.branch_id,
        depth=tip.depth + 1,
        content="",
        said_at=None,
        asked=(),
        state="queued",
        excluded=False,
        created_at=0,
    )


def _refs(told: Sequence[ThreadTurn]) -> tuple[str, ...]:
    return tuple(
        ref
        for one in told
        for ref in (f"u{one.turn_id}", *(f"a{own.answer_id}" for own in one.own))
    )


def _behind(gap: Sequence[ThreadTurn], done: int) -> tuple[ThreadTurn, ...]:
    """The turns behind so many messages; those were whole turns."""
    at = 0
    while done > 0:
        done -= 1 + len(gap[at].own)
        at += 1
    return tuple(gap[at:])


def _some(left: Sequence[ThreadTurn]) -> tuple[ThreadTurn, ...]:
    """As many turns as a model is shown at once."""
    chars, count = 0, 0
    for one in left:
        chars += len(one.text) + sum(len(own.text) for own in one.own)
        if count and chars > BATCH_CHARS:
            break
        count += 1
    return tuple(left[:count])
