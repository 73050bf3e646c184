"""Sessions and background work over HTTP: shown, ended, tried again."""

from __future__ import annotations

import pytest
from tests.web.house import House

from polyvox.memory.derive import subject_of
from polyvox.memory.values import Partition
from polyvox.store import jobs
from polyvox.store.database import Tx
from polyvox.values import Scope

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_session_is_listed_shown_and_ended(house: House) -> None:
    conversation = await house.conversation(await house.advisor())
    await house.say(conversation, "One.")
    turn = await house.say(conversation, "Two.")
    (one,) = (await house.get(f"/api/sessions?conversation={conversation}")).json()
    assert one["conversation_id"] == conversation
    assert (one["messages"], one["ended_at"], one["ended_by"]) == (2, None, None)
    assert one["started_at"] < one["last_user_at"]
    whole = (await house.get(f"/api/conversations/{conversation}")).json()
    assert {message["session_id"] for message in whole["messages"]} == {one["id"]}
    path = f"/api/sessions/{one['id']}"
    assert (await house.get(path)).json() == one
    ended = await house.post(f"{path}/end")
    assert ended.status == 200
    assert ended.json()["ended_by"] == "person"
    assert ended.json()["ended_at"] >= one["last_user_at"]
    again = await house.post(f"{path}/end")
    assert again.status == 409
    await house.say(conversation, "Three.")
    newest, older = (await house.get(f"/api/sessions?conversation={conversation}")).json()
    assert older == ended.json()
    assert (newest["messages"], newest["ended_at"]) == (1, None)
    assert turn["turn_id"]


async def test_ending_a_session_wants_it_remembered_once(house: House) -> None:
    conversation = await house.conversation(await house.advisor())
    await house.say(conversation, "Remember this.")
    (one,) = (await house.get(f"/api/sessions?conversation={conversation}")).json()
    await house.post(f"/api/sessions/{one['id']}/end")
    job = await house.polyvox.database.read(lambda tx: jobs.get(tx, f"ingest:{one['id']}"), Scope())
    assert job.subject == one["id"]


async def test_a_failed_job_is_shown_with_its_reason_and_tried_again(house: House) -> None:
    me, database = Scope(), house.polyvox.database
    await database.write(lambda tx: jobs.enqueue(tx, "imagined", "x", 1), me)
    job = await database.write(lambda tx: jobs.claim(tx, ["imagined"], "nobody", 2))
    assert job is not None
    await database.write(lambda tx: jobs.fail(tx, job, "nobody", "It broke.", 3))
    told = (await house.get("/api/jobs?state=failed")).json()
    assert told["failed"] >= 1
    (shown,) = [one for one in told["items"] if one["id"] == "imagined:x"]
    assert (shown["state"], shown["failure"], shown["attempts"]) == ("failed", "It broke.", 1)
    retried = await house.post("/api/jobs/imagined:x/retry")
    assert retried.status == 200
    assert retried.json()["state"] == "pending"
    assert "imagined:x" in [one["id"] for one in (await house.get("/api/jobs")).json()["items"]]
    assert (await house.post("/api/jobs/nothing:x/retry")).status == 404


async def test_nobody_has_such_a_session(house: House) -> None:
    for reply in (
        await house.get("/api/sessions/none"),
        await house.post("/api/sessions/none/end"),
    ):
        assert reply.status == 404
        assert "none" in reply.error["message"]
    assert (await house.get("/api/sessions/none/turns")).status == 404
    assert (await house.get("/api/sessions?after=none")).status == 404
    assert (await house.get("/api/sessions?conversation=none")).json() == []
    assert (await house.get("/api/jobs?state=nonsense")).status == 422


async def test_a_session_says_where_it_was_and_what_was_said(house: House) -> None:
    one, two = await house.advisor(name="Wren"), await house.advisor(name="Crow")
    conversation = await house.conversation(one, two, title="Of birds")
    first = await house.say(conversation, "One.")
    await house.make(f"/api/answers/{first['answers'][0]['answer_id']}/regenerate", {})
    await house.say(conversation, "Long. " * 200)
    (session,) = (await house.get(f"/api/sessions?conversation={conversation}")).json()
    assert (session["title"], session["recipe"]) == ("Of birds", "council")
    assert session["first"] == "One."
    assert (await house.get(f"/api/sessions/{session['id']}")).json() == session
    assert first["session_id"] == session["id"]
    told = (await house.get(f"/api/sessions/{session['id']}/turns")).json()
    assert told[0]["turn_id"] == first["turn_id"]
    assert (told[0]["content"], told[0]["cut"]) == ("One.", False)
    assert told[1]["cut"]
    assert ("Long. " * 200).startswith(told[1]["content"])
    voices = [(one["name"], one["kind"]) for one in told[0]["answers"]]
    assert voices == [("Wren", "advisor"), ("Crow", "advisor")], "each once, as it is now"
    crow = await house.answer(told[0]["answers"][1]["answer_id"])
    assert told[0]["answers"][1]["first"] == crow["text"].strip()[:200] != ""
    newest = (await house.get(f"/api/sessions/{session['id']}/turns?limit=1")).json()
    assert newest == told[1:]


async def test_the_work_about_a_session_is_found_by_it(house: House) -> None:
    me, database = Scope(), house.polyvox.database
    conversation = await house.conversation(await house.advisor())
    await house.say(conversation, "Remember this, too.")
    (one,) = (await house.get(f"/api/sessions?conversation={conversation}")).json()
    await house.post(f"/api/sessions/{one['id']}/end")
    mine = subject_of(Partition.own(me), one["id"])
    theirs = subject_of(Partition("else", "where"), one["id"])

    def want(tx: Tx) -> None:
        for kind, subject in (("extract", mine), ("summarise", theirs), ("daily", mine)):
            jobs.enqueue(tx, kind, subject, 1)

    await database.write(want, me)
    everything = (await house.get("/api/jobs?limit=200")).json()["items"]
    about = {job["id"]: job["session_id"] for job in everything}
    assert about[f"ingest:{one['id']}"] == about[f"extract:{mine}"] == one["id"]
    assert about[f"summarise:{theirs}"] is None
    assert about[f"daily:{mine}"] is None
    found = (await house.get(f"/api/jobs?session={one['id']}")).json()["items"]
    assert {job["id"] for job in found} == {
        f"ingest:{one['id']}",
        f"extract:{mine}",
        f"daily:{mine}",
    }
    assert (await house.get("/api/jobs?session=none")).json()["items"] == []
