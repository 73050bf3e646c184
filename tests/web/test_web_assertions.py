"""Assertions over HTTP: made from answers and by hand, listed, changed, linted, suggested."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from tests.provider import Script
from tests.web.house import House

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/assertions"


async def answered(house: House, text: str = "Keep it. Why sell?", **more: Any) -> tuple[Any, str]:
    """An advisor and the id of an answer of hers."""
    advisor = await house.advisor(script=Script(text=text), **more)
    talk = await house.conversation(advisor)
    turn = await house.say(talk, "Should I sell\nthe boat?")
    return advisor, turn["answers"][0]["answer_id"]


async def test_from_an_answer_one_per_line(house: House) -> None:
    advisor, answer = await answered(house)
    body = {
        "answer_id": answer,
        "text": "- Is brief\n\n2. Ends with a question\n",
        "tags": ["Tone"],
    }
    made = await house.make(PATH, body)
    assert [one["text"] for one in made["assertions"]] == ["Is brief", "Ends with a question"]
    first = made["assertions"][0]
    assert {key: made[key] for key in first} == first
    assert first["advisor_id"] == advisor["id"]
    assert (first["kind"], first["version"], first["active"]) == ("judge", 1, True)
    assert first["tags"] == ["tone"]
    source = first["source"]
    assert source["user_input"] == "Should I sell the boat?"
    assert source["answer"] == "Keep it. Why sell?"
    assert source["answer_id"] == answer
    assert source["context_hash"]
    assert made["lint"] == [
        {"text": text, "findings": [], "check": None}
        for text in ("Is brief", "Ends with a question")
    ]
    again = await house.make(PATH, {"answer_id": answer, "texts": ["Is brief"]})
    assert again["id"] == first["id"]
    whole = (await house.get(f"{PATH}/{first['id']}")).json()
    assert whole["source"]["user_input"] == "Should I sell\nthe boat?"
    drawn = (await house.get(f"/api/answers/{answer}/assertions")).json()
    assert [one["id"] for one in drawn] == [one["id"] for one in made["assertions"]]
    talk = source["conversation_id"]
    marks = (await house.get(f"/api/conversations/{talk}/asserted")).json()
    assert marks == {"answers": [answer], "badges": False}


async def test_by_hand_and_checks_in_code(house: House) -> None:
    advisor = await house.advisor()
    judged = await house.make(
        PATH, {"advisor_id": advisor["slug"], "text": "Is calm", "user_input": "What is wisdom?"}
    )
    assert judged["user_input"] == "What is wisdom?"
    assert judged["source"] is None
    check = await house.make(
        PATH, {"advisor_id": advisor["id"], "kind": "words", "args": {"max": 120}}
    )
    assert (check["text"], check["args"]) == ("At most 120 words", {"max": 120})


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({"text": "Is brief"}, 422, "answer_id"),
        ({"text": "x", "answer_id": "a", "advisor_id": "b"}, 422, "answer_id"),
        ({"text": "Is brief", "answer_id": "nothing"}, 404, None),
        ({"text": "Is brief", "advisor_id": "nobody"}, 404, None),
        ({"text": " \n ", "advisor_id": "nobody"}, 422, "texts"),
        ({"texts": [], "advisor_id": "nobody"}, 422, "texts"),
        ({"texts": ["x" * 2001], "advisor_id": "nobody"}, 422, "texts.0"),
        ({"texts": [f"x{n}" for n in range(101)], "advisor_id": "n"}, 422, "texts"),
        ({"text": "a\u0000b", "advisor_id": "nobody"}, 422, "text"),
        ({"kind": "words", "advisor_id": "nobody"}, 422, "args"),
        ({"kind": "matches", "args": {"pattern": "(a"}, "advisor_id": "n"}, 422, "pattern"),
        ({"kind": "poem", "text": "x", "advisor_id": "nobody"}, 422, "kind"),
        ({"text": "x", "advisor_id": "nobody", "tags": ["%"]}, 422, "tags"),
        ({"text": "x", "answer_id": "a", "user_input": "Why?"}, 422, "user_input"),
        ({"text": "x", "advisor_id": "nobody", "colour": "red"}, 422, "colour"),
    ],
)
async def test_what_cannot_be_made_says_why(
    house: House, body: dict[str, Any], status: int, param: str | None
) -> None:
    reply = await house.post(PATH, body)
    assert reply.status == status, reply.text
    assert reply.error["param"] == param


async def test_an_answer_that_is_being_written_is_a_conflict(house: House) -> None:
    advisor = await house.advisor(script=Script(pieces=("a", "b"), gates={1: "assert-held"}))
    talk = await house.conversation(advisor)
    turn = await house.send(talk, "So?")
    answer = turn["answers"][0]["answer_id"]
    reply = await house.post(PATH, {"answer_id": answer, "text": "Is brief"})
    assert reply.status == 409
    assert "still being written" in reply.error["message"]
    house.provider.gate("assert-held").set()
    await house.ended(talk, turn["turn_id"])
    await house.make(PATH, {"answer_id": answer, "text": "Is brief"})


async def test_lists_are_searched_filtered_and_paged(house: House) -> None:
    advisor, answer = await answered(house, "Word. " * 100)
    path = f"/api/advisors/{advisor['slug']}/assertions"
    await house.make(PATH, {"answer_id": answer, "texts": ["Names a cost", "Names a gain"]})
    await house.make(
        PATH, {"advisor_id": advisor["id"], "kind": "words", "args": {"max": 9}, "tags": ["length"]}
    )
    page = (await house.get(path)).json()
    assert page["advisor_name"] == advisor["name"]
    assert page["next"] is None
    assert page["tags"] == ["length"]
    assert [one["text"] for one in page["items"]] == [
        "Names a cost", "Names a gain", "At most 9 words",
    ]  # fmt: skip
    assert len(page["items"][0]["source"]["answer"]) == 140
    first = (await house.get(f"{path}?limit=2")).json()
    rest = (await house.get(f"{path}?limit=2&after={first['next']}")).json()
    assert [*first["items"], *rest["items"]] == page["items"]

    async def found(query: str) -> list[str]:
        items = (await house.get(f"{path}?{query}")).json()["items"]
        return [one["text"] for one in items]

    assert await found("q=gain") == ["Names a gain"]
    assert await found("q=boat%20cost") == ["Names a cost"]
    assert await found("tag=Length") == ["At most 9 words"]
    assert await found("kind=words") == ["At most 9 words"]
    await house.patch(f"{PATH}/{page['items'][0]['id']}", {"active": False})
    assert await found("active=false") == ["Names a cost"]
    assert (await house.get(f"{path}?after=x")).status == 422
    assert (await house.get("/api/advisors/nobody/assertions")).status == 404
    assert (await house.get("/api/advisors/synthesis/assertions")).json()["items"] == []


async def test_a_change_makes_a_version_with_history(house: House) -> None:
    advisor = await house.advisor()
    made = await house.make(PATH, {"advisor_id": advisor["id"], "text": "Is brief"})
    path = f"{PATH}/{made['id']}"
    changed = (await house.patch(path, {"text": "Is terse", "tags": ["a"]})).json()
    assert (changed["version"], changed["text"], changed["tags"]) == (2, "Is terse", ["a"])
    same = (await house.patch(path, {"active": False})).json()
    assert (same["version"], same["active"]) == (2, False)
    asked = (await house.patch(path, {"user_input": "Why?"})).json()
    assert asked["user_input"] == "Why?"
    assert (await house.patch(path, {"user_input": None})).json()["user_input"] is None
    history = (await house.get(f"{path}/history")).json()
    assert [(one["number"], one["text"]) for one in history["versions"]] == [
        (2, "Is terse"),
        (1, "Is brief"),
    ]
    assert history["runs"] == []
    assert history["assertion"]["id"] == made["id"]
    assert (await house.patch(path, {})).status == 422
    assert (await house.patch(path, {"kind": "words"})).error["param"] == "args"
    assert (await house.delete(path)).status == 204
    for reply in (
        await house.get(path),
        await house.patch(path, {"text": "x"}),
        await house.delete(path),
        await house.get(f"{path}/history"),
    ):
        assert reply.status == 404


async def test_what_is_drawn_from_an_answer_keeps_its_question(house: House) -> None:
    _, answer = await answered(house)
    made = await house.make(PATH, {"answer_id": answer, "text": "Is brief"})
    reply = await house.patch(f"{PATH}/{made['id']}", {"user_input": "Another?"})
    assert (reply.status, reply.error["param"]) == (422, "user_input")


async def test_in_bulk_all_or_none(house: House) -> None:
    advisor = await house.advisor()
    body = {"advisor_id": advisor["id"], "texts": ["One thing", "Another thing"]}
    ids = [one["id"] for one in (await house.make(PATH, body))["assertions"]]
    path = f"/api/advisors/{advisor['id']}/assertions"

    async def bulk(action: str, **more: Any) -> int:
        return (await house.post(f"{PATH}/bulk", {"ids": ids, "action": action, **more})).status

    assert await bulk("deactivate") == 200
    assert await bulk("tag", tag="Tone") == 200
    items = (await house.get(path)).json()["items"]
    assert [(one["active"], one["tags"]) for one in items] == [(False, ["tone"])] * 2
    assert await bulk("activate") == 200
    assert await bulk("untag", tag="tone") == 200
    assert await bulk("tag") == 422
    assert await bulk("paint") == 422
    lost = await house.post(f"{PATH}/bulk", {"ids": [ids[0], "nothing"], "action": "remove"})
    assert lost.status == 404
    assert len((await house.get(path)).json()["items"]) == 2
    gone = await house.post(f"{PATH}/bulk", {"ids": ids, "action": "remove"})
    assert gone.json() == {"ids": ids}
    assert (await house.get(path)).json()["items"] == []


OPINION = {
    "items": [
        {"id": "1", "findings": [{"rule": "contradictory", "message": "Not with “Is terse”."}]},
        {
            "id": "2",
            "findings": [
                {"rule": "compound", "message": "Two things.", "split": ["Is sad", "Is glad"]},
                {"rule": "ugly", "message": "No such rule."},
            ],
        },
        {"id": "3", "findings": [], "check": {"kind": "words", "min": None, "max": 99}},
        {"id": "4", "findings": [], "check": {"kind": "words", "max": "many"}},
    ]
}


async def test_lint_beside_what_is_there(house: House) -> None:
    house.provider.script("default", Script(pieces=(json.dumps(OPINION),)))
    advisor = await house.advisor()
    made = await house.make(PATH, {"advisor_id": advisor["id"], "text": "Is terse"})
    texts = ["Is detailed", "Is sad and glad", "Stays under 100 words", "Names a cost"]
    body = {"texts": texts, "advisor_id": advisor["slug"]}
    told = (await house.post(f"{PATH}/lint", body)).json()
    items = told["items"]
    assert [[one["rule"] for one in item["findings"]] for item in items] == [
        ["contradictory"], ["compound"], [], [],
    ]  # fmt: skip
    assert items[1]["findings"][0]["split"] == ["Is sad", "Is glad"]
    assert items[2]["check"] == {"kind": "words", "args": {"max": 99}, "text": "At most 99 words"}
    assert (items[3]["check"], told["note"]) == (None, "")
    sent = json.loads(house.provider.requests("default")[-1].json()["messages"][-1]["content"])
    assert [row["text"] for row in sent["assertions"]] == texts
    assert sent["known"] == ["Is terse"]
    edited = {"text": "Is detailed", "advisor_id": advisor["id"], "beside": made["id"]}
    assert (await house.post(f"{PATH}/lint", edited)).status == 200
    sent = json.loads(house.provider.requests("default")[-1].json()["messages"][-1]["content"])
    assert sent["known"] == []
    house.provider.script("default", Script(status=500))
    told = (await house.post(f"{PATH}/lint", edited)).json()
    assert told["items"] == [{"text": "Is detailed", "findings": [], "check": None}]
    assert "was not looked at" in told["note"]
    assert (await house.post(f"{PATH}/lint", {"text": ""})).status == 422
    assert (await house.post(f"{PATH}/lint", {"text": "x", "advisor_id": "no"})).status == 404


async def test_suggestions_by_rule_and_by_a_model(house: House) -> None:
    proposed = {"assertions": [{"text": "Names what is at stake"}, {"text": "Is good"}]}
    _, answer = await answered(house, "You should keep it for as long as it is of use. Why sell?")
    model = house.model(Script(pieces=(json.dumps(proposed),), input_tokens=9, output_tokens=3))
    path = f"/api/answers/{answer}/assertions/suggest"
    found = (await house.post(path, {"model": model, "count": 3})).json()
    assert [(one["text"], one["by"]) for one in found["suggestions"]] == [
        ("Names what is at stake", model),
        ("Is good", model),
        ("At most 20 words", "rule"),
        ("Ends with a question", "rule"),
        ("Is in English", "rule"),
    ]
    assert (found["model"], found["note"]) == (model, "")
    sent = house.provider.requests(model.partition(":")[2])[-1].json()
    assert "Should I sell\\nthe boat?" in sent["messages"][-1]["content"]
    rows = await house.polyvox.database.read(
        lambda tx: tx.all("SELECT purpose, input_tokens FROM usage WHERE model = ?", (model,))
    )
    assert rows == [("evaluation", 9)]
    picked = found["suggestions"][2]
    made = await house.make(
        PATH, {"answer_id": answer, "texts": [picked["text"]], "kind": "words",
               "args": picked["args"]}
    )  # fmt: skip
    assert made["text"] == "At most 20 words"
    later = (await house.post(path, {"model": model})).json()
    assert "words" not in [one["kind"] for one in later["suggestions"]]


async def test_a_model_that_is_away_takes_only_its_own_share(house: House) -> None:
    _, answer = await answered(house)
    path = f"/api/answers/{answer}/assertions/suggest"
    gone = house.model(Script(status=500))
    found = (await house.post(path, {"model": gone})).json()
    assert [one["by"] for one in found["suggestions"]] == ["rule"] * len(found["suggestions"])
    assert found["suggestions"]
    assert gone in found["note"]
    empty = house.model(Script(text="I would rather not."))
    assert "nothing that can be used" in (await house.post(path, {"model": empty})).json()["note"]
    assert (await house.post(path, {"count": 99})).status == 422
    assert (await house.post("/api/answers/nothing/assertions/suggest")).status == 404


async def test_out_as_yaml_and_back_into_another_advisor(house: House) -> None:
    advisor, answer = await answered(house)
    await house.make(PATH, {"answer_id": answer, "texts": ["Is brief", "Names a cost"]})
    file = await house.get(f"/api/advisors/{advisor['slug']}/assertions/export")
    assert file.headers["Content-Type"] == "application/yaml"
    assert file.headers["Content-Disposition"].startswith("attachment")
    data = yaml.safe_load(file.text)
    assert len(data["contexts"]) == 1
    other = await house.advisor()
    path = f"/api/advisors/{other['id']}/assertions"
    body = {"content": file.text}
    dry = (await house.post(f"{path}/import", {**body, "dry_run": True})).json()
    assert len(dry["taken"]) == 2
    assert (await house.get(path)).json()["items"] == []
    taken = (await house.post(f"{path}/import", body)).json()
    assert len(taken["taken"]) == 2
    assert (await house.post(f"{path}/import", body)).json()["taken"] == []
    items = (await house.get(path)).json()["items"]
    assert [one["text"] for one in items] == ["Is brief", "Names a cost"]
    assert all(one["source"]["context_hash"] for one in items)
    home = (await house.post(f"{PATH}/import", body)).json()
    assert (home["taken"], len(home["present"])) == ([], 2)
    assert (await house.post(f"{path}/import", {"content": "5"})).status == 422
    assert (await house.post(f"{path}/import", {"content": "a: *b"})).status == 422
    assert (await house.post("/api/advisors/nobody/assertions/import", body)).status == 404


async def test_a_list_of_sentences_is_a_suite_made_by_hand(house: House) -> None:
    advisor = await house.advisor()
    path = f"/api/advisors/{advisor['id']}/assertions"
    sentences = ["Gives advice", "at most 150 words", {"text": "Asks first", "phase": "early"}]
    content = yaml.safe_dump(sentences)
    assert (await house.post(f"{path}/import", {"content": content})).status == 200
    made = (await house.get(path)).json()["items"]
    assert [(one["text"], one["kind"], one["phase"]) for one in made] == [
        ("Gives advice", "judge", "ongoing"),
        ("At most 150 words", "words", "ongoing"),
        ("Asks first", "judge", "early"),
    ]
    again = (await house.post(f"{path}/import", {"content": content})).json()
    assert (again["taken"], len(again["present"])) == ([], 3)


async def test_the_kinds_are_told(house: House) -> None:
    told = (await house.get(f"{PATH}/kinds")).json()
    assert {one["kind"]: one["args"] for one in told["kinds"]}["words"] == ["min", "max"]
    assert told["languages"]["pt"] == "Portuguese"


async def test_instruct_adds_to_the_prompt_as_a_version(house: House) -> None:
    advisor, answer = await answered(house)
    path = f"/api/answers/{answer}/instruct"
    made = (await house.post(path, {"instruction": "  Always name a cost.\n"})).json()
    assert made["prompt"] == f"{advisor['description']}\n\nAlways name a cost."
    versions = (await house.get(f"/api/advisors/{advisor['id']}/versions")).json()
    assert (versions[0]["number"], versions[0]["reason"]) == (2, "instructed")
    assert versions[0]["parent_id"] == versions[1]["id"]
    assert (await house.post(path, {"instruction": " "})).status == 422
    back = await house.post(f"/api/advisors/{advisor['id']}/rollback", {"version": 1})
    assert back.json()["prompt"] is None


async def test_typed_words_of_a_check_are_checked_in_code(house: House) -> None:
    advisor = await house.advisor()
    texts = [
        "at most 150 words",
        "- At least 1200 words.",
        "2 to 4 sentences",
        "no questions",
        'contains "the sea"',
        "ends with a question",
        "Is in German",
        "is valid JSON",
        "At most 150 words of advice",
        "At most many words",
    ]
    body = {"advisor_id": advisor["id"], "text": "\n".join(texts)}
    made = (await house.make(PATH, body))["assertions"]
    contains = {"text": "the sea", "ignore_case": True, "whole_words": False}
    assert [(row["kind"], row["args"]) for row in made] == [
        ("words", {"max": 150}),
        ("words", {"min": 1200}),
        ("sentences", {"min": 2, "max": 4}),
        ("questions", {"max": 0}),
        ("contains", contains),
        ("ends_with_question", {}),
        ("language", {"language": "de"}),
        ("json", {}),
        ("judge", {}),
        ("judge", {}),
    ]
    assert (made[0]["text"], made[1]["text"]) == ("At most 150 words", "At least 1,200 words")
    judged = await house.make(PATH, {**body, "text": "At most 9 words", "kind": "judge"})
    assert judged["kind"] == "judge"
    path = f"{PATH}/{made[8]['id']}"
    changed = (await house.patch(path, {"text": "at most 90 words"})).json()
    assert (changed["kind"], changed["args"]) == ("words", {"max": 90})
    told = (await house.post(f"{PATH}/lint", {"text": "at most 150 words"})).json()
    assert told["items"][0]["check"]["args"] == {"max": 150}
    proposed = {"assertions": [{"text": "At most 40 words"}]}
    _, answer = await answered(house, "Keep it.")
    model = house.model(Script(pieces=(json.dumps(proposed),)))
    suggested = await house.post(f"/api/answers/{answer}/assertions/suggest", {"model": model})
    assert suggested.json()["suggestions"][0]["args"] == {"max": 40}
