"""Suggesting advisors over HTTP: a model proposes, the caller picks; and every way to fail."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.provider import Script
from tests.web.house import House, Reply, open_house

from polyvox.context.suggest import ask, read

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/advisors/suggest"


def one(name: str, **more: Any) -> dict[str, Any]:
    words = "You look at it from there, and you say what you see."
    return {"name": name, "description": words, "why": f"{name} was there.", **more}


def reply_of(*suggestions: dict[str, Any]) -> str:
    return json.dumps({"suggestions": suggestions})


async def suggested(house: House, text: str, **more: Any) -> Reply:
    """What comes of a model that says this, whatever it is asked."""
    model = house.model(Script(pieces=(text,)))
    return await house.post(PATH, {"question": "Shall we?", "model": model, **more})


def asked(house: House, model: str) -> list[dict[str, Any]]:
    """The bodies that the provider was sent for a model."""
    return [one.json() for one in house.provider.requests(model.partition(":")[2])]


async def used(house: House, model: str) -> list[tuple[Any, ...]]:
    return await house.polyvox.database.read(
        lambda tx: tx.all(
            "SELECT purpose, advisor_id, conversation_id, answer_id, input_tokens, output_tokens"
            " FROM usage WHERE model = ?",
            (model,),
        )
    )


async def test_perspectives_are_proposed_and_can_be_made(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        there = await house.advisor(name="Harbour Pilot")
        text = reply_of(one("Tide Reader"), one("Lighthouse Keeper"))
        model = house.model(Script(pieces=(text,), input_tokens=50, output_tokens=20))
        before = (await house.get("/api/advisors")).json()
        reply = await house.post(PATH, {"question": "Shall we sail?", "count": 4, "model": model})
        assert reply.status == 200
        assert reply.json() == {
            "suggestions": [one("Tide Reader"), one("Lighthouse Keeper")],
            "model": model,
            "note": "",
        }
        assert (await house.get("/api/advisors")).json() == before, "nothing is made"
        (body,) = asked(house, model)
        system, said = body["messages"]
        assert "Propose 4 points of view" in system["content"]
        assert f"- {there['name']}: " in system["content"]
        assert said == {"role": "user", "content": "Shall we sail?"}
        assert await used(house, model) == [("suggest", "suggest", None, None, 50, 20)]
        rows = (await house.get("/api/usage?by=advisor")).json()["rows"]
        assert "suggest" in {row["key"] for row in rows}
        picked = reply.json()["suggestions"][0]
        made = await house.post(
            "/api/advisors", {key: picked[key] for key in ("name", "description")}
        )
        assert made.status == 201


async def test_the_default_model_is_asked_for_five(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        names = ("Ann", "Bob", "Cid", "Dee", "Eve", "Fay")
        house.provider.script("default", Script(pieces=(reply_of(*map(one, names)),)))
        reply = await house.post(PATH, {"question": "Shall we?"})
        assert reply.json()["model"] == "lab:default"
        assert [each["name"] for each in reply.json()["suggestions"]] == list(names[:5])
        (body,) = asked(house, "lab:default")
        assert "Propose 5 points of view" in body["messages"][0]["content"]


async def test_fenced_prefixed_and_truncated_replies_are_read(house: House) -> None:
    whole = reply_of(one("Cooper"), one("Sutler"), one("Tinker"))
    for text in (f"```json\n{whole}\n```", f"Of course! {whole} Anything else?"):
        found = (await suggested(house, text)).json()["suggestions"]
        assert [each["name"] for each in found] == ["Cooper", "Sutler", "Tinker"]
    found = (await suggested(house, whole[:-30])).json()["suggestions"]
    assert [each["name"] for each in found] == ["Cooper", "Sutler"]


async def test_who_is_there_is_never_proposed(house: House) -> None:
    await house.advisor(name="Ombudsman Prime")
    await house.advisor(name="Sleeper", active=False)
    text = reply_of(
        one("The Ombudsman-Prime"),
        one("sleeper"),
        one("Newcomer"),
        one("NEWCOMER"),
        one("Toll Keeper"),
    )
    found = (await suggested(house, text)).json()["suggestions"]
    assert [each["name"] for each in found] == ["Newcomer", "Toll Keeper"]


async def test_what_is_proposed_is_mended_or_left_out(house: House) -> None:
    long, words = "Very " * 40, "word " * 2000
    text = reply_of(
        one("**“Night\u202e\nWatch”**", why=["not", "a text"]),
        one(long),
        one("Wordy", description=words, why=words),
        one("Mute", description="No."),
        one("\u200b \u2800", description=words),
        one("\u0007Bell\ud800", description="You \u0007 ring \ud800 for all of us here."),
        {"name": "Half"},
    )
    reply = await suggested(house, text, count=8)
    found = reply.json()["suggestions"]
    first, second, third, last = found
    assert (first["name"], first["why"]) == ("Night Watch", "")
    assert second["name"] == ("Very " * 12).strip()
    assert 3990 < len(third["description"]) <= 4000
    assert len(third["why"]) <= 600
    assert (last["name"], last["description"]) == ("Bell", "You  ring ? for all of us here.")
    for each in found:
        body = {"name": each["name"], "description": each["description"]}
        assert (await house.post("/api/advisors", body)).status == 201


async def test_a_malformed_reply_gets_one_further_try(house: House) -> None:
    model = house.model()
    bare = model.partition(":")[2]
    house.provider.script(bare, Script(pieces=("I would rather talk of boats.",)))
    good = Script(pieces=(reply_of(one("Ferryman")),), hold="second try")
    asking = asyncio.create_task(house.post(PATH, {"question": "Shall we?", "model": model}))
    await house.until(lambda: len(asked(house, model)) == 1)
    house.provider.script(bare, good)
    await house.until(lambda: len(asked(house, model)) == 2)
    house.provider.gate("second try").set()
    reply = await asking
    assert [each["name"] for each in reply.json()["suggestions"]] == ["Ferryman"]
    _, again = asked(house, model)
    assert [m["role"] for m in again["messages"]] == ["system", "user", "assistant", "user"]
    assert again["messages"][2]["content"] == "I would rather talk of boats."
    assert len(await used(house, model)) == 2, "both tries cost something"


@pytest.mark.parametrize(
    "text", ["I cannot help with that.", "{}", '{"suggestions": [', reply_of(one("Twice There"))]
)
async def test_after_two_useless_replies_it_is_given_up(house: House, text: str) -> None:
    if "Twice" in text and not any(
        each["name"] == "Twice There" for each in (await house.get("/api/advisors")).json()
    ):
        await house.advisor(name="Twice There")
    model = house.model(Script(pieces=(text,)))
    reply = await house.post(PATH, {"question": "Shall we?", "model": model})
    assert reply.status == 502
    assert reply.error["code"] == "protocol"
    assert model in reply.error["message"]
    assert "more capable model" in reply.error["hint"]
    assert len(asked(house, model)) == 2
    assert len(await used(house, model)) == 2


@pytest.mark.parametrize(
    ("script", "status", "code"),
    [
        (Script(status=429, retry_after="7"), 429, "rate_limit"),
        (Script(status=401), 502, "authentication"),
        (Script(status=402), 502, "quota"),
        (Script(status=400, error="Not this."), 400, "refused"),
        (Script(status=404), 404, "refused"),
        (Script(status=500), 503, "unavailable"),
        (Script(fault="garbage"), 502, "protocol"),
        (Script(fault="cut"), 503, "unavailable"),
        (Script(empty=True), 502, "empty"),
    ],
)
async def test_a_providers_refusal_is_told_as_it_is(
    house: House, script: Script, status: int, code: str
) -> None:
    model = house.model(script)
    reply = await house.post(PATH, {"question": "Shall we?", "model": model})
    assert (reply.status, reply.error["code"]) == (status, code)
    assert reply.error["hint"]
    assert ("Retry-After" in reply.headers) == (status == 429)
    if status == 429:
        assert reply.headers["Retry-After"] == "7"
    assert len(asked(house, model)) == 1, "asking again would not help"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"question": ""},
        {"question": " \n"},
        {"question": "a\u0000b"},
        {"question": "Shall we?", "count": 1},
        {"question": "Shall we?", "count": 9},
        {"question": "Shall we?", "model": "nobody:knows"},
        {"question": "Shall we?", "model": "nonsense"},
        {"question": "Shall we?", "advisors": []},
    ],
)
async def test_what_is_not_asked_properly_is_refused(house: House, body: dict[str, Any]) -> None:
    reply = await house.post(PATH, body)
    assert reply.status == 422
    assert reply.error["param"]


async def test_a_cap_is_kept(tmp_path: Path) -> None:
    async with open_house(tmp_path, limits={"cost_per_day": 0}) as house:
        reply = await house.post(PATH, {"question": "Shall we?"})
        assert (reply.status, reply.error["code"]) == (402, "cap_reached")
        assert house.provider.log == []


async def test_who_leaves_stops_the_model_and_pays_for_what_came(house: House) -> None:
    model = house.model(Script(pieces=("{", "…"), gates={1: "nobody opens"}))
    asking = asyncio.create_task(house.post(PATH, {"question": "Shall we?", "model": model}))
    await house.until(lambda: len(asked(house, model)) == 1)
    asking.cancel()
    await asyncio.wait([asking])
    async with asyncio.timeout(60):
        while not (rows := await used(house, model)):
            await house.get("/healthz")
    assert [row[0] for row in rows] == ["suggest"]


async def test_a_model_with_small_prompts_is_held_to_a_schema(tmp_path: Path) -> None:
    small = {"lab:small": {"prompts": "compact", "window": 2048}}
    async with open_house(tmp_path, models={"known": small, "default": "lab:small"}) as house:
        house.provider.script("small", Script(pieces=(reply_of(one("The Baker")),)))
        reply = await house.post(PATH, {"question": "Shall we?", "count": 8})
        assert [each["name"] for each in reply.json()["suggestions"]] == ["The Baker"]
        (body,) = asked(house, "lab:small")
        shape = body["response_format"]["json_schema"]["schema"]
        assert shape["properties"]["suggestions"]["maxItems"] == 3
        house.provider.script("small", Script(pieces=("Baker baker baker",)))
        given_up = await house.post(PATH, {"question": "Shall we?"})
        assert given_up.status == 502
        assert "too small a model" in given_up.error["message"]
        assert "more capable model" in given_up.error["hint"]
        # a server that does not take a schema is asked without
        house.provider.script("small", Script(status=400, error="response_format?"))
        refused = await house.post(PATH, {"question": "Shall we?"})
        assert refused.status == 400
        assert "response_format" not in asked(house, "lab:small")[-1]


@pytest.mark.slow
async def test_the_embedded_model_keeps_to_the_shape(tmp_path: Path) -> None:
    """What it says is poor, and may be the same name thrice; but the schema holds it to JSON."""
    async with open_house(tmp_path, models={"default": "local:smollm2"}) as house:
        models = house.polyvox.models
        request = ask("Should I learn to sail?", 5, (), models.facts("local:smollm2"))
        reply = await models.get("local:smollm2").stream(request)
        found = read("".join([piece.text async for piece in reply]))
        await reply.aclose()
        assert found
        for each in found:
            assert each.name.startswith("The ")
            assert each.description.startswith("You ")
        over_http = await house.post(PATH, {"question": "Should I learn to sail?"})
        assert over_http.status in (200, 502)
        if over_http.status == 200:
            assert "tiny" in over_http.json()["note"]
        else:
            assert "too small a model" in over_http.error["message"]
            assert "OPENROUTER_API_KEY" in over_http.error["hint"]
