"""Requests and stored databases stay as they were: see `tests.contract.life`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.contract.life import open_life, read
from tests.contract.write import shown

pytestmark = pytest.mark.contract
HERE = Path(__file__).parent


async def test_every_request_is_what_it_was(tmp_path: Path) -> None:
    async with open_life(tmp_path) as life:
        await life.whole()
        asked = {f"{name}.json": shown(request.body) for name, request in life.asked.items()}
    golden = {path.name: path.read_text("utf-8") for path in (HERE / "golden").iterdir()}
    assert sorted(asked) == sorted(golden)
    for name, text in golden.items():
        assert asked[name] == text, name


async def test_a_stored_database_shows_what_it_showed(tmp_path: Path) -> None:
    packed = (HERE / "stored" / "polyvox.db.gz").read_bytes()
    (tmp_path / "polyvox.db").write_bytes(gzip.decompress(packed))
    before: Any = json.loads(gzip.decompress((HERE / "stored" / "answers.json.gz").read_bytes()))
    async with open_life(tmp_path, before["time"]) as life:
        answers = await read(life.app, before["ids"])
    # The tables were brought up to date when it was opened, after a copy was made.
    forget = "/api/memory/facts/{fact}/forget"
    going, went = (each.pop(forget)["body"] for each in (answers, before["answers"]))
    backups = going.pop("backups")
    assert [name.partition("-")[0] for name in backups] == ["polyvox.db.v16"]
    # A fact goes alone; when the answers were kept, its message and all that came of it went too.
    assert going.pop("facts") == went["facts"]
    assert going.pop("indexRows") == 1
    assert not any(going.values()), going
    # Recall finds the same and may rank it otherwise.
    search = "/api/memory/search?q=workshop"
    found, listed = (each.pop(search)["body"] for each in (answers, before["answers"]))
    assert found.keys() >= listed.keys()
    assert _by_id(found) == _by_id(listed)
    # Links say what a fact corrects or takes back, not the fact itself.
    facts = ("export/body/facts/0", "facts/body/0", "facts/{fact}/body", "items/body/items/0/fact")
    gone = [f"//api/memory/{one}/{name} is gone" for one in facts for name in LINKED]
    assert sorted(differences(answers, before["answers"])) == sorted(gone)


def _by_id(found: Any) -> dict[str, tuple[str, str, str]]:
    """The items of a search, whatever their rank."""
    items = found["factItems"]
    return {one["id"]: (one["text"], one["source"], one["status"]) for one in items}


LINKED = ("corrects", "retracts")


def differences(now: Any, before: Any, path: str = "") -> list[str]:
    """Whatever was shown and is not shown so any more; there may be more fields."""
    if isinstance(before, dict) and isinstance(now, dict):
        lost = [f"{path}/{key} is gone" for key in before if key not in now]
        both = [key for key in before if key in now]
        return lost + [
            line for key in both for line in differences(now[key], before[key], f"{path}/{key}")
        ]
    if isinstance(before, list) and isinstance(now, list) and len(now) == len(before):
        return [
            line
            for place, pair in enumerate(zip(now, before, strict=True))
            for line in differences(*pair, f"{path}/{place}")
        ]
    return [] if now == before else [f"{path}: {now!r}, not {before!r}"]
