"""Safety through POST /api/chat: labelled messages, a gate that is right, failing, slow,
unreadable, misspelt or incomplete, and what may never stand beside a message of danger."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from tests.companion.dangers import CRISIS, TABLE
from tests.companion.lounge import Heard, Lounge, Told, open_lounge, reading_text, with_danger
from tests.companion.situations import FULL, NOON, TUESDAY, found, recalled
from tests.provider import Script

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="module")]

KERNEL = "You are Wren. You listen."
MINUTE = timedelta(minutes=1)
PROTOCOL = "Ask ONE short question about plain facts."
EVERYTHING: dict[str, Any] = {
    "intent": "momentum",
    "direct_request": True,
    "posture": "PRACTICAL",
    "posture_confidence": 0.9,
    "pressure": "HIGH",
    "avoidance": True,
    "conflict": True,
    "story_worth_exploring": True,
    "asks_about_style": True,
    "action": "memory_query",
    "explicit": True,
    "confidence": 0.9,
}
"""A reading that calls for all there is."""
CARE = {"CRISIS": "They may be in danger", "HIGH": "Something grave is happening to them"}
NEVER = ("overlay", "ops", "daily_steering", "user_context", "supplemental_context")
"""What a crisis leaves out, in the trace's names."""
SLOW = Script(fault="silence")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def lounge(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lounge]:
    """One for all; every test has a persona, and so a state, of its own. Here a companion has a
    protocol as well, so that it can be seen to go."""
    protocol = {
        "blocks": ["identity", "protocol"],
        "phases": [{"name": "early", "answers": 3, "text": PROTOCOL}],
    }
    async with open_lounge(
        tmp_path_factory.mktemp("lounge"),
        recipes={"companion": protocol},
        memory={"gate_seconds": 30},
    ) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def wren(lounge: Lounge) -> Any:
    lounge.remember(Told(FULL, wishes=("Call me Ada.",), found=found(recalled("My aunt moved."))))
    use(lounge, "lab:gate")
    return await lounge.house.advisor("lab:talker", description=KERNEL)


def use(lounge: Lounge, gate: str, seconds: float = 30) -> None:
    """Have messages read by this gate, within so many seconds."""
    settings = lounge.house.polyvox.settings
    models = settings.models.model_copy(update={"gate": gate})
    memory = settings.memory.model_copy(update={"gate_seconds": seconds})
    changed = settings.model_copy(update={"models": models, "memory": memory})
    lounge.house.polyvox.resources.settings = changed


async def message(lounge: Lounge, heard: Heard) -> dict[str, Any]:
    """The message of a turn as the page gets it."""
    whole = await lounge.house.get(f"/api/conversations/{heard.trace['conversation_id']}")
    rows: list[dict[str, Any]] = whole.json()["messages"]
    return next(row for row in rows if row["turn_id"] == heard.trace["turn_id"])


def persona(heard: Heard) -> str:
    return heard.system[0]


def assert_hard(heard: Heard, risk: str) -> None:
    """The block, right behind the posture; nothing that a hard moment leaves out."""
    assert heard.status == 200
    names = list(heard.blocks)
    assert names[names.index("posture") + 1] == "safety"
    block = heard.blocks["safety"]
    assert block.startswith(f"[SAFETY]\n{CARE[risk]}")
    assert persona(heard) == with_danger(KERNEL), "no protocol"
    assert heard.trace["risk"] == risk
    assert heard.trace["posture"]["posture"] == "RECOVERY"
    assert heard.blocks["posture"].startswith("[CONVERSATION_POSTURE]\nRECOVERY")
    assert "check-in question" not in heard.blocks["posture"], "no momentum guard"
    assert "ops" not in names
    assert heard.trace["overlay"] in (None, "conflict_regulation", "curiosity_spiral")
    if risk == "CRISIS":
        assert not set(names) & set(NEVER)
        assert heard.trace["overlay"] is None
        assert heard.trace["overlay_reason"] == heard.trace["ops_reason"] == "crisis"
        assert heard.trace["recall"]["decision"] == "crisis"
        assert heard.trace["user_context"] == []


def assert_plain(heard: Heard) -> None:
    assert heard.status == 200
    assert "safety" not in heard.blocks
    assert "[SAFETY]" not in "\n".join(heard.system)
    stable = persona(heard)
    assert stable.startswith(KERNEL)
    assert stable.endswith(with_danger("").lstrip()), "the standing paragraph does the work"


async def test_the_table_is_large() -> None:
    assert len(TABLE) >= 60
    assert len({words for _, _, words in TABLE}) == len(TABLE)


