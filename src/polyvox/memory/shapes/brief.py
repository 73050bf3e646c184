"""Briefs in the contract's words: what a session starts with."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from polyvox.memory.packets import StartBrief
from polyvox.memory.session_start import Known, brief


class TimeContextOut(BaseModel):
    """When it is for the person."""

    local_time: str
    time_of_day: Literal["morning", "afternoon", "evening", "night"]
    gap_minutes: int | None
    """Since the last session ended; null: there was none."""
    sessions_today: int
    """Before this one."""
    first_session_today: bool


class ResumeOut(BaseModel):
    """Whether the talk goes on where it stopped a moment ago."""

    use_bridge: bool
    bridge_text: str | None


class BriefItemOut(BaseModel):
    """Something open."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    kind: Literal["loop", "tension"]
    text: str
    type: str | None
    time_horizon: str | None
    due_date: str | None
    salience: float | None
    last_seen_at: str | None


class OpsOut(BaseModel):
    """What there is to do, and how to steer."""

    top_loops_today: list[str]
    waiting_on: list[str]
    user_model_hints: list[str]
    yesterday_themes: list[str]
    steering_note: str | None


class BriefEvidenceOut(BaseModel):
    """What the brief was made of."""

    session_ids: list[str]
    episode_ids: list[str]
    loop_ids: list[str]
    quality: str
    """good, thin (times alone) or empty (nobody talked before)."""
    fallback: str | None
    """Why the handover is the plain one; null: a model wrote it."""


class StartBriefOut(BaseModel):
    """What a session starts with."""

    handover_text: str
    handover_depth: Literal["continuation", "today", "yesterday", "multi_day"]
    time_context: TimeContextOut
    resume: ResumeOut
    items: list[BriefItemOut]
    ops_context: OpsOut
    evidence: BriefEvidenceOut

    @classmethod
    def of(cls, brief: StartBrief) -> StartBriefOut:
        """From the value."""
        return cls.model_validate(asdict(brief))


class BriefOut(BaseModel):
    """The plainer packet."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    time_gap_description: str | None
    time_of_day_label: str
    facts: list[str]
    open_loops: list[str]
    commitments: list[str]
    current_focus: str | None
    narrative_summary: list[str]
    brief_context: str | None

    @classmethod
    def of(cls, known: Known) -> BriefOut:
        """The brief of what is known."""
        return cls.model_validate(asdict(brief(known)))
