"""The bodies of the assertion routes: what comes in is checked, what goes out has this shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from polyvox.evaluation.assertion import LISTED, Action, History
from polyvox.evaluation.lint import Finding, lint, offered
from polyvox.evaluation.suggest import Proposed
from polyvox.evaluation.values import Assertion, Kind, Version
from polyvox.evaluation.wordings import LONGEST, MOST, Wording, lines
from polyvox.interop.report import Report
from polyvox.web.fields import Body, Filled, Id, Message, ModelName, Text

SHORT = 140
"""Characters of a source's texts in a list."""

Words = Annotated[Text, Field(max_length=LONGEST)]
Tag = Annotated[Filled, Field(min_length=1, max_length=60)]
Args = dict[str, Any]


def short(text: str) -> str:
    """A text on one line, not longer than a list shows."""
    line = " ".join(text.split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 1].rstrip()}…"


class SourceOut(BaseModel):
    """Where an assertion was drawn from, in short: “user_input → answer”."""

    answer_id: str
    conversation_id: str
    turn_id: str
    user_input: str
    """In a list its first words."""
    answer: str
    context_hash: str
    """Names the stored context; empty: that answer can be judged and not be replayed."""


class AssertionOut(BaseModel):
    """An assertion as it is now."""

    id: str
    advisor_id: str
    advisor_name: str
    version: int
    text: str
    kind: Kind
    args: Args
    tags: list[str]
    active: bool
    source: SourceOut | None
    user_input: str | None
    created_at: int
    updated_at: int

    @classmethod
    def of(cls, one: Assertion, *, whole: bool = False) -> AssertionOut:
        """From the value; `whole`: with the source's texts as they are."""
        return cls(**told(one, whole=whole))


def told(one: Assertion, *, whole: bool = False) -> dict[str, Any]:
    """An assertion's fields as they go out."""
    cut = (lambda text: text) if whole else short
    source = None
    if (given := one.source) is not None:
        source = SourceOut(
            answer_id=given.answer_id,
            conversation_id=given.conversation_id,
            turn_id=given.turn_id,
            user_input=cut(given.user_input),
            answer=cut(given.answer),
            context_hash=given.context_hash,
        )
    same = ("id", "advisor_id", "advisor_name", "text", "kind", "active", "user_input")
    return {
        **{name: getattr(one, name) for name in same},
        "version": one.number,
        "args": dict(one.args),
        "tags": list(one.tags),
        "source": source,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
    }


class FindingOut(BaseModel):
    """A warning about an assertion."""

    rule: Literal["vague", "compound", "negated", "contradictory"]
    message: str
    split: list[str]
    """The same as several assertions; empty where there is nothing to split."""


class CheckOut(BaseModel):
    """A check in code that says the same, for nothing and without a judge."""

    kind: Kind
    args: Args
    text: str


class LintedOut(BaseModel):
    """What there is to say of one text."""

    text: str
    findings: list[FindingOut]
    check: CheckOut | None

    @classmethod
    def of(cls, one: Wording, others: Iterable[Wording]) -> LintedOut:
        """From the value."""
        check = offered(one)
        return cls(
            text=one.text,
            findings=[_finding(found) for found in lint(one, others)],
            check=None
            if check is None
            else CheckOut(kind=check.kind, args=check.args, text=check.text),
        )


def _finding(one: Finding) -> FindingOut:
    return FindingOut(rule=one.rule, message=one.message, split=list(one.split))


class Said(Body):
    """Texts of assertions: `texts`, or `text` with one per line."""

    text: Annotated[Text, Field(max_length=LONGEST * MOST)] | None = None
    texts: Annotated[list[Words], Field(max_length=MOST)] | None = None
    kind: Kind = "judge"
    args: Args | None = None

    def wordings(self) -> list[Wording]:
        """What is said, each with its kind; a check may have no words."""
        given = [*(self.texts or ()), *lines(self.text or "")]
        if not given and self.kind != "judge":
            given = [""]
        return [Wording(text, self.kind, self.args or {}) for text in given]


class AssertionCreate(Said):
    """New assertions: drawn from an answer, or by hand for an advisor."""

    answer_id: Id | None = None
    advisor_id: Id | None = None
    """Its id or slug."""
    tags: list[Tag] = Field(default_factory=list, max_length=20)
    user_input: Message | None = None
    """By hand: what to ask. Without one it holds in every stored context of its advisor."""


