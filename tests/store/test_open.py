from __future__ import annotations

import os
from pathlib import Path

import pytest

from polyvox.errors import ConfigError, PolyvoxError, StoreError
from polyvox.store.open import open_database, sqlite_path


async def test_without_an_address_the_database_is_in_the_home(tmp_path: Path) -> None:
    database = await open_database("", tmp_path / "some" / "home")
    await database.close()

    assert (tmp_path / "some" / "home" / "polyvox.db").is_file()


def test_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")

    assert sqlite_path("sqlite:////srv/a b?.db", tmp_path) == Path("/srv/a b?.db")
    assert sqlite_path("sqlite:///here.db", Path("/elsewhere")) == tmp_path / "here.db"
    assert sqlite_path("sqlite:///~/x.db", tmp_path) == Path("/home/somebody/x.db")


async def test_odd_characters_in_a_path(tmp_path: Path) -> None:
    path = tmp_path / "a b?c#d%20é" / "polyvox.db"
    database = await open_database(f"sqlite:///{path}", tmp_path)
    assert await database.read(lambda tx: tx.one("SELECT COUNT(*) FROM users")) == (0,)
    await database.close()

    assert path.is_file()


@pytest.mark.parametrize(
    "url", ["sqlite:///", "sqlite:///:memory:", "sqlite://", "mysql://u:pw@h/d"]
)
async def test_addresses_that_name_nothing(url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not usable") as caught:
        await open_database(url, tmp_path)

    assert "sqlite:///path" in caught.value.hint
    assert "pw" not in caught.value.message


async def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a directory") as caught:
        await open_database(f"sqlite:///{tmp_path}", tmp_path)

    assert "polyvox.db" in caught.value.hint


async def test_a_place_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigError, match="cannot be created"):
        await open_database(f"sqlite:///{tmp_path / 'file' / 'polyvox.db'}", tmp_path)
    with pytest.raises(ConfigError, match="cannot be created"):
        await open_database("sqlite:////proc/nowhere/polyvox.db", tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PolyvoxError, match=r"cannot be (created|opened)"):
            await open_database("", tmp_path)
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    await (await open_database("", tmp_path)).close()
    (tmp_path / "polyvox.db").chmod(0o400)

    database = await open_database("", tmp_path)
    with pytest.raises(StoreError, match="cannot be opened for writing"):
        await database.write(lambda tx: tx.run("DELETE FROM users"))
    await database.close()
