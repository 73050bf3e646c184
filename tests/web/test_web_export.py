"""Conversations as files over HTTP: out in three formats, harmless, and back in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from tests.provider import Script
from tests.web.house import House, Reply, open_house

from polyvox.web.export import disposition, file_name

pytestmark = pytest.mark.asyncio(loop_scope="session")

LINES = {"Content-Type": "application/x-ndjson"}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


async def talk(house: House, title: str = "Moving away", text: str = "Stay.") -> str:
    advisor = await house.advisor(script=Script(text=text))
    conversation = await house.conversation(advisor, title=title)
    said = await house.say(conversation, f"Shall I? {HOSTILE}")
    await house.post(f"/api/answers/{said['answers'][0]['answer_id']}/regenerate")
    await house.ended(conversation, said["turn_id"])
    return conversation


async def exported(house: House, conversation: str, format_: str = "") -> Reply:
    query = f"?format={format_}" if format_ else ""
    return await house.get(f"/api/conversations/{conversation}/export{query}")


def name_of(reply: Reply) -> str:
    """The name under which a browser saves it."""
    told = reply.headers["Content-Disposition"]
    found = re.fullmatch(r"attachment; filename=\"([ -~]+)\"; filename\*=UTF-8''([!-~]+)", told)
    assert found is not None, told
    assert '"' not in found[1]
    return unquote(found[2])


@pytest.mark.parametrize(
    ("format_", "kind", "ending"),
    [
        ("", "text/markdown; charset=utf-8", ".md"),
        ("markdown", "text/markdown; charset=utf-8", ".md"),
        ("html", "text/html; charset=utf-8", ".html"),
        ("jsonl", "application/x-ndjson", ".jsonl"),
    ],
)
async def test_a_download_of_each_kind(house: House, format_: str, kind: str, ending: str) -> None:
    reply = await exported(house, await talk(house), format_)
    assert reply.status == 200
    assert reply.headers["Content-Type"] == kind
    assert name_of(reply) == f"Moving away{ending}"
    assert "Stay." in reply.text
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Cache-Control"] == "no-store"
    policy = reply.headers["Content-Security-Policy"].split("; ")
    assert {"default-src 'none'", "sandbox"} <= set(policy)
    assert "script-src" not in reply.headers["Content-Security-Policy"]


async def test_a_page_of_it_runs_nothing(house: House) -> None:
    conversation = await talk(house, title=HOSTILE, text=HOSTILE)
    reply = await exported(house, conversation, "html")
    assert reply.text.count("&lt;script&gt;") >= 4
    assert "<script" not in reply.text
    assert "<img" not in reply.text
    assert not re.search(r"[<>/]", name_of(reply).removesuffix(".html"))


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Moving away", "Moving away"),
        ("../../etc/passwd", "etc passwd"),
        ('a"b\\c:d*e?f<g>h|i', "a b c d e f g h i"),
        ("Über Größe 東京 🎈", "Über Größe 東京 🎈"),
        ("line\nbreak\ttab", "line break tab"),
        ("turned \u202etxt.exe", "turned txt.exe"),
        ("...", "ID"),
        ("", "ID"),
        ("NUL", "ID"),
        ("con.txt", "ID"),
        ("Conrad", "Conrad"),
        ("x" * 300, "x" * 80),
        ("100% \r\nSet-Cookie: a=b", "100% Set-Cookie a=b"),
    ],
)
async def test_any_title_makes_a_safe_name(title: str, name: str) -> None:
    assert file_name(title, "ID") == name
    header = disposition(f"{name}.md")
    header.encode("ascii")
    assert "\n" not in header
    assert unquote(header.rpartition("''")[2]) == f"{name}.md"


async def test_what_cannot_be_exported(house: House) -> None:
    assert (await exported(house, "nowhere")).status == 404
    wrong = await exported(house, await talk(house), "pdf")
    assert (wrong.status, wrong.error["param"]) == (422, "format")


async def test_everything_comes_back_elsewhere(house: House, tmp_path: Path) -> None:
    conversation = await talk(house)
    whole: Any = (await house.get(f"/api/conversations/{conversation}")).json()
    file = (await exported(house, conversation, "jsonl")).body
    async with open_house(tmp_path) as other:
        taken = await other.ask(
            "POST", "/api/conversations/import", body=b"\xef\xbb\xbf" + file, headers=LINES
        )
        assert taken.status == 201
        told = taken.json()
        assert (told["id"], told["new"]) == (conversation, True)
        assert "“Moving away”: 1 turns, 2 answers" in told["report"][0]
        there = (await other.get(f"/api/conversations/{conversation}")).json()
        assert [m["content"] for m in there["messages"]] == [
            m["content"] for m in whole["messages"]
        ]
        assert [a["text"] for a in there["messages"][0]["answers"]] == ["Stay.", "Stay."]
        again = await other.ask("POST", "/api/conversations/import", body=file, headers=LINES)
        assert again.status == 201
        assert not again.json()["new"]
        assert "already here" in again.json()["report"][0]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"type": "conversation"}', "application/x-ndjson"),
        (b"nonsense", "application/x-ndjson"),
        (b"\xff\xfe", "application/x-ndjson"),
        (b"", "application/x-ndjson"),
        (b"{}", "application/json"),
        (b"{}", "text/plain"),
        (b"{}", "multipart/form-data"),
    ],
)
async def test_what_is_no_export_is_refused(house: House, body: bytes, kind: str) -> None:
    before = (await house.get("/api/conversations")).json()
    reply = await house.ask(
        "POST", "/api/conversations/import", body=body, headers={"Content-Type": kind}
    )
    assert reply.status == 422
    assert reply.error["hint"]
    assert (await house.get("/api/conversations")).json() == before