class MadeOut(AssertionOut):
    """The assertion that was made (of several, the first), all of them, and what to think of."""

    assertions: list[AssertionOut]
    lint: list[LintedOut]
    """For each of them, in the same order."""


class AssertionPatch(Body):
    """Changes to an assertion; another text, kind or args makes a new version."""

    text: Words | None = None
    kind: Kind | None = None
    args: Args | None = None
    tags: Annotated[list[Tag], Field(max_length=20)] | None = None
    active: bool | None = None
    user_input: Message | None = None


class AssertionPage(BaseModel):
    """An advisor's assertions in the order they were made; `next` is the `after` of the next
    page."""

    advisor_id: str
    advisor_name: str
    items: list[AssertionOut]
    next: str | None
    tags: list[str]
    """Every tag that the advisor's assertions have."""


class VersionSaid(BaseModel):
    """What an assertion said at a time."""

    number: int
    text: str
    kind: Kind
    args: Args
    created_at: int

    @classmethod
    def of(cls, one: Version) -> VersionSaid:
        """From the value."""
        return cls(
            number=one.number,
            text=one.text,
            kind=one.kind,
            args=dict(one.args),
            created_at=one.created_at,
        )


class RunOut(BaseModel):
    """A run that another program had made, word for word."""

    kind: Literal["evaluation", "optimisation", "record"]
    id: str
    at: int | None
    data: Mapping[str, Any]


class HistoryOut(BaseModel):
    """Everything that an assertion has been."""

    assertion: AssertionOut
    versions: list[VersionSaid]
    """Newest first."""
    runs: list[RunOut]

    @classmethod
    def of(cls, one: History) -> HistoryOut:
        """From the value."""
        return cls(
            assertion=AssertionOut.of(one.assertion, whole=True),
            versions=[VersionSaid.of(version) for version in one.versions],
            runs=[RunOut(kind=run.kind, id=run.id, at=run.at, data=run.data) for run in one.runs],
        )


class BulkBody(Body):
    """The same for many assertions."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=LISTED)]
    action: Action
    tag: Tag | None = None


class BulkOut(BaseModel):
    """Those that were changed."""

    ids: list[str]


class LintBody(Said):
    """Texts to look at, beside the active assertions of an advisor (or of an answer's)."""

    advisor_id: Id | None = None
    answer_id: Id | None = None
    beside: Id | None = None
    """An assertion that is being edited: it is not compared with itself."""


class LintOut(BaseModel):
    """What there is to say of each."""

    items: list[LintedOut]


class SuggestAssertions(Body):
    """How many a model is to propose, and which one."""

    count: int = Field(6, ge=1, le=12)
    model: ModelName | None = None


class ProposedOut(BaseModel):
    """An assertion that could be made."""

    text: str
    kind: Kind
    args: Args
    by: str
    """`rule`, or the model that proposed it."""

    @classmethod
    def of(cls, one: Proposed) -> ProposedOut:
        """From the value."""
        return cls(text=one.text, kind=one.kind, args=dict(one.args), by=one.by)


class SuggestedAssertions(BaseModel):
    """What could be asserted of an answer. Nothing is made."""

    suggestions: list[ProposedOut]
    model: str
    """Who proposed; empty: only rules did."""
    note: str


class ImportBody(Body):
    """The text of a file: our YAML, or what SPACE Terminal stored."""

    content: Annotated[str, Field(min_length=1)]
    dry_run: bool = False


class ReportOut(BaseModel):
    """What became of a file."""

    taken: list[str]
    present: list[str]
    refused: list[str]
    notes: list[str]

    @classmethod
    def of(cls, one: Report) -> ReportOut:
        """From the value."""
        return cls(taken=one.taken, present=one.present, refused=one.refused, notes=one.notes)


class KindOut(BaseModel):
    """A kind of assertion and the arguments it takes."""

    kind: Kind
    args: list[str]


class KindsOut(BaseModel):
    """What an assertion can be."""

    kinds: list[KindOut]
    languages: dict[str, str]
    """That the check `language` can tell, by code."""


class AssertedOut(BaseModel):
    """Answers of a conversation that assertions were drawn from."""

    answers: list[str]
    badges: bool
    """Whether new answers are judged as they come."""
