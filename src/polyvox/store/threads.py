"""Reading threads from the newest end: what each advisor may know of a conversation.

One walk serves every advisor of a turn: user messages are shared, each advisor's own answers are
picked out, and the walk ends where nobody's limit could take more. Cost grows with what fits, not
with what is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from polyvox.store.database import Row, Tx
from polyvox.thread import Other, Own, Peer, Thread, ThreadTurn
from polyvox.values import Advisor, Scope, Segment, Turn

STRIDE = 48
"""Turns read at a time."""

BLANK = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
SPEAKS = (
    "a.current = 1 AND a.excluded = 0 AND a.kind IN ('advisor', 'exchange')"
    f" AND (a.state = 'completed' OR (a.state = 'stopped' AND TRIM(a.text, '{BLANK}') <> ''))"
)
"""`Answer.speaks`, for the database."""
ANSWERED = (
    "EXISTS (SELECT 1 FROM answers a WHERE a.user_id = t.user_id AND a.turn_id = t.id"
    f" AND (a.state IN ('pending', 'streaming') OR TRIM(a.text, '{BLANK}') <> ''))"
)
"""True for a turn that got a word of an answer, in any version of it, or may still get one."""


@dataclass(frozen=True, slots=True)
class Need:
    """The history that one advisor's compiler may use: at most so many characters."""

    advisor: Advisor
    chars: int
    ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class Reach:
    """The reach of a recipe: into earlier sessions, at the others' whole threads, at the first
    turns, and how many of an advisor's own answers its phases have to count (None: all)."""

    session_only: bool = False
    whole_threads: bool = False
    first_turns: int = 0
    count_upto: int | None = 0


@dataclass(slots=True)
class _ThreadWalk:
    """Rows read so far, newest first."""

    turns: list[Row] = field(default_factory=list)
    own: dict[str, dict[str, list[Own]]] = field(default_factory=dict)
    others: dict[str, list[tuple[str, str, str, str, int]]] = field(default_factory=dict)
    size: dict[str, int] = field(default_factory=dict)


def path(tx: Tx, branch_id: str, depth: int) -> list[Segment]:
    """The path from a turn back to the first one, as segments of branches, newest first."""
    segments, upto, current = [], depth, branch_id
    while True:
        row = tx.one(
            "SELECT parent_id, fork_depth FROM branches WHERE user_id = ? AND id = ?",
            (tx.user, current),
        )
        after = int(row[1]) if row else 0
        if upto > after:
            segments.append(Segment(current, after, upto))
        upto = min(upto, after)
        if row is None or row[0] is None or upto <= 0:
            return segments
        current = row[0]


def path_to(tx: Tx, turn_id: str | None) -> list[Segment]:
    """The path from a turn of this id; empty for None."""
    row = tx.one(
        "SELECT branch_id, depth FROM turns WHERE user_id = ? AND id = ?", (tx.user, turn_id)
    )
    return [] if row is None else path(tx, row[0], row[1])


def is_on_path(way: Sequence[Segment], branch_id: str | None, depth: int | None) -> bool:
    """True if a turn at this place is on the path."""
    return depth is not None and any(
        segment.branch_id == branch_id and segment.after < depth <= segment.upto for segment in way
    )


def path_difference(way: Sequence[Segment], other: Sequence[Segment]) -> list[Segment]:
    """The segments of a path that are not on another, newest first."""
    upto = {segment.branch_id: segment.upto for segment in other}
    cut = (
        replace(segment, after=max(segment.after, upto.get(segment.branch_id, 0)))
        for segment in way
    )
    return [segment for segment in cut if segment.after < segment.upto]


def read_threads(
    tx: Tx, turn: Turn, reach: Reach, needs: Sequence[Need], peers: Mapping[str, Peer]
) -> list[Thread]:
    """Each advisor's thread for a turn, without the others' last words. `peers` names every
    advisor."""
    segments = _before(tx, turn)
    walk = _ThreadWalk(size={need.advisor.id: 0 for need in needs})
    session = turn.session_id if reach.session_only else None
    whole = reach.whole_threads
    bottom = _walk_back(tx, turn, segments, needs, walk, session, whole)
    head = _head(tx, turn, reach, segments, bottom, needs)
    return [
        Thread(
            advisor=need.advisor,
            current=ThreadTurn(
                turn.id, turn.message_id, turn.depth, turn.content, turn.said_at, turn.session_id
            ),
            past=_past(walk, need.advisor.id, peers, whole),
            unread=max(0, bottom - 1) if session is None else 0,
            unread_messages=_unread(tx, turn, reach, segments, bottom, need.advisor.id),
            head=head.get(need.advisor.id, ()),
            answers=_count(tx, turn, segments, reach.count_upto, need.advisor.id, "'advisor'"),
            ratio=need.ratio,
        )
        for need in needs
    ]


