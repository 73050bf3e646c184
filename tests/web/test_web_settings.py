"""The settings room: what can be changed on the page, at once and for good, and what cannot."""

from __future__ import annotations

import asyncio
import resource
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.provider import ProviderServer, Script
from tests.web.house import KEY, House, open_house
from tests.web.kept import answered, open_kept, page, setting

from polyvox.errors import ConfigError
from polyvox.settings import load
from polyvox.settings.schema import changeable

LAB = '[providers.lab]\nbase_url = "{lab}"\n'


def kept(place: Path) -> dict[str, Any]:
    return tomllib.loads((place / "home" / "settings.toml").read_text(encoding="utf-8"))


# -- as they are ---------------------------------------------------------------------------------


async def test_settings_never_show_a_secret(tmp_path: Path) -> None:
    more: dict[str, Any] = {
        "providers": {"other": {"base_url": "http://127.0.0.1:1/v1", "api_key": "env:OTHER_KEY"}},
        "server": {"token": "tok-secret-secret"},
    }
    async with open_house(tmp_path, **more) as house:
        reply = await house.get("/api/settings")
        assert reply.status == 200
        assert KEY not in reply.text
        assert "tok-secret" not in reply.text
        data = reply.json()
        assert data["providers"]["lab"]["api_key"] == "written in the configuration"
        assert data["providers"]["other"]["api_key"] == "env:OTHER_KEY"
        assert data["server"]["token"] == "written in the configuration"
        assert data["models"]["default"] == "lab:default"
        assert data["limits"]["first_byte"] == 60


async def test_settings_show_no_secret_in_headers_or_addresses(tmp_path: Path) -> None:
    provider = {
        "base_url": "http://me-secret:hunter2secret@127.0.0.1:1/v1?key=query-secret",
        "headers": {"X-Api-Key": "header-secret", "X-Team": "blue"},
    }
    async with open_house(tmp_path, providers={"odd": provider}) as house:
        for path in ("/api/settings", "/api/models", "/healthz"):
            reply = await house.get(path)
            assert reply.status == 200
            assert "header-secret" not in reply.text
            for secret in ("me-secret", "hunter2secret", "query-secret"):
                assert secret not in reply.text


@pytest.mark.asyncio(loop_scope="session")
async def test_models(house: House) -> None:
    reply = await house.get("/api/models")
    assert reply.status == 200
    assert KEY not in reply.text
    data = reply.json()
    assert data["default"] == "lab:default"
    rows = {row["name"]: row for row in data["providers"]}
    assert rows["lab"]["key"] == "present"
    assert rows["lab"]["kind"] == "openai"
    assert rows["claude"]["kind"] == "anthropic"
    assert rows["openrouter"]["key"] == "missing"
    assert rows["openrouter"]["key_source"] == "env:OPENROUTER_API_KEY"
    assert rows["local"]["key"] == "not needed"
    assert "scripted:echo" in rows["scripted"]["models"]


# -- what the page is told -------------------------------------------------------------------------


async def test_every_setting_is_told_with_its_origin_and_its_bounds(tmp_path: Path) -> None:
    env = {"POLYVOX_LIMITS_QUEUE": "3"}
    async with open_kept(tmp_path, '[models]\ndefault = "scripted:echo"', env) as house:
        rows = await page(house)
        assert list(rows) == list(changeable())
        assert all(row["help"].endswith(".") for row in rows.values())
        tokens = rows["limits.max_tokens"]
        assert (tokens["type"], tokens["value"], tokens["default"]) == ("number", 2048, 2048)
        assert (tokens["origin"], tokens["where"], tokens["locked"]) == ("default", "", False)
        assert (tokens["whole"], tokens["min"], tokens["above"]) == (True, 1, False)
        stall = rows["limits.stall"]
        assert (stall["min"], stall["above"], stall["whole"]) == (0, True, False)
        queue = rows["limits.queue"]
        assert (queue["value"], queue["origin"], queue["locked"]) == (3, "environment", True)
        assert "POLYVOX_LIMITS_QUEUE" in queue["where"]
        default = rows["models.default"]
        assert (default["type"], default["value"]) == ("model", "scripted:echo")
        assert (default["origin"], default["locked"]) == ("file", True)
        assert default["where"] == str(tmp_path / "polyvox.toml")
        synthesis = rows["models.synthesis"]
        assert (synthesis["value"], synthesis["means"]) == ("", "scripted:echo")
        assert rows["models.fallback"]["type"] == "models"
        assert rows["models.fallback"]["value"] == []
        cap = rows["limits.cost_per_day"]
        assert (cap["type"], cap["value"], cap["optional"]) == ("number", None, True)
        assert rows["limits.context"]["pattern"]
        assert rows["timezone"]["means"]


