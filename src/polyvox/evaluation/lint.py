"""Warnings about an assertion before anything is spent on it: vague, compound, negated,
contradictory. By rules over plain English; it warns, it never refuses.

Why these four: of a vague one nobody can say when it holds; one half of a compound one can hold
without the other; judges are worse at telling that something is absent; and no prompt can satisfy
two that contradict each other. A wrong warning costs trust, so each rule fires only on what it is
sure of: precision and recall on labelled assertions are printed by the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from polyvox.evaluation.clashes import clash, opposed
from polyvox.evaluation.phrasing import Coded, coded, predicate
from polyvox.evaluation.values import Kind
from polyvox.evaluation.wordings import Wording

Rule = Literal["vague", "compound", "negated", "contradictory"]
LONGEST = 600
"""Characters of a text that are looked at: an assertion is a sentence."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A warning, and where there is one, what to write instead."""

    rule: Rule
    message: str
    split: tuple[str, ...] = ()
    """The same as several assertions."""


def lint(wording: Wording, others: Iterable[Wording] = ()) -> list[Finding]:
    """What is wrong with an assertion, by itself and beside the others of its advisor."""
    found: list[Finding] = []
    if wording.kind == "judge":
        said = _Said(wording.text)
        found = [
            one
            for one in (_vague(said), _compound(said), _negated(said), _torn(said))
            if one is not None
        ]
    form = _form(wording)
    for other in others:
        if (why := clash(form, _form(other))) is not None:
            message = f"It cannot hold together with “{_shown(other.text)}”: {why}."
            found.append(Finding("contradictory", message))
            break
    return found


def offered(wording: Wording) -> Coded | None:
    """The check in code that says the same, where there is one."""
    return coded(wording.text) if wording.kind == "judge" else None


def _form(wording: Wording) -> tuple[str, Kind, Mapping[str, Any]]:
    """As it is compared: what a check can say is compared as that check."""
    if wording.kind == "judge" and (found := coded(wording.text)) is not None:
        return wording.text, found.kind, found.args
    return wording.text, wording.kind, wording.args


def _shown(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79].rstrip()}…"


class _Said:
    """A text as the rules look at it: in lower case, without what it quotes."""

    def __init__(self, text: str) -> None:
        self.whole = " ".join(text.split())[:LONGEST]
        bare = _QUOTED.sub("“x”", self.whole)
        self.plain = bare.lower().replace("’", "'")
        self.predicate = predicate(bare).lower().replace("’", "'")


_QUOTED = re.compile(r"[\"“«][^\"“”«»]*[\"”»]|`[^`]*`")

# -- vague -----------------------------------------------------------------------------------------

_VAGUE = (
    r"(?:good|bad|better|best|nice|great|excellent|decent|fine|okay|appropriate|suitable|proper"
    r"|adequate|sufficient|reasonable|relevant|helpful|useful|interesting|engaging|effective"
    r"|meaningful|thoughtful|insightful|natural|compelling|valuable|impressive|intelligent|smart"
    r"|readable|high[- ]quality|well[- ]written|well[- ]structured|clear|sensible|satisfying"
    r"|coherent|correct|perfect|optimal|right)"
)
_COPULA = r"(?:is|be|are|sounds?|feels?|seems?|looks?|reads?|stays?|remains?|becomes?)"
_HOW = r"(?:(?:very|really|quite|fairly|more|most|as|always|generally|rather|pretty|so|both)\s+)*"
_PART = (
    r"(?:advice|answers?|responses?|repl(?:y|ies)|tone|style|examples?|explanations?|details?"
    r"|information|content|length|structure|language|arguments?|questions?|suggestions?"
    r"|recommendations?|context|format|formatting|wording|way|manner|level|amount|metaphors?"
    r"|points?|insights?|job|quality|flow|voice|perspective|ideas?|feedback|guidance|analysis)"
)
_ADVERB = (
    r"(?<!as )\b(well|nicely|properly|appropriately|effectively|adequately|sufficiently"
    r"|reasonably|suitably)\b(?!-|\s+(?:known|as|being|established|before|after|over|under))"
)
_LOOSE = (
    r"\b(etc|and so on|and so forth|as needed|as necessary|if (?:appropriate|needed|relevant)"
    r"|where (?:appropriate|relevant|needed)|some (?:kind|sort) of|somehow|makes? sense"
    r"|like a human|not too \w+|(?:in)?sufficient \w+|enough (?:detail|context|information))\b"
)
_VAGUE_RULES = tuple(
    re.compile(pattern)
    for pattern in (
        # “relevant to the question” names what it is measured by; “helpful” does not
        rf"\b{_COPULA}\s+{_HOW}({_VAGUE})\b(?!-|\s+(?:to|for|about|at|in|with|that|because)\s+(?!read\b))",
        rf"\b({_VAGUE})(?:\s+\w+)?\s+{_PART}\b",
        r"\b(?:of|in)\s+(high\s+quality|a\s+good\s+way)\b",
        _ADVERB,
        _LOOSE,
        r"^(?:be\s+|is\s+)?((?:more|less|much)\s+[a-z]+)$",
        r"\b(better|worse|more \w+) than (?:the last|the previous|before|last time)\b",
    )
)


