"""Keys and tokens are never printed, logged, returned or stored, whoever repeats them to us."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from tests.provider import Script
from tests.web.house import KEY, House, open_house

pytestmark = pytest.mark.contract

TOKEN = "tok-fedcba9876543210"
HEADER = "hdr-0a1b2c3d4e5f"
PASSWORD = "pw-correct-horse"
STORED = "sk-stored-9f8e7d6c5b4a"
SECRETS = (KEY, TOKEN, HEADER, PASSWORD, STORED)


def leaks(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


def failures(said: str) -> list[Script]:
    """Every way in which a provider may tell us what it was sent, and a good answer."""
    return [
        Script(status=401, body='{"error": {"message": "Wrong key {key}, sorry."}}'),
        Script(status=500, body="<html>proxy: Authorization: Bearer {key}</html>"),
        Script(status=400, error=f"{said} is not acceptable"),
        Script(status=429, headers={"x-echo": said}, body='["{key}"]'),
        Script(status=403, body="{key}"),
        Script(text="Half a word", fault="error_event", error=f"key {said} expired"),
        Script(fault="garbage"),
        Script(fault="reset"),
        Script(text="Well."),
    ]


async def everything(house: House) -> list[str]:
    """The text of every response that a client can get, good and bad."""
    texts: list[str] = []

    async def take(method: str, path: str, value: Any = None, **more: Any) -> Any:
        reply = await house.ask(method, path, value, **more)
        texts.append(f"{path} {dict(reply.headers)} {reply.text}")
        return reply

    put, here = {"key": STORED}, {"base_url": house.provider.base_url}
    await take("PUT", "/api/providers/kept", here)
    await take("PUT", "/api/keys/kept", put)
    for wrong in (f"{STORED} ({STORED})", f"{STORED}\n\x00", STORED * 90, [STORED], {STORED: 1}):
        await take("PUT", "/api/keys/kept", {"key": wrong})
    await take("PUT", "/api/keys/nobody", put)
    await take("PUT", "/api/keys/local", put)
    await take("PUT", "/api/keys/lab", put)
    await take("PUT", "/api/keys/kept", {**put, "more": STORED})
    await take("PUT", "/api/keys/kept", body=f'{{"key": "{STORED}'.encode())
    await take("POST", "/api/keys/kept", put)
    await take("PATCH", "/api/settings", {"limits.queue": STORED, "limits.stall": STORED})
    await take("PUT", "/api/providers/kept", {**here, "api_key": STORED})
    await take("PUT", "/api/providers/other", {"base_url": f"http://me:{PASSWORD}@127.0.0.1/"})
    await take("POST", "/api/models/check", {"model": "kept:status=401"})
    page = (await take("GET", "/openapi.json")).json()
    for path, row in page["paths"].items():
        if "get" in row and "{" not in path:
            await take("GET", path)
    await take("GET", "/api/search?q=key")
    await take("GET", "/api/advisors", headers={"Authorization": f"Bearer {TOKEN}x"})
    await take("POST", "/api/advisors", {"name": 7})
    advisors = []
    for wire, said in (("lab", f"{KEY} {HEADER}"), ("claude", f"{KEY} {HEADER}"), ("kept", STORED)):
        advisors += [await house.advisor(house.model(each, wire)) for each in failures(said)]
    advisors.append(await house.advisor("walled:any"))
    conversation = await house.conversation(*advisors)
    turn = await house.say(conversation, "What is the key?")
    await take("POST", f"/api/conversations/{conversation}/estimate", {"content": "How much?"})
    await take("GET", f"/api/conversations/{conversation}")
    await take("GET", f"/api/conversations/{conversation}/events?live=false")
    states = []
    for answer in turn["answers"]:
        path = f"/api/answers/{answer['answer_id']}"
        states.append((await take("GET", path)).json()["state"])
        await take("GET", f"{path}/receipt")
        await take("GET", f"{path}/request")
    assert states.count("failed") == 25, "every way to fail was taken"
    for advisor in advisors:
        for model in (advisor["model"], f"advisor:{advisor['slug']}"):
            for stream in (False, True):
                body = {"model": model, "messages": [{"role": "user", "content": "Key?"}]}
                await take("POST", "/v1/chat/completions", {**body, "stream": stream})
    return texts


async def test_nothing_tells_a_secret(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(1)
    logging.getLogger("polyvox").setLevel(1)  # as chatty as it can be: texts and all
    headers = {"X-Gateway-Key": HEADER}
    walled = {"base_url": f"http://me:{PASSWORD}@127.0.0.1:1/v1", "api_key": KEY}
    try:
        async with open_house(
            tmp_path,
            server={"token": TOKEN},
            providers={"walled": walled},
            headers=headers,
        ) as house:
            texts = await everything(house)
            sent = [request.headers for request in house.provider.log]
            used = {given.get("authorization") for given in sent}
            assert {f"Bearer {KEY}", f"Bearer {STORED}"} <= used, "the keys are really used"
            assert HEADER in {given.get("x-gateway-key") for given in sent}
            told = f"{house.polyvox.settings!r} {house.polyvox.settings.keys} {vars(house.polyvox)}"
            assert not leaks(told)
    finally:
        logging.getLogger("polyvox").setLevel(logging.NOTSET)
    assert len(texts) > 100
    assert not [text for text in texts if leaks(text)]
    assert "call advisor=" in caplog.text, "the logs do tell of calls"
    assert not [record for record in caplog.records if leaks(record.getMessage())]
    assert not leaks(caplog.text), "nor any traceback"
    for file in tmp_path.rglob("*"):
        if file.is_file() and file.name != "keys.toml":
            assert not leaks(file.read_bytes().decode("latin-1")), file.name
    assert STORED in (tmp_path / "keys.toml").read_text(), "in the one place where it belongs"
