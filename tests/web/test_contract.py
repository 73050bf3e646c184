"""The memory contract, by a client that knows nothing but the contract: its paths, its fields, who
is meant. Nothing of ours is used to ask or to read the answers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest
from tests.memory.canary import EMPTY, Nest, open_nest
from tests.provider import Script

pytestmark = pytest.mark.contract

NOON = datetime(2024, 5, 10, 12, tzinfo=UTC)
DEPTHS = ("continuation", "today", "yesterday", "multi_day")
LOOPS = ("commitment", "decision", "friction", "habit", "thread")
HORIZONS = ("today", "this_week", "ongoing")
SOURCES = ("user_stated", "manual", "inferred")
DOMAINS = {"relationships", "work", "health", "spirituality", "general"}


@dataclass(frozen=True)
class Client:
    """A program that was written from the contract alone."""

    url: str
    http: aiohttp.ClientSession
    tenant: str
    user: str

    async def call(
        self, method: str, path: str, query: dict[str, Any] | None = None, body: Any = None
    ) -> tuple[int, Any]:
        url = f"{self.url}{path}" + (f"?{urlencode(query)}" if query else "")
        async with self.http.request(method, url, json=body) as reply:
            return reply.status, json.loads(await reply.text())

    @property
    def who(self) -> dict[str, str]:
        return {"tenantId": self.tenant, "userId": self.user}

    async def get(self, path: str, **query: Any) -> Any:
        status, data = await self.call("GET", path, {**self.who, **query})
        assert status == 200, data
        return data

    async def post(self, path: str, **body: Any) -> Any:
        status, data = await self.call("POST", path, None, {**self.who, **body})
        assert status == 200, data
        return data

    async def ingest(self, session: str, *said: str, at: datetime = NOON, **more: Any) -> str:
        messages = []
        for number, text in enumerate(said):
            time = at + timedelta(minutes=number)
            messages.append({"role": "user", "text": text, "timestamp": time.isoformat()})
            messages.append({"role": "assistant", "text": "I see.", "timestamp": time.isoformat()})
        told = await self.post(
            "/session/ingest",
            sessionId=session,
            startedAt=at.isoformat(),
            endedAt=(at + timedelta(minutes=len(said))).isoformat(),
            messages=messages,
            **more,
        )
        assert set(told) >= {"status", "sessionId"}
        assert told["sessionId"] == session
        return str(told["status"])


@pytest.fixture
async def nest(database_url: str, tmp_path: Path) -> AsyncIterator[Nest]:
    url = "" if database_url.startswith("sqlite") else database_url
    async with open_nest(url, tmp_path / "home") as found:
        found.clock[0] = _micros(NOON + timedelta(hours=1))
        yield found


def _micros(time: datetime) -> int:
    return round(time.timestamp() * 1_000_000)


def client(nest: Nest, user: str = "anna", tenant: str = "app") -> Client:
    return Client(nest.house.url, nest.house.client, tenant, user)


SAYS = "I will call the harbour office about the mooring tomorrow."


async def told(nest: Nest, one: Client, word: str) -> None:
    """Have a partition know a word in every way there is."""
    quote = f"call {word} about the mooring"
    nest.note(
        {
            "facts": [
                {"n": 0, "quote": quote, "subject": word, "attribute": "role",
                 "text": f"{word} runs the mooring."}
            ],
            "loops": [
                {"n": 0, "quote": f"I will {quote}", "type": "commitment",
                 "text": f"Call {word} about the mooring", "domain": "work"}
            ],
            "profile": [
                {"n": 0, "quote": quote, "field": "key_relationships", "item": word,
                 "text": f"{word}, at the harbour"}
            ],
            "instructions": [],
        },
        {"summary": f"They spoke of {word}."},
    )  # fmt: skip
    filler = "The day was long and the tea was cold, and then we walked along the water."
    status = await one.ingest(f"s-{word}", f"I will {quote} tomorrow.", filler, f"{filler} Yes.")
    assert status == "ingested"
    await nest.work()
    nest.clock[0] = _micros(NOON + timedelta(days=1))
    nest.note(
        {
            "themes": [word], "scores": {"mood": 3}, "confidence": 0.9,
            "steering_note": f"Ask about {word}.",
        }
    )  # fmt: skip
    await nest.work()
    nest.clock[0] = _micros(NOON + timedelta(hours=1))
    nest.house.provider.script(
        "notes", Script(pieces=(json.dumps({**EMPTY, "summary": "x", "themes": []}),))
    )


def text(value: Any) -> None:
    assert isinstance(value, str)
    assert value


def maybe(check: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda value: value is None or check(value)


def moment(value: Any) -> None:
    assert datetime.fromisoformat(value).tzinfo is not None


async def test_ingest_is_once_by_session(nest: Nest) -> None:
    one = client(nest)
    assert await one.ingest("s", SAYS) == "ingested"
    assert await one.ingest("s", SAYS) == "duplicate"
    assert await one.ingest("s", SAYS, "And the survey.") == "ingested", "it can grow"
    assert await one.ingest("s", SAYS) == "duplicate", "an older copy that comes late"
    assert await one.ingest("nothing") == "empty"
    assert await client(nest, "bert").ingest("s", "Another session.") == "ingested"
    status, error = await one.call(
        "POST",
        "/session/ingest",
        None,
        {**one.who, "sessionId": "s", "startedAt": NOON.isoformat(), "endedAt": NOON.isoformat(),
         "messages": [{"role": "user", "text": "Other words.", "timestamp": NOON.isoformat()}]},
    )  # fmt: skip
    assert status == 409
    assert error["error"]["message"]


async def test_a_query_tells_with_dates_and_sources(nest: Nest) -> None:
    one = client(nest)
    await told(nest, one, "Marisol")
    found = await one.post(
        "/memory/query", query="Marisol mooring", limit=10, referenceTime=NOON.isoformat(),
        includeContext=False,
    )  # fmt: skip
    assert set(found) >= {"facts", "factItems", "entities", "metadata"}
    assert all(isinstance(fact, str) for fact in found["facts"])
    assert {item["source"] for item in found["factItems"]} >= {"episode", "fact"}
    for item in found["factItems"]:
        text(item["text"])
        assert 0 <= item["relevance"] <= 1
        assert item["status"] in ("current", "superseded")
        maybe(moment)(item["validFrom"])
        maybe(moment)(item["validTo"])
        assert item["evidence"]
        for evidence in item["evidence"]:
            assert evidence["sessionId"] == "s-Marisol"
            assert isinstance(evidence["messageIndex"], int)
            assert evidence["role"] in ("user", "assistant")
            text(evidence["quote"])
            moment(evidence["timestamp"])
    said = next(item for item in found["factItems"] if item["source"] == "episode")
    assert said["evidence"][0]["messageIndex"] == 0, "messages are counted from 0"
    for entity in found["entities"]:
        assert set(entity) >= {"summary", "type", "uuid"}
    assert "Marisol" in [entity.get("name") for entity in found["entities"]] or found["entities"]
    metadata = found["metadata"]
    assert metadata["query"] == "Marisol mooring"
    assert metadata["limit"] == 10
    assert metadata["facts"] == len(found["facts"])
    assert metadata["entities"] == len(found["entities"])
    text(metadata["responseMode"])
    before = await one.post("/memory/query", query="Marisol mooring", limit=100,
                            asOf=(NOON - timedelta(days=1)).isoformat())  # fmt: skip
    assert before["factItems"] == [], "then nobody had said it"
    small = await one.post("/memory/query", query="Marisol mooring", limit=100, maxTokens=12)
    assert len(small["factItems"]) < len(found["factItems"])
    past = await one.post("/memory/query", query="Marisol", limit=100, includeHistory=True)
    assert len(past["factItems"]) >= len(found["factItems"])


async def test_loops_come_by_priority(nest: Nest) -> None:
    one = client(nest)
    await told(nest, one, "Marisol")
    found = await one.get("/memory/loops", limit=5)
    assert set(found) >= {"items", "metadata"}
    (item,) = found["items"]
    assert set(item) >= {
        "id", "type", "text", "status", "salience", "timeHorizon", "dueDate", "lastSeenAt",
        "domain", "importance", "urgency", "tags",
    }  # fmt: skip
    assert item["type"] in LOOPS
    assert item["timeHorizon"] in HORIZONS
    assert "Marisol" in item["text"]
    assert isinstance(item["tags"], list)
    moment(item["lastSeenAt"])
    assert (await one.get("/memory/loops", limit=5, domain="work"))["items"] == [item]
    assert (await one.get("/memory/loops", limit=5, domain="health"))["items"] == []


async def test_the_user_model_is_read_and_changed(nest: Nest) -> None:
    one = client(nest)
    empty = await one.get("/user/model")
    assert set(empty) >= {"model", "completeness", "version"}
    await told(nest, one, "Marisol")
    found = await one.get("/user/model")
    model = found["model"]
    assert set(model) >= {
        "north_star", "current_focus", "work_context", "key_relationships", "patterns",
        "preferences",
    }  # fmt: skip
    assert set(model["north_star"]) == DOMAINS
    assert set(model["preferences"]) >= {"tone", "avoid"}
    assert set(found["completeness"]) == DOMAINS
    (person,) = model["key_relationships"]
    assert person["source"] in SOURCES
    assert 0 <= person["confidence"] <= 1
    assert "Marisol" in json.dumps(person)
    assert found["version"] > empty["version"]
    status, changed = await one.call(
        "PATCH", "/user/model", one.who, {"model": {"current_focus": "Sell the old boat"}}
    )
    assert status == 200
    assert changed["model"]["current_focus"]["text"] == "Sell the old boat"
    assert changed["model"]["current_focus"]["source"] == "manual"
    assert (await one.get("/user/model"))["version"] > found["version"]


async def test_a_day_is_analysed_when_it_is_over(nest: Nest) -> None:
    one = client(nest)
    empty = await one.get("/analysis/daily", date="2024-05-10")
    assert (empty["exists"], empty["themes"]) == (False, [])
    await told(nest, one, "Marisol")
    found = await one.get("/analysis/daily", date="2024-05-10")
    assert set(found) >= {
        "analysisDate", "themes", "scores", "steeringNote", "confidence", "exists", "metadata",
    }  # fmt: skip
    assert found["analysisDate"] == "2024-05-10"
    assert found["exists"] is True
    assert found["themes"] == ["Marisol"]
    assert found["metadata"]["quality_flag"] == "ok"


@pytest.mark.parametrize(
    ("gap", "depth", "bridge"),
    [
        (timedelta(minutes=12), "continuation", True),
        (timedelta(hours=3), "today", False),
        (timedelta(hours=20), "yesterday", False),
        (timedelta(days=4), "multi_day", False),
    ],
)
async def test_a_session_starts_with_a_brief(
    nest: Nest, gap: timedelta, depth: str, bridge: bool
) -> None:
    one = client(nest)
    await one.ingest("s", SAYS)
    now = NOON + timedelta(minutes=1) + gap
    brief = await one.get(
        "/session/startbrief", sessionId="new", timezone="UTC", now=now.isoformat()
    )
    assert set(brief) >= {
        "handover_text", "handover_depth", "time_context", "resume", "items", "ops_context",
        "evidence",
    }  # fmt: skip
    assert brief["handover_depth"] == depth
    most = dict(zip(DEPTHS, (35, 80, 95, 120), strict=True))[depth]
    assert 0 < len(brief["handover_text"].split()) <= most
    times = brief["time_context"]
    assert set(times) >= {
        "local_time", "time_of_day", "gap_minutes", "sessions_today", "first_session_today",
    }  # fmt: skip
    assert times["gap_minutes"] == gap // timedelta(minutes=1)
    assert brief["resume"]["use_bridge"] is bridge
    assert bool(brief["resume"]["bridge_text"]) is bridge
    assert set(brief["ops_context"]) >= {
        "top_loops_today", "waiting_on", "user_model_hints", "yesterday_themes", "steering_note",
    }  # fmt: skip
    for item in brief["items"]:
        assert set(item) >= {
            "kind", "text", "type", "timeHorizon", "dueDate", "salience", "lastSeenAt",
        }  # fmt: skip
        assert item["kind"] in ("loop", "tension")
    assert set(brief["evidence"]) >= {"quality", "fallback"}
    plain = await one.get("/session/brief", timezone="UTC", now=now.isoformat())
    assert set(plain) >= {
        "timeGapDescription", "timeOfDayLabel", "facts", "openLoops", "commitments",
        "currentFocus", "narrativeSummary", "briefContext",
    }  # fmt: skip
    for name in ("facts", "openLoops", "commitments", "narrativeSummary"):
        assert isinstance(plain[name], list)


GETS = ("/session/startbrief", "/session/brief", "/user/model", "/analysis/daily", "/memory/loops")
INGEST = {
    "sessionId": "s", "startedAt": NOON.isoformat(), "endedAt": NOON.isoformat(),
    "messages": [{"role": "user", "text": "x", "timestamp": NOON.isoformat()}],
}  # fmt: skip
WRONG: list[tuple[str, str, dict[str, Any] | None, Any]] = [
    *(("GET", path, {"userId": "anna"}, None) for path in GETS),
    *(("GET", path, {"tenantId": "app"}, None) for path in GETS),
    *(("GET", path, {"tenantId": "", "userId": "anna"}, None) for path in GETS),
    ("PATCH", "/user/model", {"tenantId": "app"}, {"model": {"current_focus": "x"}}),
    ("PATCH", "/user/model", {"tenantId": "app", "userId": "anna"}, {"model": {"shoe": "x"}}),
    ("POST", "/memory/query", None, {"userId": "anna", "query": "x"}),
    ("POST", "/memory/query", None, {"tenantId": "app", "query": "x"}),
    ("POST", "/memory/query", None, {"tenantId": "app", "userId": "anna"}),
    ("POST", "/memory/query", None,
     {"tenantId": "app", "userId": "anna", "query": "x", "limit": 101}),
    ("POST", "/memory/query", None,
     {"tenantId": "app", "userId": "anna", "query": "x", "asOf": "soon"}),
    ("POST", "/session/ingest", None, {"tenantId": "app", **INGEST}),
    ("POST", "/session/ingest", None, {"userId": "anna", **INGEST}),
    ("POST", "/session/ingest", None,
     {"tenantId": "app", "userId": "anna", **INGEST, "sessionId": ""}),
    ("POST", "/session/ingest", None,
     {"tenantId": "app", "userId": "anna", **INGEST,
      "messages": [{"role": "narrator", "text": "x"}]}),
    ("POST", "/session/ingest", None,
     {"tenantId": "app", "userId": "anna", **INGEST, "startedAt": "then"}),
    ("POST", "/session/ingest", None, ["nothing"]),
    ("GET", "/memory/loops", {"tenantId": "app", "userId": "anna", "limit": "many"}, None),
    ("GET", "/memory/loops", {"tenantId": "app", "userId": "anna", "domain": "shoes"}, None),
    ("GET", "/analysis/daily", {"tenantId": "app", "userId": "anna", "date": "today"}, None),
    ("GET", "/session/startbrief", {"tenantId": "app", "userId": "anna", "now": "soon"}, None),
    ("GET", "/session/startbrief",
     {"tenantId": "app", "userId": "anna", "timezone": "Nowhere/At_All"}, None),
]  # fmt: skip


async def test_what_is_wrong_is_said_in_one_shape(tmp_path: Path) -> None:
    async with open_nest("", tmp_path / "home") as nest:
        one = client(nest)
        for method, path, query, body in WRONG:
            status, data = await one.call(method, path, query, body)
            where = f"{method} {path} {query} {body}"
            assert status in (400, 422), f"{where}: {status} {data}"
            assert set(data) == {"error"}, where
            assert data["error"]["message"], where
            assert data["error"]["hint"], where


async def everything(one: Client, word: str) -> dict[str, str]:
    """What every endpoint tells of a partition, asked for a word."""
    later = (NOON + timedelta(hours=20)).isoformat()
    return {
        "query": json.dumps(await one.post(
            "/memory/query", query=f"What about {word} and the mooring?", limit=100,
            includeHistory=True, includeContext=True, referenceTime=later)),
        "loops": json.dumps(await one.get("/memory/loops", limit=100)),
        "model": json.dumps(await one.get("/user/model")),
        "daily": json.dumps(await one.get("/analysis/daily", date="2024-05-10")),
        "startbrief": json.dumps(await one.get("/session/startbrief", now=later)),
        "soon": json.dumps(await one.get(
            "/session/startbrief", now=(NOON + timedelta(minutes=10)).isoformat())),
        "brief": json.dumps(await one.get("/session/brief", now=later)),
    }  # fmt: skip


async def test_nothing_crosses_from_one_partition_to_another(nest: Nest) -> None:
    """Two that share a tenant, two that share a user's name, and the person's own: what one was
    told shows through no endpoint of another."""
    anna, bert = client(nest, "anna"), client(nest, "bert")
    other, own = client(nest, "anna", "other"), client(nest, "local", "polyvox")
    tricky = client(nest, 'anna", "x', "app")
    words = {"Marisol": anna, "Tobias": bert, "Quentin": other, "Ingrid": own, "Ulrika": tricky}
    for word, one in words.items():
        await told(nest, one, word)
    for word, one in words.items():
        for theirs in words:
            seen = await everything(one, theirs)
            for name, data in seen.items():
                mine = data.replace(f"What about {theirs} and the mooring?", "")
                if theirs != word:
                    assert theirs not in mine, f"{theirs} through {name} of {word}"
        seen = await everything(one, word)
        silent = {name for name, data in seen.items() if word not in data}
        assert silent <= {"soon"}, f"or this shows nothing: {silent}"
    status, _ = await anna.call(
        "PATCH", "/user/model", anna.who, {"model": {"current_focus": "Only mine, Zacharias"}}
    )
    assert status == 200
    for word, one in words.items():
        assert ("Zacharias" in json.dumps(await one.get("/user/model"))) == (one is anna), word