def _vague(said: _Said) -> Finding | None:
    for rule in _VAGUE_RULES:
        if (match := rule.search(said.plain)) is not None:
            words = match[1]
            return Finding(
                "vague",
                f"“{words}” can be read in many ways: say what a reader would see in the answer.",
            )
    return None


# -- compound --------------------------------------------------------------------------------------

_VERBS = (
    "acknowledge|add|address|advise|answer|apologise|apologize|argue|ask|assume|avoid|begin|be"
    "|challenge|cite|close|compare|conclude|connect|consider|contain|define|describe|discuss"
    "|distinguish|draw|encourage|end|evoke|explain|express|finish|flatter|focus|give|greet|have"
    "|highlight|identify|ignore|illustrate|include|introduce|invite|keep|lecture|link|list|make"
    "|mention|moralise|moralize|name|offer|open|point|praise|present|propose|provide|question"
    "|quote|raise|recommend|refer|reflect|refuse|relate|remind|repeat|reply|respond|say|show"
    "|speak|start|state|stay|suggest|summarise|summarize|support|take|tell|thank|treat|use|validate"
    "|warn|write"
)


def _forms(verb: str) -> str:
    """A verb as it stands in an assertion: mention, mentions, mentioning."""
    stem = verb.removesuffix("e")
    ending = "es" if verb.endswith(("s", "sh", "ch", "x")) else "s"
    plural = (
        f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeo" else f"{verb}{ending}"
    )
    return f"{verb}|{plural}|{stem}ing"


_VERB = rf"(?:{'|'.join(_forms(one) for one in _VERBS.split('|'))}|is|are|has)"
_NOT = r"(?:(?:does|do|must|should|is)\s+not|(?:does|do|is|should|must)n't|never|not)"
_MORE = r"(?:should|must|also|then|always|it|to|in addition|additionally)"
_JOIN = re.compile(
    rf"\s*(?:;|,?\s+(?:and|but|while|yet|plus|as well as)|,)\s+"
    rf"(?=(?:{_MORE}\s+)*(?:{_NOT}\s+)?{_VERB}\b)(?!(?:be|is|are)\s+(?:able|asked|told))"
)
_INSIDE = re.compile(
    r"\b(?:that|which|who|whom|whose|if|when|because|how|why|what|whether|where|until|since"
    r"|before|after|to)\b"
)
_LISTED = re.compile(
    rf"^(?P<front>.*?\b{_COPULA}\s+(?:not\s+|both\s+|very\s+)*)"
    rf"(?P<one>[a-z-]+)(?P<rest>(?:,\s+[a-z-]+)*),?\s+(?:and|but|yet)\s+(?:also\s+)?(?P<last>[a-z-]+)$"
)
_ARTICLES = "a an the in on at of about for from with as between to by under over one two three not"
_NO_QUALITY = frozenset(_ARTICLES.split())
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def _compound(said: _Said) -> Finding | None:
    parts = _parts(said.whole)
    if len(parts) < 2:
        return None
    return Finding(
        "compound",
        "It says several things at once; one can hold without the others. Make them"
        f" {len(parts)} assertions.",
        tuple(parts),
    )


def _parts(text: str) -> list[str]:
    sentences = [one.strip() for one in _SENTENCE.split(text) if len(one.split()) > 1]
    if len(sentences) > 1:
        return [part for one in sentences for part in (_parts(one) or [one.rstrip(".")])]
    text = text.rstrip(" .")
    hidden, quotes = _hide(text)
    match = _LISTED.match(hidden.lower())
    if match is not None:
        words = [match["one"], *re.findall(r"[a-z-]+", match["rest"]), match["last"]]
        if not _NO_QUALITY.intersection(words):
            front = hidden[: len(match["front"])].replace("both ", "")
            return [_shown_again(f"{front}{word}", quotes) for word in words]
    found = _clauses(hidden)
    return [_shown_again(one, quotes) for one in found] if len(found) > 1 else []


