"""Recall: what is found in long conversations beside plain FTS5, and how fast in a large memory."""

from __future__ import annotations

import random
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from tests.memory.updates import REPLIES, SMALL_TALK, UPDATES

from benchmarks import beam
from benchmarks.beam import Chat
from benchmarks.locomo import ADVERSARIAL, CATEGORIES, Asked, Talk, load
from benchmarks.report import Row, at_least, at_most, percentile, plain
from polyvox.memory.query import Query, answer
from polyvox.memory.recall import recall
from polyvox.memory.transcript import ingest
from polyvox.memory.values import Item, Message, Partition
from polyvox.store.database import Database, Tx
from polyvox.store.open import open_database
from polyvox.values import Scope

ME = Scope()
INJECTED = 0.6
DAY = 86_400_000_000
FOREIGN = 2
"""Each question is also asked of so many other conversations."""
RESAMPLED = 10_000
UPDATED_FROM = 1_700_000_000_000_000
NEEDED = (
    "not measured: give a file of LoCoMo conversations with --locomo PATH or POLYVOX_LOCOMO"
    " (it may be used for evaluation only, and is not part of this project)"
)
BEAM_NEEDED = (
    "not measured: give a file of BEAM chats with --beam PATH or POLYVOX_BEAM"
    " (it may be used for evaluation only, and is not part of this project)"
)
DEEP = 25
"""The newer and the older statement are looked for among the first so many."""

Found = list[tuple[str, int]]


async def found(place: Path, locomo: Path | None) -> list[Row]:
    """How much of the evidence is found, and whether what is found is worth telling."""
    if locomo is None:
        return [Row("evidence found in LoCoMo", NEEDED)]
    talks = load(locomo)
    database = await open_database(f"sqlite:///{place / 'recall.db'}", place)
    for talk in talks:
        await _remember(database, talk)
    rows = await _compared(database, talks) + await _injected(database, talks)
    await database.close()
    return rows


async def _compared(database: Database, talks: Sequence[Talk]) -> list[Row]:
    scores: dict[str, list[tuple[int, float]]] = {}
    for talk in talks:
        words = _plain_index(talk)
        for asked in talk.questions:
            items = await _ask(database, talk, talk, asked, 25)
            ours = [(item.evidence[0].session_id, item.evidence[0].index) for item in items]
            for name, places in (("ours", ours), ("plain", _plain(words, asked))):
                for most in (10, 25):
                    part = len(asked.evidence & {*places[:most]}) / len(asked.evidence)
                    scores.setdefault(f"{name} {most}", []).append((asked.category, part))

    def mean(name: str, *wanted: int) -> float:
        chosen = [part for category, part in scores[name] if category in wanted]
        return 100 * sum(chosen) / len(chosen) if chosen else 0.0

    kinds = sorted({category for category, _ in scores["ours 10"]} - {ADVERSARIAL})
    count = sum(category in kinds for category, _ in scores["ours 10"])
    what = f"LoCoMo, {len(talks)} conversations, {count} questions: evidence found among the first"
    rows = [
        at_least(f"{what} 10", mean("ours 10", *kinds), 74, " %"),
        at_least(f"{what} 25", mean("ours 25", *kinds), 82, " %"),
        plain(f"{what} 10, plain FTS5", mean("plain 10", *kinds), " %"),
        plain(f"{what} 25, plain FTS5", mean("plain 25", *kinds), " %"),
        _difference(scores["ours 10"], scores["plain 10"]),
    ]
    for category in [*kinds, ADVERSARIAL]:
        figures = [mean(name, category) for name in ("ours 25", "plain 10", "plain 25")]
        detail = "{:.1f} among 25; plain FTS5 {:.1f} and {:.1f}".format(*figures)
        name = CATEGORIES.get(category, str(category))
        rows.append(plain(f"  {name}, among the first 10", mean("ours 10", category), " %", detail))
    return rows


def _difference(ours: Sequence[tuple[int, float]], theirs: Sequence[tuple[int, float]]) -> Row:
    """How much more is found, with the interval of a paired bootstrap over the questions."""
    more = [
        100 * (one - other)
        for (category, one), (_, other) in zip(ours, theirs, strict=True)
        if category != ADVERSARIAL
    ]
    chance = random.Random(1)
    means = [sum(chance.choices(more, k=len(more))) / len(more) for _ in range(RESAMPLED)]
    low, high = percentile(means, 0.025), percentile(means, 0.975)
    what = "LoCoMo: points above plain FTS5 among the first 10"
    return at_least(what, sum(more) / len(more), 9, "", f"95 % between {low:.1f} and {high:.1f}")