def _walk_back(
    tx: Tx,
    turn: Turn,
    segments: Sequence[Segment],
    needs: Sequence[Need],
    walk: _ThreadWalk,
    session: str | None,
    whole: bool,
) -> int:
    """Fill `walk` newest first; answers the depth of the oldest turn read (1: all of them)."""
    wanted = [need.advisor.id for need in needs]
    for stretch in _stretches(segments):
        rows = _turns(tx, turn, stretch)
        ended = session is not None and any(row[5] != session for row in rows)
        if session is not None:
            rows = [row for row in rows if row[5] == session]
        walk.turns.extend(rows)
        _answers(tx, turn, stretch, wanted, walk, whole)
        length = sum(len(row[3]) for row in rows if not row[6])
        for advisor_id in wanted:
            walk.size[advisor_id] += length
        if ended or all(_enough(need, walk) for need in needs):
            return stretch.after + 1
    return 1


def _stretches(segments: Sequence[Segment]) -> Iterator[Segment]:
    """A path in pieces of at most STRIDE turns, newest first: a query plan that reads a whole piece
    stays cheap, however long the conversation is."""
    for segment in segments:
        for upto in range(segment.upto, segment.after, -STRIDE):
            yield Segment(segment.branch_id, max(segment.after, upto - STRIDE), upto)


def _turns(tx: Tx, turn: Turn, stretch: Segment) -> list[Row]:
    return tx.all(
        "SELECT id, message_id, depth, content, said_at, session_id, excluded FROM turns"
        " WHERE user_id = ? AND conversation_id = ? AND branch_id = ? AND depth > ?"
        " AND depth <= ? ORDER BY depth DESC",
        _place(tx.scope, turn, stretch),
    )


def _place(scope: Scope, turn: Turn, stretch: Segment) -> tuple[str, str, str, int, int]:
    """The parameters that select a stretch."""
    return scope.user, turn.conversation_id, stretch.branch_id, stretch.after, stretch.upto


def _enough(need: Need, walk: _ThreadWalk) -> bool:
    return walk.size[need.advisor.id] > need.chars


def _answers(
    tx: Tx, turn: Turn, stretch: Segment, wanted: Sequence[str], walk: _ThreadWalk, whole: bool
) -> None:
    """Add the answers of a stretch. The query joins from the turns: asked for the answers of a
    conversation between two depths, PostgreSQL without statistics scans all of them."""
    only = "" if whole else f" AND a.advisor_id IN ({', '.join('?' * len(wanted))})"
    rows = tx.all(
        "SELECT a.turn_id, a.advisor_id, a.id, a.text, a.advisor_name, a.round FROM turns t"
        " JOIN answers a ON a.user_id = t.user_id AND a.turn_id = t.id"
        " WHERE t.user_id = ? AND t.conversation_id = ? AND t.branch_id = ? AND t.depth > ?"
        f" AND t.depth <= ? AND {SPEAKS}{only} ORDER BY t.depth, a.round, a.position, a.id",
        (*_place(tx.scope, turn, stretch), *(() if whole else wanted)),
    )
    for turn_id, advisor_id, answer_id, text, name, round_ in rows:
        if advisor_id in walk.size:
            walk.own.setdefault(advisor_id, {}).setdefault(turn_id, []).append(Own(answer_id, text))
            walk.size[advisor_id] += len(text)
        if whole:
            entry = (answer_id, advisor_id, name, text, round_)
            walk.others.setdefault(turn_id, []).append(entry)


def _past(
    walk: _ThreadWalk, advisor_id: str, peers: Mapping[str, Peer], whole: bool
) -> tuple[ThreadTurn, ...]:
    own = walk.own.get(advisor_id, {})
    return tuple(
        ThreadTurn(
            turn_id,
            message_id,
            depth,
            content,
            said_at,
            session_id,
            tuple(own.get(turn_id, ())),
            _others(walk.others.get(turn_id, ()), advisor_id, depth, peers) if whole else (),
        )
        for turn_id, message_id, depth, content, said_at, session_id, excluded in reversed(
            walk.turns
        )
        if not excluded
    )


def _others(
    entries: Sequence[tuple[str, str, str, str, int]],
    advisor_id: str,
    depth: int,
    peers: Mapping[str, Peer],
) -> tuple[Other, ...]:
    """The last word of each other advisor in a turn, in the order they stand."""
    last: dict[str, Other] = {}
    for answer_id, other_id, name, text, _ in entries:
        if other_id != advisor_id:
            peer = peers.get(other_id, Peer())
            called = peer.called(name)
            last[other_id] = Other(answer_id, other_id, peer.slug, called, text, depth)
    return tuple(last.values())


