"""Recipes are data: people make their own, in the configuration and through the API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.app import App, bare, open_app
from tests.companion.lounge import reading_text
from tests.provider import Script

from polyvox.app import Polyvox
from polyvox.errors import ConfigError
from polyvox.settings import Settings

pytestmark = pytest.mark.contract

QUICK = {"phases": [{"name": "brief", "text": "Answer in one line."}], "stamps": "none"}


def asked(app: App, advisor: Any) -> tuple[str, str]:
    """The system text and the last message of the last request for an advisor."""
    messages = app.provider.requests(bare(advisor))[-1].json()["messages"]
    return messages[0]["content"], messages[-1]["content"]


async def test_a_recipe_of_the_configuration(tmp_path: Path, database_url: str) -> None:
    recipes = {"quick": QUICK, "clerk": {"base": "agent"}}
    async with open_app(tmp_path, database=database_url, recipes=recipes) as app:
        ann = await app.advisor(description="Ann is short.")
        await app.say(await app.conversation(ann, recipe="quick"), "Well?")
        text, said = asked(app, ann)
        assert "Answer in one line." in text
        assert said == "Well?"
        await app.say(await app.conversation(ann, recipe="clerk"), "Well?")
        assert asked(app, ann)[0] == "Ann is short."
        listed = (await app.get("/api/recipes")).json()
        assert [(row["name"], row["base"], row["fixed"]) for row in listed] == [
            ("council", None, True),
            ("agent", None, True),
            ("companion", None, True),
            ("clerk", "agent", True),
            ("quick", "council", True),
        ]


@pytest.mark.parametrize(
    ("recipes", "told", "next_step"),
    [
        ({"quick": {"phase": []}}, "[recipes.quick]: A recipe has no part 'phase'.", "'phases'"),
        ({"quick": {"base": "soup"}}, "[recipes.quick]: The recipe 'soup' cannot", "council"),
        ({"counsil": {"phases": []}}, "There is no recipe 'counsil'", "[recipes.council]"),
        ({"My own": {}}, "cannot be called 'My own'", "small letters"),
    ],
)
async def test_a_recipe_that_cannot_be_is_refused(
    tmp_path: Path, recipes: dict[str, Any], told: str, next_step: str
) -> None:
    settings = Settings.model_validate({"home": tmp_path, "recipes": recipes})
    with pytest.raises(ConfigError) as caught:
        await Polyvox(settings, env={}).open()
    assert told in caught.value.message
    assert next_step in caught.value.hint


async def test_a_copy_is_made_used_changed_and_deleted(tmp_path: Path, database_url: str) -> None:
    async with open_app(tmp_path, database=database_url) as app:
        ann = await app.advisor()
        await app.patch("/api/recipes/council", {"count_turns": True})
        made = await app.make("/api/recipes", {"name": "quick", "change": QUICK})
        assert (made["base"], made["fixed"], made["recipe"]["count_turns"]) == (
            "council", False, True,
        )  # fmt: skip
        council = await app.council(ann, recipe="quick")
        talk = await app.conversation(council=council["id"])
        await app.say(talk, "Well?")
        assert "Answer in one line." in asked(app, ann)[0]
        estimate = await app.post("/api/estimate", {"content": "Well?", "recipe": "quick"})
        assert estimate.status == 200, estimate.text
        changed = await app.patch("/api/recipes/quick", {"phases": None, "stamps": "history"})
        assert (changed.json()["recipe"]["stamps"], changed.json()["name"]) == ("history", "quick")
        second = await app.make("/api/recipes", {"name": "second", "copy": "quick"})
        assert second["recipe"]["stamps"] == "history"
        untouched = (await app.get("/api/recipes/council")).json()
        assert untouched["recipe"]["stamps"] == "all"
        assert (await app.delete("/api/recipes/quick")).status == 204
        assert (await app.get("/api/recipes/quick")).status == 404
        whole = (await app.get(f"/api/conversations/{talk}")).json()
        assert (whole["recipe"], len(whole["messages"])) == ("quick", 1)
        await app.say(talk, "And now?")
        assert "turn 2 of 3" in asked(app, ann)[0], "it goes on by the council's recipe"


async def test_what_cannot_be_copied_or_named_is_said(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app:
        for body, status, param in (
            ({"name": "council"}, 409, "name"),
            ({"name": "mine", "copy": "soup"}, 422, "recipe"),
            ({"name": "mine", "change": {"windows": {"kind": "recent"}}}, 422, "windows"),
            ({"name": "mine", "change": {"base": "agent"}}, 422, "base"),
            ({"name": "mine", "change": {"model": "nobody:x"}}, 422, "model"),
            ({"name": "My own"}, 422, "name"),
        ):
            reply = await app.post("/api/recipes", body)
            assert (reply.status, reply.error["param"]) == (status, param), reply.text
            assert reply.error["hint"], body
        for path in ("/api/conversations", "/api/councils"):
            reply = await app.post(path, {"name": "x", "recipe": "soup"} if "councils" in path
                                   else {"recipe": "soup"})  # fmt: skip
            assert (reply.status, reply.error["param"]) == (422, "recipe")
            assert "council" in reply.error["hint"]
        assert (await app.patch("/api/recipes/soup", {})).status == 404


async def test_an_imported_conversation_keeps_a_recipe_that_is_known(tmp_path: Path) -> None:
    async with open_app(tmp_path / "there", recipes={"quick": QUICK}) as app:
        talk = await app.conversation(await app.advisor(), recipe="quick")
        await app.say(talk, "Well?")
        file = (await app.get(f"/api/conversations/{talk}/export?format=jsonl")).body
    lines = {"Content-Type": "application/x-ndjson"}
    for home, recipes, kept in (("here", {"quick": QUICK}, "quick"), ("bare", {}, "council")):
        async with open_app(tmp_path / home, recipes=recipes) as app:
            taken = await app.post("/api/conversations/import", body=file, headers=lines)
            assert taken.status == 201, taken.text
            assert (await app.get(f"/api/conversations/{talk}")).json()["recipe"] == kept


async def test_the_session_of_an_agents_copy_is_not_ended_by_idleness(tmp_path: Path) -> None:
    clock = [1_761_825_600_000_000]
    async with open_app(tmp_path, clock=lambda: clock[0]) as app:
        await app.make("/api/recipes", {"name": "clerk", "copy": "agent"})
        ann = await app.advisor()
        talk = await app.conversation(ann, recipe="clerk")
        first = await app.say(talk, "Good morning.")
        clock[0] += 10 * 24 * 3_600_000_000
        second = await app.say(talk, "Still there?")
        assert first["session_id"] == second["session_id"]


async def test_a_copy_of_the_companion_is_a_companion(tmp_path: Path, database_url: str) -> None:
    models = {"default": "lab:talker", "gate": "lab:gate"}
    async with open_app(tmp_path, database=database_url, models=models) as app:
        app.provider.script("gate", Script(text=reading_text({})))
        change = {"window": {"last_messages": 2}, "model": "lab:own"}
        made = await app.make(
            "/api/recipes", {"name": "evening", "copy": "companion", "change": change}
        )
        assert made["base"] == "companion"
        usual = (await app.post("/api/personas/harbor/conversation")).json()
        talk = (await app.post("/api/personas/harbor/conversation?recipe=evening")).json()
        assert talk["recipe"] == "evening"
        assert talk["id"] != usual["id"], "each recipe has its own conversation"
        for words in ("First.", "Second.", "Third."):
            turn = await app.say(talk["id"], words)
        sent = app.provider.requests("own")[-1].json()["messages"]
        system = [m["content"] for m in sent if m["role"] == "system"]
        assert system[0].startswith("You are Harbor."), "its kernel"
        assert any("[CONVERSATION_POSTURE]" in text for text in system), "it is read by the gate"
        assert len(sent) - len(system) == 3, "two messages and the newest: the copy's window"
        assert app.provider.requests("gate")
        trace = (await app.get(f"/api/turns/{turn['turn_id']}/trace")).json()
        assert trace["system_blocks"][0] == "persona"
        again = (await app.post("/api/personas/harbor/conversation?recipe=evening")).json()
        assert again["id"] == talk["id"]
        said = {"personaId": "harbor", "text": "Fourth.", "conversationId": talk["id"]}
        assert (await app.post("/api/chat", said)).status == 200
        refused = await app.post("/api/personas/harbor/conversation?recipe=agent")
        assert (refused.status, refused.error["param"]) == (422, "recipe")
