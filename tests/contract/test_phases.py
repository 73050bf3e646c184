"""The early phase listens, and ends when the person wants an answer; one-shot doors answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.app import App, bare, open_app
from tests.provider import Script

pytestmark = pytest.mark.contract

OTHERS = "Others are answering the same message"


def system(app: App, advisor: Any) -> str:
    """The system text of the last request for an advisor."""
    message = app.provider.requests(bare(advisor))[-1].json()["messages"][0]
    assert message["role"] == "system"
    return str(message["content"])


def phase(app: App, advisor: Any) -> str:
    """The phase that this text names: `2 of 3`, or `answer`."""
    head = system(app, advisor).partition("## Your task")[2].splitlines()[0]
    return head.removeprefix(": turn ") or "answer"


async def test_the_early_phase_builds_on_what_was_told_and_asked(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app:
        ann, ben = await app.advisor(name="Ann"), await app.advisor(name="Ben")
        app.provider.script(bare(ann), Script(text="How old is it?"))
        app.provider.script(bare(ben), Script(text="Who owns it?"))
        talk = await app.conversation(ann, ben)
        for number, said in enumerate(("It is broken.", "Ten years old.", "My sister."), 1):
            await app.say(talk, said)
            assert phase(app, ann) == f"{number} of 3"
        text = system(app, ann)
        assert "Never repeat a question that you or another advisor has asked before" in text
        assert "Never ask for something the person has already told you" in text
        assert "build on it" in text
        assert "anything useful" not in text, "at turn 3 it does not claim to know nothing"
        sent = app.provider.requests(bare(ann))[-1].json()["messages"]
        assert [m["content"] for m in sent if m["role"] == "assistant"] == ["How old is it?"] * 2
        assert "Ben: Who owns it?" in sent[-2]["content"], "the others' questions are shown"
        await app.say(talk, "Now what?")
        assert phase(app, ann) == "answer"


async def test_a_plain_request_for_an_answer_is_the_models_to_judge(tmp_path: Path) -> None:
    async with open_app(tmp_path, models={"known": {"lab:small": {"prompts": "compact"}}}) as app:
        ann, small = await app.advisor(), await app.advisor("lab:small")
        talk = await app.conversation(ann, small)
        await app.say(talk, "No more questions, please. What would you do?")
        asked = app.provider.requests(bare(ann))[-1].json()["messages"][-1]["content"]
        assert asked.endswith("No more questions, please. What would you do?")
        assert "they want your answer now or no more questions, do not ask" in system(app, ann)
        assert "in this message or an earlier one" in system(app, ann)
        assert "If they want your answer now, answer instead" in system(app, small)


async def test_answer_now_ends_the_phase_for_good(tmp_path: Path, database_url: str) -> None:
    async with open_app(tmp_path, database=database_url) as app:
        ann = await app.advisor()
        talk = await app.conversation(ann)
        turn = await app.say(talk, "It is broken.")
        assert phase(app, ann) == "1 of 3"
        await app.say(talk, "Ten years old.", answer_now=True, idempotency_key="k")
        assert phase(app, ann) == "answer"
        assert (await app.get(f"/api/conversations/{talk}")).json()["phases"] == 0
        changed = [e.data for e in await app.stored(talk) if e.kind == "conversation.changed"]
        assert changed == [{"what": "details", "id": talk}], "other tabs are told"
        await app.say(talk, "And now?")
        assert phase(app, ann) == "answer"
        again = await app.post(f"/api/answers/{turn['answers'][0]['answer_id']}/regenerate")
        assert again.status == 202
        await app.ended(talk, turn["turn_id"])
        assert phase(app, ann) == "answer"
        path = f"/api/conversations/{talk}/turns"
        same = {"content": "Ten years old.", "idempotency_key": "k"}
        assert (await app.post(path, same)).error["code"] == "conflict", "another body"
        assert (await app.post(path, {**same, "answer_now": True})).status == 202


async def test_phases_of_a_conversation_and_of_a_council(tmp_path: Path, database_url: str) -> None:
    async with open_app(tmp_path, database=database_url) as app:
        ann = await app.advisor()
        talk = await app.conversation(ann, phases=1)
        await app.say(talk, "One.")
        assert phase(app, ann) == "1 of 1"
        await app.say(talk, "Two.")
        assert phase(app, ann) == "answer"
        whole = await app.patch(f"/api/conversations/{talk}", {"phases": None})
        assert whole.json()["phases"] is None
        await app.say(talk, "Three.")
        assert phase(app, ann) == "3 of 3", "as the recipe says"
        council = await app.council(ann, phases=0)
        assert council["phases"] == 0
        from_council = await app.conversation(council=council["id"])
        await app.say(from_council, "At once.")
        assert phase(app, ann) == "answer"
        reply = await app.patch(f"/api/councils/{council['slug']}", {"phases": None})
        assert reply.json()["phases"] is None
        await app.say(await app.conversation(council=council["id"]), "First.")
        assert phase(app, ann) == "1 of 3"
        wrong = await app.patch(f"/api/conversations/{talk}", {"phases": -1})
        assert (wrong.status, wrong.error["param"]) == (422, "phases")


async def test_the_openai_door_answers_unless_asked_otherwise(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app:
        ann, ben = await app.advisor(), await app.advisor()
        council = await app.council(ann, ben)

        async def ask(model: str, **more: Any) -> str:
            messages = [{"role": "user", "content": "Well?"}]
            body = {"model": model, "messages": messages, **more}
            reply = await app.post("/v1/chat/completions", body)
            assert reply.status == 200, reply.text
            return phase(app, ann)

        assert await ask(f"advisor:{ann['slug']}") == "answer"
        assert OTHERS not in system(app, ann)
        assert await ask(f"council:{council['slug']}") == "answer"
        assert OTHERS in system(app, ann)
        assert await ask(f"advisor:{ann['slug']}", phases=3) == "1 of 3"
        await app.patch(f"/api/councils/{council['id']}", {"phases": 2})
        assert await ask(f"council:{council['slug']}") == "1 of 2", "the council wants it so"
        assert await ask(f"council:{council['slug']}", phases=0) == "answer"


async def test_others_answer_only_where_they_do(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app:
        ann, ben = await app.advisor(name="Ann"), await app.advisor(name="Ben")
        talk = await app.conversation(ann, ben)
        turn = await app.say(talk, "Both of you?")
        assert OTHERS in system(app, ann)
        await app.post(f"/api/answers/{turn['answers'][0]['answer_id']}/regenerate")
        await app.ended(talk, turn["turn_id"])
        assert OTHERS in system(app, ann), "written again alone, it still has company"
        await app.say(talk, f"@{ann['slug']} only you?")
        assert OTHERS not in system(app, ann)
        assert "several advisors" not in system(app, ann)
        alone = await app.conversation(ann)
        await app.say(alone, "You?")
        assert OTHERS not in system(app, ann)


async def test_every_voice_is_told_to_use_the_persons_language(tmp_path: Path) -> None:
    async with open_app(tmp_path, models={"known": {"lab:small": {"prompts": "compact"}}}) as app:
        ann, small = await app.advisor(), await app.advisor("lab:small")
        talk = await app.conversation(ann, small)
        turn = await app.say(talk, "Was nun?")
        assert "Answer in the language the person writes in" in system(app, ann)
        assert "in the person's language" in system(app, small)
        made = await app.make(f"/api/turns/{turn['turn_id']}/exchange", {"rounds": 1})
        await app.ended(talk, made["turn_id"])
        assert "Answer in the language the person writes in" in system(app, ann)
        alone = await app.conversation(advisors=["assistant"])
        await app.say(alone, "Was nun?")
        assert "language the person writes in" in system(app, {"model": "lab:default"})
        reply = await app.post("/api/chat", {"personaId": "harbor", "text": "Guten Abend."})
        assert reply.status == 200, reply.text
        assert "in\nthe language they write in" in system(app, {"model": "lab:default"})