async def test_what_decides_who_comes_in_cannot_be_changed_here() -> None:
    fixed = {"database", "server.host", "server.port", "server.token", "server.hosts", "debug"}
    assert not fixed & set(changeable())


async def test_an_empty_value_in_the_file_leaves_it_to_the_page(tmp_path: Path) -> None:
    async with open_kept(tmp_path, '[models]\ndefault = ""') as house:
        assert not (await setting(house, "models.default"))["locked"]
        await house.patch("/api/settings", {"models.default": "scripted:echo"})
        assert house.polyvox.models.default == "scripted:echo"


async def test_settings_of_a_program_are_its_own(tmp_path: Path) -> None:
    """Settings made in code win like a file; what they leave open can be changed, and is found
    again by the next program with this home."""
    async with open_house(tmp_path) as house:
        row = await setting(house, "models.default")
        assert (row["origin"], row["locked"]) == ("program", True)
        reply = await house.patch("/api/settings", {"limits.max_tokens": 77})
        assert reply.status == 200
        assert (await house.get("/api/models")).json()["default"] == "lab:default"
    async with open_house(tmp_path) as house:
        assert (await setting(house, "limits.max_tokens"))["value"] == 77
        assert house.polyvox.settings.providers["lab"].api_key.reveal(), "its own part is as it was"
        assert await answered(house, "lab:x")
        assert house.provider.log[-1].json()["max_tokens"] == 77


# -- changing --------------------------------------------------------------------------------------


async def test_a_change_holds_at_once_and_after_a_restart(tmp_path: Path) -> None:
    change = {
        "models.default": "lab:chosen",
        "models.fallback": ["lab:spare", "scripted:echo"],
        "limits.max_tokens": 321,
        "limits.cost_per_day": 2.5,
        "limits.context": "9000 tokens",
        "timezone": "Europe/Lisbon",
    }
    async with ProviderServer() as provider:
        async with open_kept(tmp_path, LAB, provider=provider) as house:
            reply = await house.patch("/api/settings", change)
            assert reply.status == 200
            rows = {row["name"]: row for row in reply.json()["settings"]}
            for name, value in change.items():
                assert (rows[name]["value"], rows[name]["origin"]) == (value, "page"), name
            assert (await page(house)) == rows
            shown = (await house.get("/api/settings")).json()
            assert shown["limits"]["max_tokens"] == 321
            assert shown["models"]["fallback"] == ["lab:spare", "scripted:echo"]
            turn = await house.say(await house.conversation(), "Is it so?")
            assert len(turn["answers"]) == 6
            asked = {(r.model, r.json()["max_tokens"]) for r in provider.log}
            assert asked == {("chosen", 321)}
        file = tmp_path / "home" / "settings.toml"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert kept(tmp_path)["limits"] == {
            "max_tokens": 321,
            "cost_per_day": 2.5,
            "context": "9000 tokens",
        }
        async with open_kept(tmp_path, LAB, provider=provider) as house:
            found = await page(house)
            assert {name: found[name]["value"] for name in change} == change