@pytest.mark.parametrize(("label", "risk", "words"), TABLE, ids=lambda one: str(one)[:30])
async def test_a_gate_that_is_right(
    lounge: Lounge, wren: dict[str, Any], label: str, risk: str, words: str
) -> None:
    heard = await lounge.say(wren, words, at=TUESDAY, gate={**EVERYTHING, "risk": risk})
    assert heard.trace["reading"]["risk"] == risk, label
    assert heard.trace["degrades"] == []
    if risk in CARE:
        assert_hard(heard, risk)
    else:
        assert_plain(heard)
        assert PROTOCOL in persona(heard)
        assert heard.trace["risk"] == risk
    shown = await message(lounge, heard)
    assert bool(shown["help"]) is (risk == "CRISIS")
    assert lounge.memory.lookups == [] or risk != "CRISIS"
    whole = "\n".join(heard.system)
    assert words not in whole, "nothing of it is said in a block"


@pytest.mark.parametrize(
    ("gate", "degrade"),
    [
        (Script(status=500), "unavailable"),
        (Script(status=400, error="no"), "refused"),
        (Script(text="They seem to be in danger!"), "unreadable"),
        (Script(text='{"risk": "CRISIS", "action": "no'), "unreadable"),
        (SLOW, "timeout"),
    ],
    ids=["failing", "refusing", "chatting", "cut off", "slow"],
)
async def test_a_gate_that_does_not_read_is_no_worse_than_none(
    lounge: Lounge, wren: dict[str, Any], gate: Script, degrade: str
) -> None:
    name = f"lab:gate-{degrade}"
    use(lounge, name, 0.3 if gate is SLOW else 30)
    lounge.house.provider.script(name.removeprefix("lab:"), gate)
    heard = await lounge.say(wren, CRISIS[0], at=NOON)
    assert_plain(heard)
    assert (heard.trace["gate_degrade"], heard.trace["risk"]) == (degrade, "LOW")
    assert f"gate: {degrade}" in heard.trace["degrades"]
    assert heard.trace["posture"]["posture"] == "COMPANION"


async def test_no_gate_at_all(lounge: Lounge) -> None:
    use(lounge, "")
    lounge.remember(Told(FULL))
    local = await lounge.house.advisor("local:smollm2", description=KERNEL)
    settings = lounge.house.polyvox.resources.settings
    models = settings.models.model_copy(update={"fallback": ("lab:talker",)})
    local_ = settings.local.model_copy(update={"model_path": "/nowhere.gguf", "warm": False})
    changed = settings.model_copy(update={"models": models, "local": local_})
    lounge.house.polyvox.resources.settings = changed
    lounge.house.polyvox.models.use(changed)
    heard = await lounge.say(local, CRISIS[0], at=NOON)
    assert heard.status == 200
    assert persona(heard) == f"{with_danger(f'{KERNEL}', 'compact')}".replace(
        KERNEL, f"{KERNEL}\n\n{PROTOCOL}", 1
    )
    posture = heard.trace["posture"]
    assert (heard.trace["gate"], heard.trace["risk"]) == ("none", "LOW")
    assert (posture["posture"], posture["pressure"]) == ("COMPANION", "MED")


def form(**changes: Any) -> Mapping[str, Any]:
    whole = json.loads(reading_text(EVERYTHING | {"risk": "CRISIS"})) | changes
    return {name: value for name, value in whole.items() if value is not ...}


@pytest.mark.parametrize(
    ("changes", "unread"),
    [
        ({"risk": "crisis"}, ""),
        ({"risk": " Crisis ", "posture": "practical"}, ""),
        ({"intent": "moving"}, "intent"),
        ({"posture": "RECOVER"}, "posture"),
        ({"pressure": "EXTREME", "urgent": ...}, "urgent, pressure"),
        ({"conflict": ...}, "conflict"),
        ({"confidence": "very"}, "confidence"),
        ({"recall": ...}, "recall"),
        ({"recall": {"kind": "her", "entities": ["Jana"]}}, "recall.kind"),
    ],
    ids=str,
)
async def test_a_slip_in_the_form_costs_that_field_alone(
    lounge: Lounge, wren: dict[str, Any], changes: dict[str, Any], unread: str
) -> None:
    script = Script(text=json.dumps(form(**changes)))
    heard = await lounge.say(wren, CRISIS[1], at=NOON, gate=script)
    assert_hard(heard, "CRISIS")
    assert heard.trace["gate_degrade"] is None
    expected = [f"gate: incomplete ({unread})"] if unread else []
    assert heard.trace["degrades"] == expected