async def _injected(database: Database, talks: Sequence[Talk]) -> list[Row]:
    right: list[bool] = []
    silent: list[bool] = []
    for number, talk in enumerate(talks):
        others = [talks[(number + step) % len(talks)] for step in range(1, FOREIGN + 1)]
        for asked in talk.questions:
            if asked.category == ADVERSARIAL:
                continue
            right.append(_worth_it(await _ask(database, talk, talk, asked, 1)))
            silent += [
                not _worth_it(await _ask(database, talk, other, asked, 1))
                for other in others
                if other is not talk
            ]
    told = 100 * sum(right) / len(right)
    rows = [at_least("LoCoMo: questions to the right memory that bring something", told, 80, " %")]
    if silent:
        quiet = 100 * sum(silent) / len(silent)
        rows.append(
            at_least("LoCoMo: questions to another memory that bring nothing", quiet, 90, " %")
        )
    return rows


def _worth_it(items: Sequence[Item]) -> bool:
    return bool(items) and items[0].relevance >= INJECTED


async def _remember(database: Database, talk: Talk) -> None:
    part = Partition("locomo", talk.name)
    for session, messages in talk.sessions.items():
        start, end = messages[0].said_at or 0, messages[-1].said_at or 0
        await database.write(
            lambda tx, s=session, m=messages, a=start, b=end: ingest(  # type: ignore[misc]  # mypy infers no lambda with a default
                tx, part, s, None, a, b, m
            ),
            ME,
        )


async def _ask(
    database: Database, talk: Talk, memory: Talk, asked: Asked, limit: int
) -> list[Item]:
    now = talk.ended_at + DAY
    part = Partition("locomo", memory.name)
    return await database.read(
        lambda tx: recall(tx, part, asked.question, reference_time=now, limit=limit), ME
    )


def _plain_index(talk: Talk) -> tuple[sqlite3.Connection, Found]:
    """What most people would build: FTS5 as it comes, with its stemmer."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = 'porter unicode61')")
    places: Found = []
    for session, index, text in talk.turns:
        database.execute("INSERT INTO t (rowid, x) VALUES (?, ?)", (len(places), text))
        places.append((session, index))
    return database, places


def _plain(words: tuple[sqlite3.Connection, Found], asked: Asked) -> Found:
    database, places = words
    any_word = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", asked.question))
    rows = database.execute(
        "SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 25", (any_word,)
    )
    return [places[row[0]] for row in rows]


async def chats(place: Path, path: Path | None) -> list[Row]:
    """Which of two statements comes first in BEAM's chats, and whose questions bring something."""
    if path is None:
        return [Row("statements found in BEAM", BEAM_NEEDED)]
    told = beam.load(path)
    database = await open_database(f"sqlite:///{place / 'chats.db'}", place)
    for chat in told:
        for session, messages in chat.sessions.items():
            at = messages[0].said_at or 0
            await database.write(_ingesting(_chat_part(chat), session, at, messages), ME)
    rows = await _newer(database, told) + await _calibrated(database, told)
    await database.close()
    return rows


async def _newer(database: Database, chats: Sequence[Chat]) -> list[Row]:
    both = above = 0
    ranks: list[int] = []
    for chat in chats:
        for update in chat.updates:
            items = await _ask_chat(database, chat, chat, update.question, DEEP)
            places = [(item.evidence[0].session_id, item.evidence[0].index) for item in items]
            newer = min(
                (n for n, place in enumerate(places) if place in update.newer), default=DEEP
            )
            older = min(
                (n for n, place in enumerate(places) if place in update.older), default=DEEP
            )
            ranks.append(newer)
            if newer < DEEP and older < DEEP:
                both += 1
                above += newer < older

    def among(most: int) -> float:
        return 100 * sum(rank < most for rank in ranks) / len(ranks)

    what = f"BEAM, {len(chats)} chats, {len(ranks)} updates: the newer statement"
    share = 100 * above / both if both else 0.0
    return [
        at_least(f"{what} above the older", share, 80, " %", f"{above} of {both} found both"),
        at_least(f"{what} among the first 3", among(3), 60, " %"),
        at_least(f"{what} among the first 10", among(10), 85, " %"),
    ]


async def _calibrated(database: Database, chats: Sequence[Chat]) -> list[Row]:
    right: list[bool] = []
    another: list[bool] = []
    silent: list[bool] = []
    for chat in chats:
        for question in (*(update.question for update in chat.updates), *chat.sourced):
            for memory in chats:
                items = await _ask_chat(database, chat, memory, question, 1)
                (right if memory is chat else another).append(_worth_it(items))
        silent += [
            not _worth_it(await _ask_chat(database, chat, chat, question, 1))
            for question in chat.unanswered
        ]

    def share(answers: Sequence[bool]) -> float:
        return 100 * sum(answers) / len(answers) if answers else 0.0

    return [
        at_least(
            "BEAM: questions to the right memory that bring something", share(right), 85, " %"
        ),
        at_most("BEAM: questions to another memory that bring something", share(another), 12, " %"),
        plain("BEAM: questions that nothing answers that bring nothing", share(silent), " %"),
    ]