def _clauses(text: str) -> list[str]:
    """What is joined by “and”, each with the subject of the first."""
    low = text.lower()
    cuts: list[tuple[int, int]] = []
    start = 0
    for join in _JOIN.finditer(low):
        before = low[start : join.start()]
        sharp = join[0].lstrip().startswith((";", ","))
        if _INSIDE.search(_after_modal(before)) and not sharp:
            continue  # “names what you had and lost”: the verb belongs to the clause inside
        if join[0].strip() == "," and not _JOIN.search(low, join.end()) and not cuts:
            continue  # a comma alone joins nothing, unless it is one of a row
        cuts.append((join.start(), join.end()))
        start = join.end()
    if not cuts:
        return []
    ends = [*(cut[0] for cut in cuts), len(text)]
    starts = [0, *(cut[1] for cut in cuts)]
    pieces = [text[a:b].strip(" ,;") for a, b in zip(starts, ends, strict=True)]
    front = _front(pieces[0])
    again = re.compile(r"^(?:(?:it|also|then|should|must)\s+)+(?!not\b)", re.IGNORECASE)
    return [pieces[0], *(f"{front}{_started(again.sub('', one), front)}" for one in pieces[1:])]


def _after_modal(text: str) -> str:
    return re.sub(r"^.*?\b(?:needs?|has|have|ought)\s+to\b", "", text)


def _front(first: str) -> str:
    """“The response should ” of the first piece, so that the others can stand alone."""
    rest = predicate(first)
    return first[: len(first) - len(rest)] if first.endswith(rest) else ""


def _started(piece: str, front: str) -> str:
    if piece.endswith("ing") or re.match(r"^\w+ing\b", piece):
        word, _, rest = piece.partition(" ")
        for verb in _VERBS.split("|"):
            if f"{verb.removesuffix('e')}ing" == word.lower():
                piece = f"{verb if front else verb + 's'} {rest}".strip()
                break
    return piece if front else piece[:1].upper() + piece[1:]


def _hide(text: str) -> tuple[str, list[str]]:
    quotes: list[str] = []

    def keep(match: re.Match[str]) -> str:
        quotes.append(match[0])
        return f"\x00{len(quotes) - 1}\x00"

    return _QUOTED.sub(keep, text), quotes


def _shown_again(text: str, quotes: Sequence[str]) -> str:
    return re.sub(r"\x00(\d+)\x00", lambda match: quotes[int(match[1])], text).strip()


# -- negated ---------------------------------------------------------------------------------------

_HARMLESS = re.compile(
    r"\b(?:not only|no (?:more|fewer|less|longer|later|shorter|earlier) than"
    r"|not (?:more|less|fewer|longer|exceed\w*)|no matter|whether or not|or not|no doubt|no one"
    r"|nothing but|not just|not yet|does not know|cannot)\b"
)
_NEGATION = re.compile(
    r"^(?:\w+\s+){0,4}?(?:not|never|no|without|avoids?|refrains?|omits?|excludes?|lacks?"
    r"|free of|does ?n't|do ?n't|should ?n't|must ?n't|is ?n't|are ?n't|can ?n't|won't)\b"
)


def _negated(said: _Said) -> Finding | None:
    if _INSIDE.search(said.predicate.split(" not ")[0].split(" no ")[0]) and not re.match(
        r"^(?:not|never|avoids?|refrains?|does|do|is)\b", said.predicate
    ):
        return None  # it is the clause inside that is negated: “warns that … not”
    plain = _HARMLESS.sub(" ", said.plain)
    if _NEGATION.match(plain) is None:
        return None
    check = coded(said.whole)
    instead = (
        f" A check in code tells it surely: {check.kind}." if check is not None else
        " Say what the answer should do instead."
    )  # fmt: skip
    return Finding("negated", f"Judges are worse at telling what is absent.{instead}")


# -- contradictory by itself -----------------------------------------------------------------------


def _torn(said: _Said) -> Finding | None:
    pair = opposed(said.plain, said.plain)
    if pair is None:
        return None
    return Finding("contradictory", f"It wants both “{pair[0]}” and “{pair[1]}”.")
