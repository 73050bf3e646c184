"""Keys that are put in on the page: used at once, kept for this user alone, and never shown."""

from __future__ import annotations

import asyncio
import stat
import tomllib
from pathlib import Path

import pytest
from tests.provider import ProviderServer, Script
from tests.web.house import House
from tests.web.kept import answered, open_kept, page, row_of

from polyvox.errors import ConfigError

pytestmark = pytest.mark.contract

SECRET = "sk-put-in-0123456789abcdef"
OTHER = "sk-another-fedcba9876543210"
LAB = '[providers.lab]\nbase_url = "{lab}"\n'
ORDER = ("openrouter", "anthropic", "openai", "gemini")


async def key_row(house: House, provider: str) -> dict[str, object]:
    return await row_of(house, "/api/keys", provider)


async def test_every_provider_that_is_reached_has_a_row(tmp_path: Path) -> None:
    env = {"OPENAI_API_KEY": OTHER}
    async with open_kept(tmp_path, LAB, env) as house:
        rows = {row["provider"]: row for row in (await house.get("/api/keys")).json()}
        assert set(rows) == {*ORDER, "ollama", "lab"}
        assert rows["openai"] == {
            "provider": "openai",
            "key": "present",
            "source": "env:OPENAI_API_KEY",
            "stored": False,
            "overruled": False,
        }
        assert rows["gemini"]["key"] == "missing"
        assert rows["ollama"]["key"] == rows["lab"]["key"] == "not needed"


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_a_key_is_used_by_the_next_turn_and_gone_when_it_is_removed(
    tmp_path: Path, kind: str
) -> None:
    config = f'{LAB}kind = "{kind}"\n[limits]\nretries = 0\n'
    header = {"openai": ("authorization", f"Bearer {SECRET}"), "anthropic": ("x-api-key", SECRET)}
    name, value = header[kind]
    async with ProviderServer(key=SECRET) as provider:
        async with open_kept(tmp_path, config, provider=provider) as house:
            before = await answered(house, "lab:x")
            assert before["error"]["category"] == "authentication"
            assert "under Settings" in before["error"]["hint"]
            reply = await house.put("/api/keys/lab", {"key": f"  {SECRET}\n"})
            assert reply.status == 200
            assert reply.json() == {
                "provider": "lab",
                "key": "present",
                "source": "stored:lab",
                "stored": True,
                "overruled": False,
            }
            answer = await answered(house, "lab:x")
            assert answer["state"] == "completed"
            assert provider.log[-1].headers[name] == value
            assert (await house.post("/api/models/check", {"model": "lab:x"})).json()["ok"]
        async with open_kept(tmp_path, config, provider=provider) as house:
            assert (await answered(house, "lab:x"))["state"] == "completed", "after a restart, too"
            assert (await house.delete("/api/keys/lab")).status == 204
            after = await answered(house, "lab:x")
            assert (after["state"], after["error"]["category"]) == ("failed", "authentication")
            assert name not in provider.log[-1].headers
            assert (await key_row(house, "lab"))["stored"] is False


async def test_an_answer_under_way_keeps_its_key(tmp_path: Path) -> None:
    async with open_kept(tmp_path, LAB) as house:
        await house.put("/api/keys/lab", {"key": SECRET})
        house.provider.script("slow", Script(pieces=("One", " two."), gates={1: "on"}))
        talk = await house.conversation(await house.advisor("lab:slow"))
        turn = await house.send(talk, "Count.")
        await house.provider.arrived(1)
        await house.delete("/api/keys/lab")
        house.provider.gate("on").set()
        await house.ended(talk, turn["turn_id"])
        answer = await house.answer(turn["answers"][0]["answer_id"])
        assert (answer["state"], answer["text"]) == ("completed", "One two.")


