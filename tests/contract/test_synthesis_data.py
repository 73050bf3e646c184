"""A synthesis sees what was said before, names advisors by id, and says what to do next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.app import App, bare, open_app
from tests.provider import Script

pytestmark = pytest.mark.contract

MODELS = {"synthesis": "lab:synthesis"}
GERMAN = """- Beide wollen warten. [Ann und Ben]
- Das Geld reicht. [Ben]

## Streitpunkte

- Ob verkauft wird.
  - [Ann] Ja, bald.
  - [Ben] Nein.
  - Wie lange der Markt hält.

## Nächste Schritte

- Die Bank fragen.
"""


async def two(app: App, *said: str, **more: Any) -> tuple[str, Any, Any, Any]:
    """A conversation of Ann and Ben: its id, the last turn, and both."""
    ann = await app.advisor(name="Ann", script=Script(text="Sell soon."), **more)
    ben = await app.advisor(name="Ben", script=Script(text="Keep it."))
    talk = await app.conversation(ann, ben, phases=0)
    turn: Any = None
    for text in said:
        turn = await app.say(talk, text)
    return talk, turn, ann, ben


async def synthesis(app: App, talk: str, turn: Any) -> Any:
    made = await app.make(f"/api/turns/{turn['turn_id']}/synthesize", {})
    await app.ended(talk, turn["turn_id"])
    while (answer := await app.answer(made["answer_id"]))["state"] in ("pending", "streaming"):
        pass
    return answer


def data_of(ann: Any, ben: Any) -> str:
    return json.dumps({
        "points": [
            {"text": "Both would wait.", "advisors": [ann["slug"], ben["slug"]]},
            {"text": "A stranger speaks.", "advisors": ["nobody", ben["slug"]]},
        ],
        "disagreements": [{
            "text": "Whether to sell.",
            "sides": [{"text": "Yes.", "advisors": [ann["slug"]]},
                      {"text": "No.", "advisors": [ben["slug"]]}],
            "hinges_on": "How long the market holds.",
        }],
        "next": [{"text": "Ask the bank.", "advisors": []}],
    })  # fmt: skip


async def test_earlier_messages_are_sent_along_and_bounded(
    tmp_path: Path, database_url: str
) -> None:
    async with open_app(tmp_path, database=database_url, models=MODELS) as app:
        long = "So long ago. " * 800
        talk, turn, _, _ = await two(app, long, "It is a shop.", "We own it.", "Sell it?")
        await synthesis(app, talk, turn)
        sent = app.provider.requests("synthesis")[-1].json()["messages"]
        assert sent[0]["role"] == "system"
        assert [m["content"] for m in sent[1:-1]] == [long, "It is a shop.", "We own it."]
        assert "The messages above are what the person said earlier" in sent[-1]["content"]
        assert "Sell it?" in sent[-1]["content"]
        assert "Write in the language the person writes in" in sent[0]["content"]
        for words in ("What they agree on", "what it hinges on", "What to do or find out next"):
            assert words in sent[0]["content"]
        more = await app.say(talk, "Another long one. " * 600)
        last = await app.say(talk, "Well?")
        assert more["turn_id"] != last["turn_id"]
        answer = await synthesis(app, talk, last)
        sent = app.provider.requests("synthesis")[-1].json()["messages"]
        said = [m["content"] for m in sent[1:-1]]
        assert said[-1].startswith("Another long one.")
        assert sum(map(len, said)) <= 12_000
        assert long not in said, "the oldest goes first"
        receipt = (await app.get(f"/api/answers/{answer['answer_id']}/receipt")).json()
        assert receipt["verified"], "what was sent can be rebuilt"
        (left_out,) = receipt["description"]["left_out"]
        assert "older than what fits the limit" in left_out


async def test_a_structured_reply_names_advisors_by_id(tmp_path: Path) -> None:
    async with open_app(tmp_path, models=MODELS) as app:
        talk, turn, ann, ben = await two(app, "Sell it?")
        written = data_of(ann, ben)
        app.provider.script(
            "synthesis", Script(pieces=tuple(written[n : n + 7] for n in range(0, len(written), 7)))
        )
        answer = await synthesis(app, talk, turn)
        asked = app.provider.requests("synthesis")[-1].json()
        schema = asked["response_format"]["json_schema"]["schema"]
        claim = schema["properties"]["points"]["items"]["properties"]
        assert claim["advisors"]["items"]["enum"] == [ann["slug"], ben["slug"]]
        assert f"Ann ({ann['slug']}): Sell soon." in asked["messages"][-1]["content"]
        points = answer["points"]
        assert points["points"][0]["advisors"] == [ann["id"], ben["id"]]
        assert points["points"][1]["advisors"] == [ben["id"]]
        assert points["unknown"] == ["nobody"]
        (question,) = points["disagreements"]
        assert [side["advisors"] for side in question["sides"]] == [[ann["id"]], [ben["id"]]]
        assert question["hinges_on"] == "How long the market holds."
        assert points["next"] == [{"text": "Ask the bank.", "advisors": []}]
        assert answer["text"].startswith("- Both would wait. *(Ann, Ben)*\n"), "to be read"
        assert "- Ask the bank." in answer["text"]
        assert "{" not in answer["text"]
        events = await app.stored(talk)
        deltas = [
            e.data["text"]
            for e in events
            if e.kind == "answer.delta" and e.data["answer_id"] == answer["answer_id"]
        ]
        assert "".join(deltas) == answer["text"]


async def test_where_a_schema_is_refused_the_same_is_asked_for_as_a_list(tmp_path: Path) -> None:
    async with open_app(tmp_path, models=MODELS) as app:
        talk, turn, ann, ben = await two(app, "Sell it?")
        app.provider.queue("synthesis", Script(status=400, error="response_format: unsupported"))
        app.provider.queue("synthesis", Script(text="- Wait. [Ann, Ben]"))
        answer = await synthesis(app, talk, turn)
        first, second = app.provider.requests("synthesis")[-2:]
        assert "response_format" in first.json()
        assert "response_format" not in second.json()
        assert "- A claim. [First advisor, Second advisor]" in second.body.decode().replace(
            "\\n", "\n"
        )
        assert answer["state"] == "completed"
        assert answer["points"]["points"][0]["advisors"] == [ann["id"], ben["id"]]
        receipt = (await app.get(f"/api/answers/{answer['answer_id']}/receipt")).json()
        assert receipt["verified"]


async def test_without_a_schema_headings_of_any_language_are_understood(tmp_path: Path) -> None:
    async with open_app(tmp_path, models={"synthesis": "claude:old"}) as app:
        talk, turn, ann, ben = await two(app, "Verkaufen?")
        app.provider.script("old", Script(text=GERMAN))
        answer = await synthesis(app, talk, turn)
        assert "output_config" not in app.provider.requests("old")[-1].json()
        points = answer["points"]
        assert [point["advisors"] for point in points["points"]] == [
            [ann["id"], ben["id"]], [ben["id"]],
        ]  # fmt: skip
        (question,) = points["disagreements"]
        assert question["text"] == "Ob verkauft wird."
        assert [side["advisors"] for side in question["sides"]] == [[ann["id"]], [ben["id"]]]
        assert question["hinges_on"] == "Wie lange der Markt hält."
        assert [step["text"] for step in points["next"]] == ["Die Bank fragen."]
        assert points["unknown"] == []
        assert answer["text"] == GERMAN


async def test_a_new_synthesis_after_an_exchange_brings_its_words_in(tmp_path: Path) -> None:
    async with open_app(tmp_path, models=MODELS) as app:
        talk, turn, ann, _ = await two(app, "Sell it?")
        before = await synthesis(app, talk, turn)
        app.provider.script(bare(ann), Script(text="Ben has a point."))
        await app.make(f"/api/turns/{turn['turn_id']}/exchange", {"rounds": 1})
        await app.ended(talk, turn["turn_id"])
        after = await synthesis(app, talk, turn)
        assert after["replaces"] == before["answer_id"]
        sent = app.provider.requests("synthesis")[-1].json()["messages"][-1]["content"]
        assert "Ben has a point." in sent
