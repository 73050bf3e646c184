"""The OpenAPI page: complete, and true. Schemathesis makes requests from it, good and bad ones;
whatever comes back must be on the page."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.core.parameters import ParameterLocation
from tests.web.house import house_in_thread

from polyvox.app import Polyvox
from polyvox.settings import Settings
from polyvox.web.server import build_api

PAGE: dict[str, Any] = build_api(Polyvox(Settings(), env={})).openapi()
ON = ("true", "1", "on", "yes", "t", "y")
MODEL = "scripted:say=Yes,_but."
PROPOSING = 'scripted:say={"name":"Miller","description":"You_grind_all_of_it_to_flour."}'

config = schemathesis.Config.from_dict(
    {
        "checks": {
            # Much is well formed and still not so here: an advisor nobody knows, a taken slug.
            "positive_data_acceptance": {
                "expected-statuses": ["2xx", "400", "401", "402", "403", "404", "409", "422"]
            },
        }
    }
)
schema = schemathesis.openapi.from_dict(PAGE, config=config)


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: Any, value: Any) -> bytes:
    """JSON Lines are made by an export alone; here it is any text."""
    return value if isinstance(value, bytes) else json.dumps(value).encode()


class Known:
    """Ids of things that are there, so that not everything is 404; and of some to be deleted."""

    ids: ClassVar[dict[str, list[str]]] = {}
    spare: ClassVar[dict[str, list[str]]] = {}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A house with something in it."""
    home = tmp_path_factory.mktemp("openapi")
    with house_in_thread(home, models={"default": MODEL}) as (house, run):
        advisors = [run(house.advisor(MODEL)) for _ in range(3)]
        council = run(house.council(*advisors))
        conversation = run(house.conversation(*advisors[:2]))
        Known.spare = {
            "advisor": [advisors[2]["id"]],
            "council": [run(house.council())["id"]],
            "conversation": [run(house.conversation()) for _ in range(2)],
            "provider": ["spare"],
        }
        run(house.put("/api/providers/spare", {"base_url": house.provider.base_url}))
        run(house.put("/api/keys/spare", {"key": "sk-spare"}))
        turns = [run(house.say(conversation, content)) for content in ("One?", "Two?")]
        Known.ids = {
            "advisor": [advisors[0]["id"], advisors[1]["slug"]],
            "council": [council["id"], council["slug"]],
            "conversation": [conversation],
            "turn": [turn["turn_id"] for turn in turns],
            "message": [turn["message_id"] for turn in turns],
            "answer": [a["answer_id"] for turn in turns for a in turn["answers"]],
            "name": ["council", "agent"],
            "provider": ["mine", "spare"],
        }
        answer = Known.ids["answer"][0]
        run(house.make("/api/assertions", {"answer_id": answer, "text": "It is kind."}))
        evaluated = run(house.make("/api/evaluations", {"answer_id": answer}))
        run(house.polyvox.worker.run_due())
        Known.ids["evaluation"] = [evaluated["id"]]
        judged = run(house.get(f"/api/evaluations/{evaluated['id']}")).json()
        Known.ids["verdict"] = [one["id"] for one in judged["verdicts"]]
        yield house.url