async def test_the_default_model_follows_the_keys_and_the_tiny_one_leaves(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as house:
        models = (await house.get("/api/models")).json()
        assert (models["default"], bool(models["note"])) == ("local:smollm2", True)
        assert "Settings" in models["note"]
        assert (await page(house))["models.default"]["means"] == "local:smollm2"
        for provider in reversed(ORDER):
            assert (await house.put(f"/api/keys/{provider}", {"key": SECRET})).status == 200
            models = (await house.get("/api/models")).json()
            assert models["default"].startswith(f"{provider}:")
            assert models["note"] == ""
            assert (await page(house))["models.default"]["means"] == models["default"]
            assert (await house.get("/healthz")).json()["default_model"] == models["default"]
        for provider in ORDER:
            assert (await house.get("/api/models")).json()["default"].startswith(f"{provider}:")
            await house.delete(f"/api/keys/{provider}")
        assert (await house.get("/api/models")).json()["default"] == "local:smollm2"


async def test_keys_from_elsewhere_win_and_the_page_says_so(tmp_path: Path) -> None:
    config = f'{LAB}api_key = "{OTHER}"\n[providers.ring]\nbase_url = "{{lab}}"\n'
    config += 'api_key = "env:RING_KEY"\n'
    async with open_kept(tmp_path, config, {"RING_KEY": OTHER}) as house:
        for provider, source in (
            ("lab", "written in the configuration"),
            ("ring", "env:RING_KEY"),
        ):
            row = (await house.put(f"/api/keys/{provider}", {"key": SECRET})).json()
            assert (row["stored"], row["overruled"], row["source"]) == (True, True, source)
            await answered(house, f"{provider}:x")
            assert house.provider.log[-1].headers["authorization"] == f"Bearer {OTHER}"
    async with open_kept(tmp_path, config, {"RING_KEY": " "}) as house:
        row = await key_row(house, "ring")
        assert (row["overruled"], row["source"]) == (False, "stored:ring")
        await answered(house, "ring:x")
        assert house.provider.log[-1].headers["authorization"] == f"Bearer {SECRET}"


async def test_keys_are_kept_for_this_user_alone(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as house:
        work = [house.put(f"/api/keys/{one}", {"key": f"{SECRET}{one}"}) for one in ORDER]
        assert {reply.status for reply in await asyncio.gather(*work)} == {200}
        file = tmp_path / "home" / "keys.toml"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        kept = tomllib.loads(file.read_text())
        assert kept == {one: f"{SECRET}{one}" for one in ORDER}, "none was lost to another"
        assert not (tmp_path / "home" / "settings.toml").exists()


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("", ""),
        (" \n\t ", "empty"),
        (f"{SECRET}\x00", "characters"),
        (f"{SECRET}\nHost: evil", "characters"),
        (f"two words {SECRET}", "characters"),
        (f"{SECRET}é", "characters"),
        (f"{SECRET}\ud800", ""),
        (SECRET * 60, ""),
        (SECRET * 41, "more than 1000"),
        ("env:PATH", "itself"),
        ("keyring:work", "itself"),
        (7, ""),
        (None, ""),
        ([SECRET], ""),
    ],
)
async def test_what_is_no_key_is_refused_without_repeating_it(
    tmp_path: Path, key: object, words: str
) -> None:
    async with open_kept(tmp_path) as house:
        reply = await house.put("/api/keys/openai", {"key": key})
        assert reply.status == 422, reply.text
        assert words in reply.error["message"]
        assert reply.error["param"] == "key"
        assert SECRET not in reply.text
        reply = await house.put("/api/keys/openai", {"key": SECRET, SECRET[:20]: SECRET})
        assert reply.status == 422
        assert not (tmp_path / "home" / "keys.toml").exists()


async def test_a_key_is_never_taken_for_the_name_of_a_place(tmp_path: Path) -> None:
    """Nothing that is written into the file by hand fetches a variable, either."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "keys.toml").write_text('lab = "env:PRIVATE"\n')
    async with open_kept(tmp_path, LAB, {"PRIVATE": OTHER}) as house:
        await answered(house, "lab:x")
        assert house.provider.log[-1].headers["authorization"] == "Bearer env:PRIVATE"


async def test_who_has_no_key_to_put_in(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as house:
        for own in ("local", "scripted"):
            assert (await house.put(f"/api/keys/{own}", {"key": SECRET})).status == 409
            assert (await house.delete(f"/api/keys/{own}")).status == 409
        reply = await house.put("/api/keys/opnai", {"key": SECRET})
        assert reply.status == 404
        assert "openai" in reply.error["hint"]
        assert SECRET not in reply.text
        assert (await house.delete("/api/keys/opnai")).status == 404
        assert (await house.delete("/api/keys/openai")).status == 404


@pytest.mark.parametrize("text", [f'openai = {SECRET}"', f"openai = ['{SECRET}']", f"[{SECRET}"])
async def test_a_broken_file_of_keys_is_named_and_not_told(tmp_path: Path, text: str) -> None:
    home = tmp_path / "home"
    async with open_kept(tmp_path) as house:
        (home / "keys.toml").write_text(text)
        reply = await house.put("/api/keys/gemini", {"key": OTHER})
        assert reply.status == 409
        assert str(home / "keys.toml") in reply.error["message"]
        assert SECRET not in reply.text
        assert (home / "keys.toml").read_text() == text
    with pytest.raises(ConfigError) as caught:
        async with open_kept(tmp_path):
            pass
    assert "keys.toml" in caught.value.message
    assert "put the keys in again" in caught.value.hint
    assert SECRET not in f"{caught.value.message}{caught.value.hint}{caught.value!r}"


async def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as house:
        await house.put("/api/keys/openai", {"key": SECRET})
        (tmp_path / "home" / "keys.toml.new").mkdir()
        reply = await house.put("/api/keys/openai", {"key": OTHER})
        assert reply.status == 503
        assert OTHER not in reply.text
        assert house.polyvox.settings.keys["openai"].reveal() == SECRET
        assert tomllib.loads((tmp_path / "home" / "keys.toml").read_text()) == {"openai": SECRET}