async def test_null_and_nothing_go_back_to_the_default(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as house:
        first = {
            "models.default": "scripted:echo",
            "limits.queue": 2,
            "models.fallback": ["scripted:echo"],
        }
        await house.patch("/api/settings", first)
        reply = await house.patch(
            "/api/settings", {"models.default": "", "limits.queue": None, "models.fallback": []}
        )
        assert reply.status == 200
        for row in reply.json()["settings"]:
            assert row["origin"] == "default", row["name"]
            assert row["value"] == row["default"]
        assert kept(tmp_path) == {}


async def test_values_are_kept_as_they_were_understood(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as house:
        await house.patch("/api/settings", {"limits.queue": "5", "limits.stall": 7})
        assert kept(tmp_path) == {"limits": {"queue": 5, "stall": 7.0}}


async def test_answers_that_run_go_on_and_the_next_turn_is_new(tmp_path: Path) -> None:
    async with open_kept(tmp_path, LAB) as house:
        script = Script(pieces=("One", " two", " three."), gates={1: "on"})
        advisor = await house.advisor("lab:slow")
        house.provider.script("slow", script)
        talk = await house.conversation(advisor)
        turn = await house.send(talk, "Count.")
        await house.provider.arrived(1)
        changes = {"limits.max_tokens": 9, "limits.deadline": 0.001, "limits.stall": 0.001}
        assert (await house.patch("/api/settings", changes)).status == 200
        house.provider.gate("on").set()
        await house.ended(talk, turn["turn_id"])
        answer = await house.answer(turn["answers"][0]["answer_id"])
        assert (answer["state"], answer["text"]) == ("completed", "One two three.")
        await house.patch("/api/settings", {"limits.deadline": None, "limits.stall": None})
        await house.say(talk, "Again.")
        assert house.provider.log[0].json()["max_tokens"] == 2048
        assert house.provider.log[1].json()["max_tokens"] == 9


async def test_a_cap_put_in_here_holds(tmp_path: Path) -> None:
    async with open_kept(tmp_path, LAB) as house:
        talk = await house.conversation(await house.advisor("lab:x"))
        await house.patch("/api/settings", {"limits.cost_per_day": 0})
        reply = await house.post(f"/api/conversations/{talk}/turns", {"content": "Well?"})
        assert reply.status == 402
        await house.patch("/api/settings", {"limits.cost_per_day": None})
        await house.say(talk, "Well?")


async def test_two_at_once_lose_nothing_of_each_other(tmp_path: Path) -> None:
    """Many tabs, and a second server with the same home."""
    async with (
        open_kept(tmp_path) as one,
        open_kept(tmp_path) as two,
    ):
        others = ("limits.context", "limits.reference_share")
        names = [n for n in changeable() if n.startswith("limits.") and n not in others]
        work = [
            (one, two)[at % 2].patch("/api/settings", {name: 3}) for at, name in enumerate(names)
        ]
        assert [reply.status for reply in await asyncio.gather(*work)] == [200] * len(names)
        assert kept(tmp_path) == {"limits": dict.fromkeys((n[7:] for n in names), 3)}
        await one.patch("/api/settings", {"limits.queue": 4})
        await two.patch("/api/settings", {"limits.queue": 5})
        assert kept(tmp_path)["limits"]["queue"] == 5
        assert (await setting(two, "limits.stall"))["value"] == 3, "it read what the other wrote"
        assert (await setting(one, "limits.queue"))["value"] == 4, "until it writes, or starts anew"


async def test_the_pace_of_a_provider_is_kept_over_a_change(tmp_path: Path) -> None:
    """One request at a time still means one, though the settings were changed between."""
    config = LAB + "concurrency = 1\n"
    async with open_kept(tmp_path, config) as house:
        house.provider.script("a", Script(pieces=("On", "e."), gates={1: "a"}))
        first = await house.conversation(await house.advisor("lab:a"))
        second = await house.conversation(await house.advisor("lab:b"))
        begun = await house.send(first, "One?")
        await house.provider.arrived(1)
        await house.patch("/api/settings", {"limits.queue": 3})
        then = await house.send(second, "Two?")
        for _ in range(20):
            await house.get("/healthz")
        assert len(house.provider.log) == 1
        house.provider.gate("a").set()
        await house.ended(first, begun["turn_id"])
        await house.ended(second, then["turn_id"])
        assert [request.model for request in house.provider.log] == ["a", "b"]


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "param", "words"),
    [
        ({"limits.max_tokens": 0}, "limits.max_tokens", "at least 1"),
        ({"limits.max_tokens": True}, "limits.max_tokens", "not true or false"),
        ({"limits.max_tokens": "many"}, "limits.max_tokens", "a whole number"),
        ({"limits.max_tokens": [1]}, "limits.max_tokens", ""),
        ({"limits.stall": 1e300}, "limits.stall", "86400"),
        ({"limits.cost_per_turn": -1}, "limits.cost_per_turn", ""),
        ({"limits.context": "many chars"}, "limits.context", "with its unit"),
        ({"limits.context": f"{'9' * 5000} chars"}, "limits.context", "one short line"),
        ({"limits.context": "9999999999 chars"}, "limits.context", "with its unit"),
        ({"timezone": "Europe/Lisbn"}, "timezone", "Europe/Lisbon"),
        ({"timezone": "x\n"}, "timezone", "one short line"),
        ({"models.default": "gpt"}, "models.default", "provider:name"),
        ({"models.default": "nowhere:x"}, "models.default", "no provider 'nowhere'"),
        ({"models.fallback": ["nowhere:x"]}, "models.fallback", "no provider 'nowhere'"),
        ({"models.fallback": ["scripted:echo", "x"]}, "models.fallback", "provider:name"),
        ({"models.fallback": "scripted:echo"}, "models.fallback", ""),
        ({"models.synthesis": "lab:\u0000"}, "models.synthesis", "one short line"),
        ({"limits.max_token": 5}, "limits.max_token", "no setting"),
        ({"server.host": "0.0.0.0"}, "server.host", "cannot be changed here"),
        ({"providers": "x"}, "providers", "cannot be changed here"),
        ({"": 1}, "", "no setting"),
        ({"\ud800": 1}, "\\ud800", "no setting"),
        ({"home": "x"}, "home", "no setting"),
        ({"keys": "x"}, "keys", "no setting"),
    ],
)
async def test_what_cannot_be_is_refused_and_nothing_of_it_is_kept(
    tmp_path: Path, change: dict[str, Any], param: str, words: str
) -> None:
    async with open_kept(tmp_path) as house:
        before = await page(house)
        reply = await house.patch("/api/settings", {"limits.queue": 2, **change})
        assert reply.status == 422, reply.text
        assert reply.error["param"] == param
        assert words in reply.error["message"]
        assert str(tmp_path) not in reply.error["message"], "it is not the file that is wrong"
        assert await page(house) == before
        assert not (tmp_path / "home" / "settings.toml").exists()


