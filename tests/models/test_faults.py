"""Every way a provider can fail, on both wires: the category, the words, and what came before."""

from __future__ import annotations

import msgspec
import pytest
from tests.models.asking import MakeModels, hear
from tests.provider import ProviderServer, Script

WIRES = ("lab", "claude")
TEXT = Script().text.replace("{n}", "1").replace("{model}", "m")
QUICK = {"first_byte": 0.2, "stall": 0.2}


class Fault(msgspec.Struct, frozen=True):
    """A script, and what must come of it."""

    script: Script
    category: str
    words: str
    hint: str = ""
    text: str = ""
    status: int | None = 200


FAULTS = {
    "401": Fault(Script(status=401), "authentication", "Incorrect API key", "Set LAB_KEY", "", 401),
    "402": Fault(Script(status=402), "quota", "Insufficient credits", "Add credit", "", 402),
    "403": Fault(Script(status=403), "authentication", "may not use", "Set LAB_KEY", "", 403),
    "404": Fault(Script(status=404), "refused", "does not exist", "polyvox models list", "", 404),
    "408": Fault(Script(status=408), "timeout", "took too long", "Retry", "", 408),
    "413": Fault(Script(status=413), "context_too_long", "too large", "limits.context", "", 413),
    "422": Fault(Script(status=422), "refused", "cannot be processed", "Change", "", 422),
    "429": Fault(Script(status=429), "rate_limit", "Rate limit", "requests_per_minute", "", 429),
    "500": Fault(Script(status=500), "unavailable", "had an error", "Retry", "", 500),
    "503": Fault(Script(status=503), "unavailable", "overloaded", "Retry", "", 503),
    "504": Fault(Script(status=504), "timeout", "timed out", "Retry", "", 504),
    "529": Fault(Script(status=529), "unavailable", "Overloaded", "Retry", "", 529),
    "spent quota": Fault(
        Script(status=429, code="insufficient_quota", error="You exceeded your current quota."),
        *("quota", "exceeded your current quota", "Add credit", "", 429),
    ),
    "low credit": Fault(
        Script(status=400, error="Your credit balance is too low to access the API."),
        *("quota", "credit balance is too low", "Add credit", "", 400),
    ),
    "too long": Fault(
        Script(status=400, code="context_length_exceeded", error="maximum context length is 8k"),
        *("context_too_long", "maximum context length", "limits.context", "", 400),
    ),
    "prompt too long": Fault(
        Script(status=400, error="prompt is too long: 210000 tokens > 200000 maximum"),
        *("context_too_long", "prompt is too long", "window", "", 400),
    ),
    "bad key as 400": Fault(
        Script(status=400, error="API key not valid. Please pass a valid API key."),
        *("authentication", "API key not valid", "Set LAB_KEY", "", 400),
    ),
    "judged": Fault(
        Script(status=403, error="Your input was flagged."), "refused", "flagged", "", "", 403
    ),
    "plain words": Fault(
        Script(status=502, body="upstream connect error"),
        *("unavailable", "upstream connect error", "Retry", "", 502),
    ),
    "redirect": Fault(
        Script(status=307, body="", headers={"location": "http://127.0.0.1:1/elsewhere"}),
        *("protocol", "redirects to http://127.0.0.1:1/elsewhere", "base_url", "", 307),
    ),
    "silence": Fault(Script(fault="silence"), "timeout", "sent nothing", "first_byte", "", None),
    "stall": Fault(Script(fault="stall"), "timeout", "stopped sending", "limits.stall", "This is"),
    "stalled at once": Fault(
        Script(hold="never", gates={0: "never"}),
        *("timeout", "sent nothing for 0.2 seconds", "limits.first_byte", "", None),
    ),
    "cut": Fault(Script(fault="cut"), "unavailable", "ended in the middle", "Retry", "This is"),
    "unfinished": Fault(
        Script(fault="unfinished"), "unavailable", "ended in the middle", "Retry", "This is"
    ),
    "reset": Fault(
        Script(fault="reset"), "unavailable", "closed the connection", "base_url", "", None
    ),
    "garbage": Fault(Script(fault="garbage"), "protocol", "this is no event stream", "base_url"),
    "html": Fault(Script(fault="html"), "protocol", "Log in to the wifi", "base_url"),
    "malformed": Fault(Script(fault="malformed"), "protocol", "oops", "base_url", "This is"),
    "error event": Fault(
        Script(fault="error_event", error="Out of order"),
        *("unavailable", "Out of order", "Retry", "This is"),
    ),
    "error event of a kind": Fault(
        Script(fault="error_event", code="rate_limit_error", error="Slow down"),
        *("rate_limit", "Slow down", "Wait", "This is"),
    ),
    "refusal": Fault(Script(fault="refusal"), "refused", "ended the answer", "Change", "This is"),
    "empty": Fault(Script(empty=True), "empty", "without a word", "Retry"),
    "only blanks": Fault(Script(pieces=(" ", "\n")), "empty", "without a word", "Retry", " \n"),
    "empty plain": Fault(Script(empty=True, plain=True), "empty", "without a word", "Retry"),
    "empty body": Fault(Script(raw=""), "empty", "empty body", "Retry"),
    "only thought": Fault(Script(empty=True, thinking="Hm."), "empty", "only thought", "Retry"),
    "plain refusal": Fault(
        Script(plain=True, fault="refusal"), "refused", "ended the answer", "Change", TEXT
    ),
    "plain error": Fault(
        Script(raw='{"error":{"message":"No such luck","type":"api_error"}}'),
        *("unavailable", "No such luck", "Retry"),
    ),
    "plain nonsense": Fault(Script(raw='{"hello": 1}'), "protocol", "hello", "base_url"),
    "a number": Fault(Script(raw="data: 7\n\n"), "protocol", "7", "base_url"),
    "too deep": Fault(Script(raw="data: " + "[" * 100_000 + "\n\n"), "protocol", "[[", "base_url"),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", FAULTS)
async def test_fault_is_told_for_what_it_is(
    name: str, wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    fault = FAULTS[name]
    provider.script("m", fault.script)
    waits = fault.category == "timeout" and fault.status in {None, 200}
    heard = await hear(make_models(QUICK if waits else None).get(f"{wire}:m"))
    assert heard.error is not None
    assert (heard.category, heard.text) == (fault.category, fault.text)
    assert fault.words in heard.error.message
    assert fault.hint in heard.error.hint
    (attempt,) = heard.log.attempts
    assert (attempt.model, attempt.status) == (f"{wire}:m", fault.status)
    assert heard.log.encoded is not None
    assert heard.log.encoded.body == provider.log[0].body
    if not heard.pieces:  # failed before the first word: the attempt tells the cause
        assert (attempt.category, attempt.message) == (fault.category, heard.error.message)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "script",
    [
        Script(fault="length"),
        Script(fault="no_done"),
        Script(fault="no_finish"),
        Script(split=1),
        Script(split=3, newline="crlf"),
        Script(comments=True),
        Script(comments=True, newline="crlf", split=2),
        Script(plain=True),
    ],
)
async def test_odd_but_whole_answers_are_answers(
    script: Script, wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", script)
    heard = await hear(make_models().get(f"{wire}:m"))
    assert heard.error is None
    assert heard.text == TEXT
    assert heard.finish == ("length" if script.fault == "length" else "stop")
    assert heard.usage.output_tokens == 6
    assert not heard.usage.estimated


@pytest.mark.parametrize("wire", WIRES)
async def test_split_utf8_arrives_whole(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    text = "Ünïcödé ✓ 𝄞 👩‍👩‍👧 שלום"
    provider.script("m", Script(text=text, thinking="思考 🤔", split=1))
    heard = await hear(make_models().get(f"{wire}:m"))
    assert (heard.text, heard.thinking) == (text, "思考 🤔")


@pytest.mark.parametrize("wire", WIRES)
async def test_an_answer_of_ten_megabytes_arrives_whole(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(size=10_000_000))
    heard = await hear(make_models().get(f"{wire}:m"))
    assert heard.error is None
    assert heard.text == "x" * 10_000_000


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("plain", [False, True])
async def test_an_answer_over_the_limit_is_cut_off_and_what_came_is_kept(
    wire: str, plain: bool, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(size=200_000, plain=plain))
    heard = await hear(make_models({"answer_bytes": 50_000}).get(f"{wire}:m"))
    assert heard.category == "protocol"
    assert heard.error is not None
    assert "limits.answer_bytes" in heard.error.hint
    assert len(heard.text) > 50_000
    await provider.until(lambda: provider.open_connections <= 1)


@pytest.mark.parametrize("wire", WIRES)
async def test_an_event_without_end_is_given_up(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(raw="data: " + "x" * 1_200_000, split=60_000))
    heard = await hear(make_models({"answer_bytes": 1000}).get(f"{wire}:m"))
    assert heard.category == "protocol"


@pytest.mark.parametrize("wire", WIRES)
async def test_nul_becomes_a_replacement_character(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(pieces=("a\0b", "\0"), thinking="c\0"))
    heard = await hear(make_models().get(f"{wire}:m"))
    assert (heard.text, heard.thinking) == ("a\ufffdb\ufffd", "c\ufffd")


@pytest.mark.parametrize("wire", WIRES)
async def test_the_key_is_never_in_the_words(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(status=401, body='{"error":{"message":"bad key {key}!"}}'))
    heard = await hear(make_models().get(f"{wire}:m"))
    assert heard.error is not None
    assert "bad key ***!" in heard.error.message
    assert "sk-lab" not in f"{heard.error.message}{heard.error.hint}{heard.log.attempts}"


@pytest.mark.parametrize("wire", WIRES)
async def test_a_huge_error_body_is_not_read_to_the_end(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    provider.script("m", Script(status=500, body="y" * 5_000_000))
    heard = await hear(make_models().get(f"{wire}:m"))
    assert heard.category == "unavailable"
    assert heard.error is not None
    assert len(heard.error.message) < 500
    await provider.until(lambda: provider.open_connections == 0)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("given", "expected"), [({"retry-after": "7"}, 7.0), ({"retry-after-ms": "250"}, 0.25)]
)
async def test_retry_after_is_understood(
    wire: str,
    given: dict[str, str],
    expected: float,
    provider: ProviderServer,
    make_models: MakeModels,
) -> None:
    provider.script("m", Script(status=429, headers=given))
    heard = await hear(make_models().get(f"{wire}:m"))
    assert heard.error is not None
    assert heard.error.retry_after == expected


@pytest.mark.parametrize("wire", WIRES)
async def test_one_failing_model_leaves_another_untouched(
    wire: str, provider: ProviderServer, make_models: MakeModels
) -> None:
    """Both are under way together; the faulty one changes not a byte of the other."""
    import asyncio

    models = make_models()
    provider.script("good", Script(pieces=("one", " two", " three"), gates={2: "last"}))
    good = asyncio.create_task(hear(models.get(f"{wire}:good")))
    await provider.arrived(1)
    for number, fault in enumerate(("cut", "garbage", "malformed", "reset", "error_event")):
        bad = await hear(models.get(f"{wire}:fault={fault}"))
        assert bad.error is not None, number
    provider.gate("last").set()
    heard = await good
    assert (heard.text, heard.error) == ("one two three", None)