def last_words(tx: Tx, turn: Turn, since: int, peers: Mapping[str, Peer]) -> tuple[Other, ...]:
    """Everybody's last words before a turn, each in the newest completed turn in which it spoke,
    none older than the depth `since`. So a turn in which only some spoke, or nobody, hides no one;
    who has not spoken for long is not looked for. A synthesis that is being written does not make
    a turn less complete."""
    spoken: dict[str, tuple[int, str]] = {}
    for stretch in _stretches(_before(tx, turn)):
        stretch = replace(stretch, after=max(stretch.after, since - 1))
        if stretch.after < stretch.upto:
            for advisor_id, depth, turn_id in _speakers(tx, turn, stretch):
                spoken.setdefault(advisor_id, (depth, turn_id))
        if stretch.after < since or (spoken and turn.depth - stretch.after > STRIDE):
            break
    return tuple(
        other
        for depth, turn_id in sorted(set(spoken.values()))
        for other in _others(quotable_answers(tx, turn_id), "", depth, peers)
        if spoken[other.advisor_id] == (depth, turn_id)
    )


def _speakers(tx: Tx, turn: Turn, stretch: Segment) -> list[Row]:
    """Who spoke in which completed turn of a stretch, newest first."""
    return tx.all(
        "SELECT a.advisor_id, t.depth, t.id FROM turns t"
        " JOIN answers a ON a.user_id = t.user_id AND a.turn_id = t.id"
        " WHERE t.user_id = ? AND t.conversation_id = ? AND t.branch_id = ? AND t.depth > ?"
        f" AND t.depth <= ? AND t.excluded = 0 AND {SPEAKS}"
        " AND NOT EXISTS (SELECT 1 FROM answers p WHERE p.user_id = t.user_id"
        " AND p.turn_id = t.id AND p.state IN ('pending', 'streaming') AND p.kind <> 'synthesis')"
        " ORDER BY t.depth DESC",
        _place(tx.scope, turn, stretch),
    )


def newest_depth(tx: Tx, answer_ids: Sequence[str]) -> int:
    """The depth of the newest turn in which one of these answers was given; 0: there is none."""
    if not answer_ids:
        return 0
    row = tx.one(
        "SELECT MAX(depth) FROM answers WHERE user_id = ?"
        f" AND id IN ({', '.join('?' * len(answer_ids))})",
        (tx.user, *answer_ids),
    )
    return int(row[0] or 0) if row else 0


def thread_between(
    tx: Tx, turn: Turn, advisor_id: str, after: int, before: int
) -> tuple[ThreadTurn, ...]:
    """An advisor's thread on the path to a turn, between two depths, oldest first, without excluded
    parts."""
    walk = _ThreadWalk(size={advisor_id: 0})
    for segment in path(tx, turn.branch_id, before - 1) if before > 1 else []:
        stretch = replace(segment, after=max(segment.after, after))
        if stretch.after < stretch.upto:
            walk.turns.extend(_turns(tx, turn, stretch))
            _answers(tx, turn, stretch, [advisor_id], walk, whole=False)
    return _past(walk, advisor_id, {}, whole=False)


def quotable_answers(
    tx: Tx, turn_id: str, round_: int | None = None
) -> list[tuple[str, str, str, str, int]]:
    """Answers of a turn that may be quoted, oldest round first (or of one round alone): (answer,
    advisor, name, text, round)."""
    only = "" if round_ is None else " AND a.round = ?"
    rows = tx.all(
        "SELECT a.id, a.advisor_id, a.advisor_name, a.text, a.round FROM answers a"
        f" WHERE a.user_id = ? AND a.turn_id = ? AND {SPEAKS}{only}"
        " ORDER BY a.round, a.position, a.id",
        (tx.user, turn_id) if round_ is None else (tx.user, turn_id, round_),
    )
    return [(row[0], row[1], row[2], row[3], row[4]) for row in rows]


def count_answers(tx: Tx, turn: Turn, advisor_id: str, enough: int | None = None) -> int:
    """Count an advisor's answers in its thread before a turn, without exchange rounds, up to
    `enough`."""
    segments = _before(tx, turn)
    return _count(tx, turn, segments, enough, advisor_id, "'advisor'")


def went_unanswered(tx: Tx, turn_id: str) -> bool:
    """True if the turn exists, got no word of an answer, and will get none as it is."""
    row = tx.one(
        f"SELECT 1 FROM turns t WHERE t.user_id = ? AND t.id = ? AND NOT {ANSWERED}",
        (tx.user, turn_id),
    )
    return row is not None