async def _ask_chat(
    database: Database, chat: Chat, memory: Chat, question: str, limit: int
) -> Sequence[Item]:
    wanted = Query(question, chat.ended_at + DAY, limit)
    part = _chat_part(memory)
    return (await database.read(lambda tx: answer(tx, part, wanted), ME)).items


def _chat_part(chat: Chat) -> Partition:
    return Partition("beam", chat.name)


async def updated(place: Path) -> list[Row]:
    """Statements of our own that were superseded later, told between much else."""
    database = await open_database(f"sqlite:///{place / 'updates.db'}", place)
    chance, part = random.Random(4), Partition("bench", "updates")
    for age in (0, 1):
        order = chance.sample(UPDATES, len(UPDATES))
        for start in range(0, len(order), 5):
            at = UPDATED_FROM + (60 * age + start) * DAY
            said: list[Message] = []
            for update in order[start : start + 5]:
                for text in (chance.choice(SMALL_TALK), update[1 + age]):
                    said.append(Message("user", text, at + len(said) * 60_000_000))
                    said.append(Message("assistant", chance.choice(REPLIES), said[-1].said_at))
            await database.write(_ingesting(part, f"{age} {start}", at, said), ME)
    both = right = 0
    for update in UPDATES:
        items = await database.read(
            lambda tx, q=update.question: recall(  # type: ignore[misc]  # mypy infers no lambda with a default
                tx, part, q, reference_time=UPDATED_FROM + 400 * DAY
            ),
            ME,
        )
        found = [item.text for item in items]
        if update.older in found and update.newer in found:
            both += 1
            right += found.index(update.newer) < found.index(update.older)
    await database.close()
    what = "statements superseded later: the newer above the older, where both are found"
    detail = f"{right} of {both}; {len(UPDATES)} pairs"
    return [at_least(what, 100 * right / both, 90, " %", detail)]


async def speed(place: Path, url: str, name: str, episodes: int, questions: int = 300) -> list[Row]:
    """A memory of so many episodes, made of invented words as frequent as real ones are."""
    database = await open_database(url or f"sqlite:///{place / 'speed.db'}", place)
    chance = random.Random(1)
    sentence = sentences(chance)
    asked: list[str] = []
    spent = 0.0
    part = Partition("bench", "large")
    for session in range(episodes // 20):
        at = 1_600_000_000_000_000 + session * DAY // 24
        said = [
            Message("assistant" if n % 2 else "user", sentence(), at + n * 30_000_000)
            for n in range(20)
        ]
        asked.append(said[4].text)
        work = _ingesting(part, f"session {session}", at, said)
        began = time.perf_counter()
        await database.write(work, ME)
        spent += time.perf_counter() - began
    rows = [
        at_least(f"turns indexed a second, {name}", episodes / spent, 1000),
        await _asked_often(
            database, part, asked, chance, f"{episodes:,} episodes, {name}", questions
        ),
    ]
    await database.close()
    return rows


def _ingesting(
    part: Partition, session: str, at: int, said: Sequence[Message]
) -> Callable[[Tx], object]:
    return lambda tx: ingest(tx, part, session, None, at, at + DAY // 24, said)


async def _asked_often(
    database: Database,
    part: Partition,
    texts: Sequence[str],
    chance: random.Random,
    what: str,
    questions: int,
) -> Row:
    took: list[float] = []
    for _ in range(questions):
        words = chance.choice(texts).split()[1::2]
        some = chance.sample(words, min(len(words), chance.randint(2, 8)))
        query = f"What did I say about {' '.join(some)}?"
        began = time.perf_counter()
        items = await database.read(
            lambda tx, q=query: recall(tx, part, q, reference_time=2_000_000_000_000_000),  # type: ignore[misc]  # mypy infers no lambda with a default
            ME,
        )
        took.append((time.perf_counter() - began) * 1000)
        if not items:
            raise AssertionError(f"nothing found for {query!r}")
    middle = percentile(took, 0.5)
    return at_most(
        f"query among {what}, p95", percentile(took, 0.95), 50, " ms", f"p50 {middle:.1f} ms"
    )


def sentences(chance: random.Random) -> Callable[[], str]:
    """Sentences of invented words; the nth most frequent occurs about 1/n as often as the first."""
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    words = list(dict.fromkeys(_word(chance, syllables) for _ in range(40_000)))
    weights = list(accumulate(1 / (rank + 8) for rank in range(len(words))))
    glue = ["i", "the", "and", "to", "a", "my", "was", "it", "of", "in", "that", "with", "for"]

    def sentence() -> str:
        chosen = chance.choices(words, cum_weights=weights, k=chance.randint(4, 22))
        return " ".join(_between(chosen, glue, chance))

    return sentence


def _word(chance: random.Random, syllables: Sequence[str]) -> str:
    return "".join(chance.choices(syllables, k=chance.choice((2, 3, 3, 4))))


def _between(words: Sequence[str], glue: Sequence[str], chance: random.Random) -> Iterator[str]:
    for word in words:
        yield chance.choice(glue)
        yield word
