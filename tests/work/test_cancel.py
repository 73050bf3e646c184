"""Work that can be called off: here at once, from elsewhere soon, and nothing is left running."""

from __future__ import annotations

import asyncio

import pytest

from polyvox.errors import StoreError
from polyvox.work.cancel import Bells


class Work:
    """Something that takes for ever, and says how it ended."""

    def __init__(self) -> None:
        self.begun, self.closed = asyncio.Event(), asyncio.Event()

    async def __call__(self) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.closed.set()


async def always() -> bool:
    return True


async def test_it_comes_to_its_own_end() -> None:
    async def work() -> None:
        return None

    assert await Bells().while_wanted("a", work(), always)


async def test_it_is_called_off_by_its_bell() -> None:
    bells, work = Bells(look=3600), Work()
    wanted = True

    async def still() -> bool:
        return wanted

    doing = asyncio.create_task(bells.while_wanted("a", work(), still))
    await work.begun.wait()
    bells.ring("another")
    bells.ring("a")  # it is still wanted: nothing happens
    wanted = False
    bells.ring("a")
    assert await asyncio.wait_for(doing, 20) is False
    assert work.closed.is_set()


async def test_it_looks_by_itself() -> None:
    bells, work = Bells(look=0.001), Work()
    looks = iter((True, True, False))

    async def still() -> bool:
        return next(looks)

    assert await bells.while_wanted("a", work(), still) is False
    assert work.closed.is_set()


async def test_a_store_that_is_away_is_no_reason_to_stop() -> None:
    bells, work = Bells(look=0.001), Work()
    looks = iter((StoreError("Away."), True, False))

    async def still() -> bool:
        now = next(looks)
        if isinstance(now, StoreError):
            raise now
        return now

    assert await bells.while_wanted("a", work(), still) is False


async def test_its_failure_is_told() -> None:
    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Bells().while_wanted("a", work(), always)


async def test_who_ends_ends_the_work() -> None:
    bells, work = Bells(), Work()
    doing = asyncio.create_task(bells.while_wanted("a", work(), always))
    await work.begun.wait()
    doing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await doing
    assert work.closed.is_set()
