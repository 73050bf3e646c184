"""A run that is cut off anywhere goes on, and pays again for what was in flight at most."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.evaluation.cutting import SETTINGS, Breaking, done, killed, said, wanted
from tests.provider import ProviderServer
from tests.session.room import Hand, open_room

pytestmark = pytest.mark.contract


async def test_wherever_it_is_cut_off_one_call_is_made_again(tmp_path: Path) -> None:
    async with ProviderServer() as provider:
        run_id = await wanted(tmp_path / "calm", provider)
        calm = Breaking(provider)
        expected = said(await done(tmp_path / "calm", provider, run_id))
        assert expected[0][0] == "finished"
        assert calm.count > 50
        for number in range(6):
            home = tmp_path / str(number)
            run_id = await wanted(home, provider)
            breaking = Breaking(provider, 1 + (calm.count - 1) * number // 5)
            async with open_room(home, provider=provider, clock=Hand(), **SETTINGS) as room:
                room.polyvox.work()
                await provider.until(lambda: breaking.count == breaking.never)  # noqa: B023 - now
            assert said(await done(home, provider, run_id)) == expected
            assert breaking.count == calm.count + 1


async def test_with_three_answers_at_once_three_calls_are_made_again_at_most(
    tmp_path: Path,
) -> None:
    three = {**SETTINGS, "evaluation": {"concurrency": 3}}
    async with ProviderServer() as provider:
        run_id = await wanted(tmp_path / "calm", provider)
        calm = Breaking(provider)
        expected = said(await done(tmp_path / "calm", provider, run_id))
        for never in (2, 31, 88):
            home = tmp_path / str(never)
            run_id = await wanted(home, provider)
            breaking = Breaking(provider, never)
            async with open_room(home, provider=provider, clock=Hand(), **three) as room:
                room.polyvox.work()
                await provider.until(lambda: breaking.count >= never)  # noqa: B023 - now
            assert said(await done(home, provider, run_id)) == expected
            assert breaking.count <= calm.count + 3


@pytest.mark.slow
@pytest.mark.parametrize("never", [5, 23, 47])
async def test_kill_9_and_another_process_goes_on(tmp_path: Path, never: int) -> None:
    async with ProviderServer() as provider:
        run_id = await wanted(tmp_path / "calm", provider)
        calm = Breaking(provider)
        expected = said(await done(tmp_path / "calm", provider, run_id))
        found, calls = await killed(tmp_path / "home", provider, never)
        assert said(found) == expected
        assert calls == calm.count + 1