@schema.hook
def map_case(context: Any, case: schemathesis.Case[Any]) -> schemathesis.Case[Any]:
    """Every second time ask for something that is there; and of the events only what is stored: a
    live stream does not end."""
    place = ParameterLocation.PATH
    if case.path_parameters and not (case.meta and case.meta.is_negative_at(place)):
        for name, value in case.path_parameters.items():
            known = (Known.spare if case.method == "DELETE" else Known.ids).get(name, [])
            if known and len(str(value)) % 2:
                case.path_parameters[name] = known[len(str(value)) // 2 % len(known)]
    asked = case.body if case.path.endswith("/suggest") and isinstance(case.body, dict) else {}
    if asked.get("model") is None:
        asked["model"] = PROPOSING  # the usual one proposes nobody
    if case.path == "/api/models/check" and not (
        case.meta and case.meta.is_negative_at(ParameterLocation.BODY)
    ):
        case.body = {"model": MODEL}  # nobody outside is ever asked
    if case.path.endswith("/events") and str(case.query.get("live", "true")).lower() in ON:
        case.query["live"] = "false"
    return case


@pytest.mark.slow
@schema.parametrize()
@settings(
    max_examples=4,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
def test_what_comes_back_is_on_the_page(case: schemathesis.Case[Any], address: str) -> None:
    case.call_and_validate(base_url=address, timeout=60)


OPERATIONS = [
    (method.upper(), path, told)
    for path, row in PAGE["paths"].items()
    for method, told in row.items()
]
ROWS = """
GET / | GET /healthz | GET /metrics
GET POST /api/advisors | GET PATCH DELETE /api/advisors/{advisor}
GET /api/advisors/{advisor}/versions | POST /api/advisors/{advisor}/rollback
POST /api/advisors/order | POST /api/advisors/suggest
GET POST /api/councils | GET PATCH DELETE /api/councils/{council}
GET POST /api/conversations | GET PATCH DELETE /api/conversations/{conversation}
POST /api/conversations/{conversation}/turns | POST /api/conversations/{conversation}/estimate
POST /api/estimate
POST /api/chat | GET /api/turns/{turn}/trace
GET /api/personas | POST /api/personas/{persona}/conversation
GET /api/sessions | GET /api/sessions/{session} | POST /api/sessions/{session}/end
GET /api/sessions/{session}/turns
GET /api/jobs | POST /api/jobs/{job}/retry
GET /session/startbrief | GET /session/brief | POST /session/ingest
POST /memory/query | GET /memory/loops | GET PATCH /user/model | GET /analysis/daily
GET /api/memory/search | GET /api/memory/facts | GET PATCH DELETE /api/memory/facts/{fact}
GET POST /api/memory/facts/{fact}/forget | POST /api/memory/facts | POST /api/memory/share
PATCH /api/memory/messages/{session}/{index} | GET /api/memory/loops
PATCH /api/memory/loops/{loop} | GET /api/memory/profile | GET /api/memory/summaries
GET POST /api/memory/forget | GET /api/memory/overview | GET /api/memory/items
GET /api/memory/places | GET /api/memory/days | GET /api/memory/export
GET /api/memory/start | PUT /api/conversations/{conversation}/memory/veto
POST /api/memory/profile/lines | PATCH DELETE /api/memory/profile/lines/{line}
POST /api/assertions | GET PATCH DELETE /api/assertions/{assertion}
GET /api/assertions/{assertion}/history | GET /api/assertions/kinds | POST /api/assertions/bulk
POST /api/assertions/lint | POST /api/assertions/import
GET /api/advisors/{advisor}/assertions | GET /api/advisors/{advisor}/assertions/export
POST /api/advisors/{advisor}/assertions/import
POST /api/advisors/{advisor}/assertions/contexts | GET /api/answers/{answer}/assertions
POST /api/answers/{answer}/assertions/suggest | GET /api/conversations/{conversation}/asserted
GET /api/conversations/{conversation}/events | GET /api/conversations/{conversation}/export
POST /api/conversations/import
GET /api/answers/{answer}
POST /api/answers/{answer}/stop | POST /api/answers/{answer}/retry
POST /api/answers/{answer}/regenerate | POST /api/answers/{answer}/replay
POST /api/answers/{answer}/exclude
POST /api/answers/{answer}/include | POST /api/answers/{answer}/instruct
GET /api/answers/{answer}/receipt | GET /api/answers/{answer}/request
POST /api/turns/{turn}/stop | POST /api/turns/{turn}/synthesize | POST /api/turns/{turn}/exchange
PATCH /api/messages/{message}
GET POST /api/evaluations | GET /api/evaluations/{evaluation}
POST /api/evaluations/{evaluation}/cancel | POST /api/evaluations/{evaluation}/retry
POST /api/evaluations/{evaluation}/bless | GET /api/evaluations/{evaluation}/compare
POST /api/verdicts/{verdict}/overrule | GET /api/answers/{answer}/verdicts
GET /api/assertions/{assertion}/verdicts | GET /api/agreement
GET /api/advisors/{advisor}/passrates
GET POST /api/optimizations | POST /api/optimizations/estimate
GET /api/optimizations/{optimization} | POST /api/optimizations/{optimization}/cancel
POST /api/optimizations/{optimization}/resume | POST /api/optimizations/{optimization}/accept
POST /api/optimizations/{optimization}/reject | POST /api/optimizations/{optimization}/rollback
GET POST /api/recipes | GET PATCH DELETE /api/recipes/{name}
GET PATCH /api/settings | GET /api/settings/page | GET /api/models | POST /api/models/check
GET /api/keys | PUT DELETE /api/keys/{provider}
GET /api/providers | PUT DELETE /api/providers/{provider}
GET /api/usage | GET /api/search
GET /v1/models | POST /v1/chat/completions
"""


def test_every_row_of_the_council_turn_is_there() -> None:
    rows = [row.split() for line in ROWS.strip().splitlines() for row in line.split(" | ")]
    expected = {(method, path) for *methods, path in rows for method in methods}
    assert {(method, path) for method, path, _ in OPERATIONS} == expected


@pytest.mark.parametrize(
    ("path", "told"), [row[1:] for row in OPERATIONS], ids=[f"{m} {p}" for m, p, _ in OPERATIONS]
)
def test_every_operation_is_told_completely(path: str, told: dict[str, Any]) -> None:
    assert told["summary"]
    assert told["description"].endswith(".")
    assert told["tags"]
    answers = told["responses"]
    good = [status for status in answers if status < "300"]
    assert len(good) == 1
    for status in {"400", "401", "403", "413", "422", "503", "507"} | set(answers) - set(good):
        (kind,) = answers[status]["content"]
        assert kind == "application/json"
        shape = answers[status]["content"][kind]["schema"]
        assert shape == {"$ref": "#/components/schemas/ErrorBody"}
        assert answers[status]["description"]
    assert "500" not in answers
    assert "default" not in answers, "it would let any status pass"
    assert ("{" not in path) or "404" in answers
    if good != ["204"]:
        assert answers[good[0]]["content"]
        for content in answers[good[0]]["content"].values():
            assert content.get("schema") or content["itemSchema"], "an empty one says nothing"


def test_operations_have_names_of_their_own() -> None:
    names = [told["operationId"] for _, _, told in OPERATIONS]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() and len(name) < 30 for name in names)


def test_the_page_is_served(address: str) -> None:
    with urllib.request.urlopen(f"{address}/openapi.json", timeout=60) as response:
        assert json.load(response) == PAGE


def test_fields_that_may_be_left_out_are_not_required() -> None:
    schemas = PAGE["components"]["schemas"]
    left_out_fields = {"QueryMeta": "degraded", "ChatOut": "debug", "DebugOut": "prompt"}
    for name, field in left_out_fields.items():
        assert field not in schemas[name].get("required", [])
    for name in ("Advisor", "AnswerOut", "EvaluationOut"):
        assert schemas[name]["required"] == list(schemas[name]["properties"])
