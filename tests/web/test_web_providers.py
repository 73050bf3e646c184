"""Providers that are described on the page: asked at once, never sent a key of another place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.provider import ProviderServer, Script
from tests.web.house import House
from tests.web.kept import answered, open_kept, row_of

pytestmark = pytest.mark.contract

SECRET = "sk-put-in-0123456789abcdef"


async def provider_row(house: House, name: str) -> dict[str, Any]:
    return await row_of(house, "/api/providers", name)


async def test_one_of_ones_own_is_asked_at_once_and_after_a_restart(tmp_path: Path) -> None:
    async with ProviderServer() as provider:
        async with open_kept(tmp_path, provider=provider) as house:
            body = {"kind": "anthropic", "base_url": f"{provider.base_url}/", "models": ["a", "b"]}
            reply = await house.put("/api/providers/mine", body)
            assert reply.status == 200
            row = reply.json()
            assert row == await provider_row(house, "mine")
            assert row == {
                "name": "mine",
                "kind": "anthropic",
                "base_url": provider.base_url,
                "origin": "page",
                "where": str(tmp_path / "home" / "settings.toml"),
                "locked": False,
                "address_fixed": False,
                "requests_per_minute": None,
                "concurrency": None,
                "min_delay": 0,
                "models": ["mine:a", "mine:b"],
                "key": "not needed",
                "key_source": "not set",
                "key_stored": False,
            }
            assert (await answered(house, "mine:a"))["state"] == "completed"
            assert provider.log[-1].path.endswith("/messages")
            reply = await house.patch("/api/settings", {"models.default": "mine:b"})
            assert reply.status == 200
        async with open_kept(tmp_path, provider=provider) as house:
            assert house.polyvox.models.default == "mine:b"
            assert (await answered(house, "mine:b"))["state"] == "completed"


async def test_it_is_replaced_as_a_whole(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as house:
        url = house.provider.base_url
        paced = {"base_url": url, "concurrency": 2, "min_delay": 0.5, "requests_per_minute": 60}
        row = (await house.put("/api/providers/mine", paced)).json()
        assert {name: row[name] for name in paced} == paced
        row = (await house.put("/api/providers/mine", {"base_url": url, "concurrency": 3})).json()
        assert (row["concurrency"], row["min_delay"], row["requests_per_minute"]) == (3, 0, None)


async def test_its_pace_holds(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as house:
        body = {"base_url": house.provider.base_url, "concurrency": 1}
        await house.put("/api/providers/mine", body)
        house.provider.script("a", Script(pieces=("On", "e."), gates={1: "a"}))
        advisors = [await house.advisor(f"mine:{name}") for name in ("a", "b")]
        talk = await house.conversation(*advisors)
        turn = await house.send(talk, "Well?")
        await house.provider.arrived(1)
        for _ in range(20):
            await house.get("/healthz")
        assert len(house.provider.log) == 1
        house.provider.gate("a").set()
        await house.ended(talk, turn["turn_id"])
        assert len(house.provider.log) == 2


async def test_removed_its_advisors_say_why(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as house:
        await house.put("/api/providers/mine", {"base_url": house.provider.base_url})
        await house.put("/api/keys/mine", {"key": SECRET})
        talk = await house.conversation(await house.advisor("mine:a"))
        await house.say(talk, "Well?")
        assert (await house.delete("/api/providers/mine")).status == 204
        turn = await house.say(talk, "And now?")
        answer = await house.answer(turn["answers"][0]["answer_id"])
        assert answer["state"] == "failed"
        assert "no provider 'mine'" in answer["error"]["message"]
        assert answer["error"]["hint"]
        assert (await house.delete("/api/providers/mine")).status == 404
        row = (await house.put("/api/providers/mine", {"base_url": "http://127.0.0.1:1"})).json()
        assert row["key_stored"] is False, "its key went with it"


async def test_one_that_a_setting_needs_stays(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as house:
        await house.put("/api/providers/mine", {"base_url": house.provider.base_url})
        await house.patch("/api/settings", {"models.fallback": ["mine:a"]})
        reply = await house.delete("/api/providers/mine")
        assert reply.status == 409
        assert reply.error["param"] == "models.fallback"
        assert "models.fallback" in reply.error["hint"]
        await house.patch("/api/settings", {"models.fallback": None})
        assert (await house.delete("/api/providers/mine")).status == 204


async def test_a_key_stays_with_the_machine_it_was_given_for(tmp_path: Path) -> None:
    async with ProviderServer() as other, open_kept(tmp_path) as house:
        url = house.provider.base_url
        await house.put("/api/providers/mine", {"base_url": url})
        await house.put("/api/keys/mine", {"key": SECRET})
        row = (await house.put("/api/providers/mine", {"base_url": f"{url}/more"})).json()
        assert row["key_stored"] is True, "another path of the same machine"
        row = (await house.put("/api/providers/mine", {"base_url": other.base_url})).json()
        assert (row["key_stored"], row["key"]) == (False, "not needed")
        await answered(house, "mine:a")
        assert "authorization" not in other.log[-1].headers
        assert SECRET not in (tmp_path / "home" / "keys.toml").read_text()
        await house.put("/api/keys/ollama", {"key": SECRET})
        row = (await house.put("/api/providers/ollama", {"base_url": other.base_url})).json()
        assert row["key_stored"] is False
        await house.put("/api/keys/ollama", {"key": SECRET})
        assert (await house.delete("/api/providers/ollama")).status == 204
        assert (await provider_row(house, "ollama"))["key_stored"] is False


async def test_a_key_without_its_provider_serves_no_other(tmp_path: Path) -> None:
    """One was put in for a provider of the file; that is gone from the file, and somebody describes
    another under its name."""
    config = '[providers.lab]\nbase_url = "{lab}"\n'
    async with open_kept(tmp_path, config) as house:
        await house.put("/api/keys/lab", {"key": SECRET})
    async with open_kept(tmp_path) as house:
        row = (await house.put("/api/providers/lab", {"base_url": house.provider.base_url})).json()
        assert row["key_stored"] is False


async def test_keys_of_the_environment_go_to_no_address_of_the_page(tmp_path: Path) -> None:
    env = {"OPENAI_API_KEY": SECRET, "POLYVOX_PROVIDERS_LAB_API_KEY": SECRET}
    config = '[providers.lab]\nbase_url = "http://127.0.0.1:1/v1"\n'
    async with open_kept(tmp_path, config, env) as house:
        url = house.provider.base_url
        for body in ({"base_url": url}, {"kind": "anthropic"}, {"kind": "openai", "base_url": url}):
            reply = await house.put("/api/providers/openai", body)
            assert reply.status == 409
            assert "built in" in reply.error["message"]
        reply = await house.put("/api/providers/lab", {"base_url": url})
        assert reply.status == 409
        assert str(tmp_path / "polyvox.toml") in reply.error["message"]
        assert (await house.delete("/api/providers/lab")).status == 409
        rows = {row["name"]: row for row in (await house.get("/api/providers")).json()}
        assert (rows["lab"]["origin"], rows["lab"]["locked"]) == ("file", True)
        assert (rows["openai"]["origin"], rows["openai"]["address_fixed"]) == ("built in", True)
        assert "local" not in rows


async def test_the_file_wins_over_a_provider_of_the_page_as_a_whole(tmp_path: Path) -> None:
    async with ProviderServer() as theirs, open_kept(tmp_path) as house:
        await house.put("/api/providers/lab", {"base_url": theirs.base_url})
    config = f'[providers.lab]\nbase_url = "http://127.0.0.1:9/v1"\napi_key = "{SECRET}"\n'
    async with open_kept(tmp_path, config) as house:
        row = await provider_row(house, "lab")
        assert (row["base_url"], row["locked"]) == ("http://127.0.0.1:9/v1", True)


async def test_the_pace_of_a_built_in_one_can_be_set(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as house:
        row = (await house.put("/api/providers/openai", {"requests_per_minute": 30})).json()
        assert (row["origin"], row["requests_per_minute"]) == ("page", 30)
        assert row["base_url"] == "https://api.openai.com/v1"
        assert row["models"], "its own models stay"
        await house.put("/api/keys/openai", {"key": SECRET})
        assert (await house.delete("/api/providers/openai")).status == 204
        row = await provider_row(house, "openai")
        assert (row["origin"], row["key_stored"]) == ("built in", True)
        reply = await house.put("/api/providers/ollama", {"base_url": "http://10.0.0.5:11434/v1"})
        assert reply.json()["base_url"] == "http://10.0.0.5:11434/v1"
        assert (await house.delete("/api/providers/ollama")).status == 204
        assert (await provider_row(house, "ollama"))["base_url"] == "http://127.0.0.1:11434/v1"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8080",
        "ftp://127.0.0.1/v1",
        "http://",
        "http:///v1",
        "http://a b/v1",
        "http://me:word@127.0.0.1/v1",
        "http://me@127.0.0.1/v1",
        "http://127.0.0.1/v1?key=word",
        "http://127.0.0.1/v1#word",
        "http://127.0.0.1:99999/v1",
        "http://127.0.0.1:x/v1",
        "http://127.0.0.1\\@10.0.0.1/v1",
        "http://[::1/v1",
        "http://127.0.0.1/\u0000",
        "http://127.0.0.1/\n",
        "javascript:alert(1)",
        "http://" + "x" * 2000,
        7,
    ],
)
async def test_an_address_that_is_none(tmp_path: Path, url: object) -> None:
    async with open_kept(tmp_path) as house:
        reply = await house.put("/api/providers/mine", {"base_url": url})
        assert reply.status == 422, reply.text
        assert reply.error["param"] == "base_url"
        assert not (tmp_path / "home" / "settings.toml").exists()


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"kind": "soap"}, "kind"),
        ({"concurrency": 0}, "concurrency"),
        ({"requests_per_minute": 0}, "requests_per_minute"),
        ({"min_delay": -1}, "min_delay"),
        ({"models": ["a b"]}, "models.0"),
        ({"api_key": "env:PATH"}, "api_key"),
        ({"headers": {"a": "b"}}, "headers"),
        ({"default": "x"}, "default"),
    ],
)
async def test_what_cannot_be_said_of_one(tmp_path: Path, body: dict[str, Any], param: str) -> None:
    async with open_kept(tmp_path) as house:
        reply = await house.put("/api/providers/mine", {"base_url": "http://127.0.0.1:1", **body})
        assert reply.status == 422
        assert reply.error["param"] == param


@pytest.mark.parametrize("name", ["Lab", "a%20b", "a.b", "-a", "x" * 41, "%C3%A9", "a%2Fb"])
async def test_a_name_that_is_none(tmp_path: Path, name: str) -> None:
    async with open_kept(tmp_path) as house:
        reply = await house.put(f"/api/providers/{name}", {"base_url": "http://127.0.0.1:1"})
        assert reply.status in (404, 422)
        assert reply.error["message"]


async def test_those_inside_the_program(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as house:
        for own in ("local", "scripted"):
            reply = await house.put(f"/api/providers/{own}", {"base_url": "http://127.0.0.1:1"})
            assert reply.status == 409
            assert (await house.delete(f"/api/providers/{own}")).status == 404
        assert (await house.delete("/api/providers/openai")).status == 404


async def test_a_home_that_cannot_be_written_keeps_key_and_address(tmp_path: Path) -> None:
    async with ProviderServer() as other, open_kept(tmp_path) as house:
        await house.put("/api/providers/mine", {"base_url": house.provider.base_url})
        await house.put("/api/keys/mine", {"key": SECRET})
        files = {file: file.read_text() for file in (tmp_path / "home").glob("*.toml")}
        assert len(files) == 2
        (tmp_path / "home" / "settings.toml.new").mkdir()
        reply = await house.put("/api/providers/mine", {"base_url": other.base_url})
        assert reply.status == 503
        assert {file: file.read_text() for file in files} == files
        await answered(house, "mine:a")
        assert house.provider.log[-1].headers["authorization"] == f"Bearer {SECRET}"
        assert other.log == []