def count_answered_messages(tx: Tx, turn: Turn) -> int:
    """Count the answered messages of its session before a turn on its branch, excluded or not. A
    message that was never answered began nothing."""
    total = 0
    for stretch in _stretches(_before(tx, turn)):
        row = tx.one(
            "SELECT COUNT(*), COUNT(CASE WHEN COALESCE(t.session_id, '') = ? THEN 1 END),"
            f" COUNT(CASE WHEN COALESCE(t.session_id, '') = ? AND {ANSWERED} THEN 1 END)"
            " FROM turns t WHERE t.user_id = ? AND t.conversation_id = ? AND t.branch_id = ?"
            " AND t.depth > ? AND t.depth <= ?",
            (*[turn.session_id or ""] * 2, *_place(tx.scope, turn, stretch)),
        )
        read, mine, answered = map(int, row) if row else (0, 0, 0)
        total += answered
        if mine < read:  # the session began here
            break
    return total


def last_answered_message(tx: Tx, turn: Turn) -> str | None:
    """The last message of its session that was answered before a turn, excluded or not."""
    for stretch in _stretches(_before(tx, turn)):
        row = tx.one(
            "SELECT t.content FROM turns t WHERE t.user_id = ? AND t.conversation_id = ?"
            " AND t.branch_id = ? AND t.depth > ? AND t.depth <= ?"
            f" AND COALESCE(t.session_id, '') = ? AND {ANSWERED} ORDER BY t.depth DESC LIMIT 1",
            (*_place(tx.scope, turn, stretch), turn.session_id or ""),
        )
        if row is not None:
            return str(row[0])
    return None


def _before(tx: Tx, turn: Turn) -> list[Segment]:
    return path(tx, turn.branch_id, turn.depth - 1) if turn.depth > 1 else []


def _unread(
    tx: Tx, turn: Turn, reach: Reach, segments: Sequence[Segment], bottom: int, advisor_id: str
) -> int:
    """Count the messages before the oldest turn that was read; only a bookends window shows this
    number."""
    if not reach.first_turns or reach.session_only or bottom <= 1:
        return 0
    before = [
        replace(segment, upto=min(segment.upto, bottom - 1))
        for segment in segments
        if segment.after < bottom - 1
    ]
    messages = 0
    for segment in before:
        row = tx.one(
            "SELECT COUNT(*) FROM turns WHERE user_id = ? AND conversation_id = ?"
            " AND branch_id = ? AND depth > ? AND depth <= ? AND excluded = 0",
            _place(tx.scope, turn, segment),
        )
        messages += int(row[0]) if row else 0
    return messages + _count(tx, turn, before, None, advisor_id, "'advisor', 'exchange'")


def _count(
    tx: Tx, turn: Turn, segments: Sequence[Segment], enough: int | None, advisor_id: str, kinds: str
) -> int:
    """Count an advisor's answers of these kinds on a path, up to `enough`. The order keeps
    PostgreSQL at the index: for any few rows it would look through the whole table."""
    count = 0
    for segment in segments:
        limit = "" if enough is None else f" ORDER BY a.depth LIMIT {max(0, enough - count)}"
        row = tx.one(
            "SELECT COUNT(*) FROM (SELECT 1 FROM answers a JOIN turns t"
            " ON t.user_id = a.user_id AND t.id = a.turn_id"
            " WHERE a.user_id = ? AND a.conversation_id = ? AND a.advisor_id = ?"
            f" AND a.branch_id = ? AND a.depth > ? AND a.depth <= ? AND {SPEAKS}"
            f" AND a.kind IN ({kinds}) AND t.excluded = 0{limit}) AS counted",
            (
                tx.user,
                turn.conversation_id,
                advisor_id,
                segment.branch_id,
                segment.after,
                segment.upto,
            ),
        )
        count += int(row[0]) if row else 0
        if enough is not None and count >= enough:
            break
    return count


def _head(
    tx: Tx,
    turn: Turn,
    reach: Reach,
    segments: Sequence[Segment],
    bottom: int,
    needs: Sequence[Need],
) -> dict[str, tuple[ThreadTurn, ...]]:
    """The first turns of the conversation, where a bookends window wants them and the walk did
    not come so far."""
    if not reach.first_turns or bottom <= 1:
        return {}
    upto = min(bottom - 1, reach.first_turns)
    walk = _ThreadWalk(size={need.advisor.id: 0 for need in needs})
    for segment in (candidate for candidate in segments if candidate.after < upto):
        stretch = replace(segment, upto=min(upto, segment.upto))
        walk.turns.extend(_turns(tx, turn, stretch))
        _answers(tx, turn, stretch, list(walk.size), walk, whole=False)
    return {advisor_id: _past(walk, advisor_id, {}, whole=False) for advisor_id in walk.size}