@pytest.mark.parametrize("body", [b"[]", b"5", b'{"limits.queue": {"a": 1}}', b'"x"'])
async def test_a_body_of_another_shape(tmp_path: Path, body: bytes) -> None:
    async with open_kept(tmp_path) as house:
        reply = await house.ask(
            "PATCH", "/api/settings", body=body, headers={"Content-Type": "application/json"}
        )
        assert reply.status == 422
        assert reply.error["message"]


async def test_numbers_that_are_none(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as house:
        for word in (b"NaN", b"Infinity", b"-Infinity", b"1e999"):
            reply = await house.ask(
                "PATCH",
                "/api/settings",
                body=b'{"limits.deadline": ' + word + b"}",
                headers={"Content-Type": "application/json"},
            )
            assert reply.status in (400, 422), word


async def test_the_nearest_name_is_named(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as house:
        reply = await house.patch("/api/settings", {"limits.max_token": 5})
        assert "limits.max_tokens" in reply.error["hint"]


async def test_what_is_set_elsewhere_is_refused_with_the_place(tmp_path: Path) -> None:
    env = {"POLYVOX_LIMITS_QUEUE": "3"}
    async with open_kept(tmp_path, "[limits]\nretries = 1", env) as house:
        for name, where in (
            ("limits.queue", "POLYVOX_LIMITS_QUEUE"),
            ("limits.retries", str(tmp_path / "polyvox.toml")),
        ):
            for value in (5, None):
                reply = await house.patch("/api/settings", {"limits.stall": 9, name: value})
                assert reply.status == 409
                assert reply.error["param"] == name
                assert where in reply.error["message"]
        assert (await setting(house, "limits.stall"))["value"] == 30


async def test_the_file_and_the_environment_win_over_the_page(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as house:
        change = {"limits.queue": 5, "limits.retries": 5, "limits.stall": 5}
        await house.patch("/api/settings", change)
    env = {"POLYVOX_LIMITS_RETRIES": "1"}
    async with open_kept(tmp_path, "[limits]\nqueue = 2\nretries = 2\n", env) as house:
        limits = house.polyvox.settings.limits
        assert (limits.queue, limits.retries, limits.stall) == (2, 1, 5)
    async with open_kept(tmp_path) as house:
        assert (await setting(house, "limits.queue"))["value"] == 5, "and it comes back"


# -- trouble with the files ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[limits", "is not valid TOML"),
        ("[limits]\nmax_token = 5", "Unknown setting 'limits.max_token'"),
        ("[limits]\nmax_tokens = 0", "'limits.max_tokens' in"),
        ("[server]\nhost = '0.0.0.0'", "'server.host' cannot be kept in"),
        ("[providers.lab]\nbase_url = 'http://x'\napi_key = 'env:PATH'", "api_key' cannot be kept"),
        ("[providers.lab]\nkind = 'openai'", "needs a base_url"),
        ("[models]\ndefault = 'nowhere:x'", "no provider 'nowhere'"),
        ("limits = 5", "'limits' cannot be kept in"),
    ],
)
async def test_a_broken_file_is_named_at_the_start_and_at_a_change(
    tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "home" / "settings.toml"
    async with open_kept(tmp_path) as house:
        file.write_text(text)
        reply = await house.patch("/api/settings", {"limits.queue": 5})
        if words.startswith("no provider"):
            assert reply.status == 422
        else:
            assert reply.status == 409
            assert str(file) in reply.error["message"]
        assert reply.error["hint"]
        assert file.read_text() == text
        assert (await house.get("/healthz")).status == 200
    with pytest.raises(ConfigError) as caught:
        async with open_kept(tmp_path):
            pass
    assert words in caught.value.message
    assert str(file) in caught.value.message + caught.value.hint
    assert caught.value.hint


async def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as house:
        await house.patch("/api/settings", {"limits.queue": 5})
        before = (tmp_path / "home" / "settings.toml").read_text()
        (tmp_path / "home" / "settings.toml.new").mkdir()
        reply = await house.patch("/api/settings", {"limits.queue": 6})
        assert reply.status == 503
        assert "settings.toml cannot be written" in reply.error["message"]
        assert reply.error["hint"]
        assert (tmp_path / "home" / "settings.toml").read_text() == before
        assert (await setting(house, "limits.queue"))["value"] == 5
        (tmp_path / "home" / "settings.toml.new").rmdir()
        assert (await house.patch("/api/settings", {"limits.queue": 6})).status == 200


async def test_no_space_left(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk: the kernel ends the write half-way."""
    async with open_kept(tmp_path) as house:
        await house.patch("/api/settings", {"limits.queue": 5})
        before = (tmp_path / "home" / "settings.toml").read_text()
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))
        try:
            reply = await house.patch("/api/settings", {"limits.queue": 6})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert reply.status == 507
        assert "no space left" in reply.error["message"]
        assert (tmp_path / "home" / "settings.toml").read_text() == before
        assert not list((tmp_path / "home").glob("*.new"))
        assert (await setting(house, "limits.queue"))["value"] == 5


# -- models ----------------------------------------------------------------------------------------


async def test_a_model_is_checked(tmp_path: Path) -> None:
    async with open_kept(tmp_path, LAB) as house:
        good = (await house.post("/api/models/check", {"model": "lab:m"})).json()
        assert (good["model"], good["ok"], good["status"]) == ("lab:m", True, 200)
        assert good["first_byte_ms"] > 0
        assert (good["category"], good["message"], good["hint"]) == (None, "", "")
        house.provider.script("m", Script(status=401))
        reply = await house.post("/api/models/check", {"model": "lab:m"})
        assert reply.status == 200
        bad = reply.json()
        assert (bad["ok"], bad["status"], bad["category"]) == (False, 401, "authentication")
        assert bad["message"]
        assert bad["hint"]
        for name in ("nowhere:m", "m", ""):
            reply = await house.post("/api/models/check", {"model": name})
            assert reply.status == 422
            assert reply.error["param"] == "model"


async def test_what_loads_settings_reads_the_same(tmp_path: Path) -> None:
    async with open_kept(tmp_path) as own:
        await own.patch("/api/settings", {"limits.queue": 5})
        await own.put("/api/keys/openai", {"key": "sk-from-the-page"})
    found = load(tmp_path / "polyvox.toml", {"POLYVOX_HOME": str(tmp_path / "home")})
    assert found.limits.queue == 5
    assert found.keys["openai"].reveal() == "sk-from-the-page"
