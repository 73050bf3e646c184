"""The bodies of the user model: what is known of a person, line by line, with its source."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from polyvox.memory.profile import DOMAINS, FRESH_DAYS, Line, Profile
from polyvox.memory.shapes.contract import Camel, EvidenceOut, Whose, iso
from polyvox.shapes import shape


class LineOut(Camel):
    """Something in the profile, and who says so."""

    id: str
    text: str
    source: Literal["user_stated", "manual", "inferred"]
    confidence: float
    evidence: list[EvidenceOut]

    @classmethod
    def of(cls, one: Line) -> LineOut:
        """From the value."""
        return shape(cls, one, evidence=[EvidenceOut.of(each) for each in one.evidence])


class PersonOut(LineOut):
    """Somebody in their life."""

    name: str


class PreferencesOut(BaseModel):
    """How they like to be spoken to."""

    tone: LineOut | None
    avoid: list[LineOut]


class ModelOut(BaseModel):
    """The profile itself."""

    north_star: dict[str, LineOut | None]
    current_focus: LineOut | None
    work_context: LineOut | None
    key_relationships: list[PersonOut]
    patterns: list[LineOut]
    preferences: PreferencesOut
    instructions: list[LineOut]
    name: LineOut | None


class UserModelOut(Camel):
    """The profile, how whole and how fresh it is."""

    model: ModelOut
    exists: bool
    completeness: dict[str, float]
    version: int
    updated_at: str | None
    days_old: int | None
    stale: bool

    @classmethod
    def of(cls, one: Profile, now: int) -> UserModelOut:
        """From the value."""
        stars = {line.item: LineOut.of(line) for line in one.all("north_star")}
        days = one.days_old(now)
        model = ModelOut(
            north_star={domain: stars.get(domain) for domain in DOMAINS},
            current_focus=_line(one, "current_focus"),
            work_context=_line(one, "work_context"),
            key_relationships=[
                PersonOut(**LineOut.of(line).model_dump(), name=line.item)
                for line in one.all("key_relationships")
            ],
            patterns=_lines(one, "patterns"),
            preferences=PreferencesOut(
                tone=_line(one, "preferences.tone"), avoid=_lines(one, "preferences.avoid")
            ),
            instructions=_lines(one, "instructions"),
            name=_line(one, "name"),
        )
        return shape(
            cls,
            one,
            model=model,
            exists=bool(one.lines),
            updated_at=iso(one.updated_at),
            days_old=days,
            stale=days is not None and days > FRESH_DAYS,
        )


def _line(one: Profile, place: str) -> LineOut | None:
    line = one.one(place)
    return None if line is None else LineOut.of(line)


def _lines(one: Profile, place: str) -> list[LineOut]:
    return [LineOut.of(line) for line in one.all(place)]


class ModelPatch(Whose):
    """Changes to the profile by hand; what is left out stays, a null takes back."""

    model_config = ConfigDict(extra="allow")

    model: dict[str, Any] | None = None

    def changes(self) -> dict[str, Any]:
        """What is to be changed."""
        return {**(self.model_extra or {}), **(self.model or {})}
