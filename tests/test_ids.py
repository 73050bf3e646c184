"""Ids sort in the order they were made, whoever makes them; the clock is in microseconds."""

from __future__ import annotations

import re
import threading
import time
import uuid

from polyvox.ids import content_hash, new_id, system_clock


def test_ids_are_uuids_of_version_seven() -> None:
    before = time.time_ns() // 1_000_000
    made = uuid.UUID(new_id())
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert before <= made.int >> 80 <= time.time_ns() // 1_000_000 + 5000
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", str(made))


def test_ids_of_one_process_sort_as_they_were_made() -> None:
    made = [new_id() for _ in range(20_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_threads_never_make_the_same() -> None:
    made: list[list[str]] = [[] for _ in range(4)]

    def make(mine: list[str]) -> None:
        mine += [new_id() for _ in range(2000)]

    threads = [threading.Thread(target=make, args=(mine,)) for mine in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one for mine in made for one in mine}) == 8000
    assert all(mine == sorted(mine) for mine in made)


def test_the_clock_is_utc_in_microseconds() -> None:
    before = time.time_ns() // 1000
    assert before <= system_clock() <= time.time_ns() // 1000


def test_a_text_has_a_name() -> None:
    assert content_hash("a") == content_hash("a") == "ca978112ca1bbdcafac231b39a23dc4d"
    assert content_hash("a") != content_hash("b")