async def test_a_crisis_lasts_until_two_later_readings_in_a_row(
    lounge: Lounge, wren: dict[str, Any]
) -> None:
    at = TUESDAY
    steps: list[tuple[Any, str]] = [
        ({"risk": "CRISIS"}, "CRISIS"),
        ({"risk": "LOW"}, "CRISIS"),
        ({"risk": "HIGH"}, "CRISIS"),
        ({"risk": "MED"}, "CRISIS"),
        (Script(status=500), "CRISIS"),
        (Script(text=json.dumps(form(risk="GRAVE"))), "CRISIS"),
        (Script(text="no reading"), "CRISIS"),
        ({"risk": "LOW"}, "LOW"),
    ]
    for number, (gate, risk) in enumerate(steps):
        at += MINUTE if number != 4 else timedelta(hours=9)  # the next one is another session
        reading = gate if isinstance(gate, Script) else EVERYTHING | gate
        heard = await lounge.say(wren, f"And then {number}.", at=at, gate=reading)
        assert bool((await message(lounge, heard))["help"]) is (risk == "CRISIS")
        if risk == "CRISIS":
            assert_hard(heard, risk)
        else:
            assert_plain(heard)


async def test_a_crisis_goes_on_while_the_gate_rests_and_it_rests_a_minute(
    lounge: Lounge, wren: dict[str, Any]
) -> None:
    provider = lounge.house.provider
    use(lounge, "lab:sleepy", 0.3)
    provider.script("sleepy", Script(text=reading_text({"risk": "CRISIS"})))
    assert_hard(await lounge.say(wren, CRISIS[0], at=NOON), "CRISIS")
    provider.script("sleepy", SLOW)
    heard = await lounge.say(wren, "Are you there?", at=NOON + MINUTE)
    assert heard.trace["gate_degrade"] == "timeout"
    assert_hard(heard, "CRISIS")
    provider.script("sleepy", Script(text=reading_text({"risk": "LOW"})))
    asked = len(provider.requests("sleepy"))
    heard = await lounge.say(wren, "Hello?", at=NOON + MINUTE + timedelta(seconds=50))
    assert heard.trace["gate_degrade"] == "resting"
    assert len(provider.requests("sleepy")) == asked
    assert_hard(heard, "CRISIS")
    heard = await lounge.say(wren, "Hello.", at=NOON + 3 * MINUTE)
    assert heard.trace["gate_degrade"] is None
    assert len(provider.requests("sleepy")) == asked + 1


async def test_nothing_of_a_crisis_comes_of_it(lounge: Lounge, wren: dict[str, Any]) -> None:
    """No title was made of it, no ritual was spent in it, and the next session does not name it."""
    heard = await lounge.say(wren, CRISIS[0], at=TUESDAY, gate=EVERYTHING | {"risk": "CRISIS"})
    talk = (await lounge.house.get(f"/api/conversations/{heard.trace['conversation_id']}")).json()
    assert talk["title"] == wren["name"]
    for minutes in (1, 2):
        at = TUESDAY + minutes * MINUTE
        await lounge.say(wren, "Thank you.", at=at, gate={"risk": "LOW"})
    later = await lounge.say(wren, "Good morning.", at=TUESDAY + timedelta(hours=2), gate={})
    assert later.trace["overlay"] == "daily_focus", "none was spent in the crisis"
    assert CRISIS[0] not in "\n".join(later.system)


async def test_the_card_speaks_the_persons_language_and_can_be_set(
    lounge: Lounge, wren: dict[str, Any]
) -> None:
    said = {
        "Ich will nicht mehr leben, ich habe alles schon vorbereitet.": "Notruf",
        "I want to die and I have everything ready for tonight.": "emergency number",
        "Ya no quiero vivir, lo voy a hacer esta misma noche.": "emergencias",
        "Vorrei morire, ho già preparato tutto per questa notte.": "emergency number",
    }
    for words, expected in said.items():
        heard = await lounge.say(wren, words, at=NOON, gate={"risk": "CRISIS"})
        text = (await message(lounge, heard))["help"]
        assert expected in text
        assert not any(char.isdigit() for char in text), "it names no number that it does not know"
    own = {"safety.resources": "en: Call 112.\nit: Chiama il 112."}
    changed = await lounge.house.patch("/api/settings", own)
    assert changed.status == 200, changed.text
    assert (await message(lounge, heard))["help"] == "Chiama il 112."
    rows = (await lounge.house.get("/api/settings/page")).json()["settings"]
    (row,) = (one for one in rows if one["name"] == "safety.resources")
    assert (row["value"], row["type"], row["lines"]) == (own["safety.resources"], "text", True)
    refused = await lounge.house.patch("/api/settings", {"safety.resources": "en: " + "x" * 2000})
    assert refused.status == 422
    await lounge.house.patch("/api/settings", {"safety.resources": None})
    assert "emergency number" in (await message(lounge, heard))["help"]
