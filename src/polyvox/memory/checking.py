"""Whether a handover may be said: required parts, length, and nothing that the sources lack.

Outside quotations every name and number must occur in the sources, nothing advises or commands, and
no long run of somebody's words stands there as if it were ours; a quotation must be one. Nowhere is
there a time of the clock or a year.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from polyvox.memory.moment import MOST, Moment
from polyvox.memory.packets import Depth
from polyvox.memory.quoting import CLOCK, GAP, YEAR
from polyvox.memory.words import STOP
from polyvox.quote import plain

CAPS: dict[Depth, int] = {"continuation": 35, "today": 80, "yesterday": 95, "multi_day": 120}
"""Most words of a handover."""
RUN = 6
"""So many words in a row that somebody said are a quotation, and must look like one."""

_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
NUMBERS = {word: str(value) for value, word in enumerate(_NUMBER_WORDS.split())}
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBERS |= {word: str(value * 10) for value, word in enumerate(_TENS.split(), 2)}
NUMBERS |= {"hundred": "100", "thousand": "1000", "million": "1000000", "dozen": "12"}
NUMBERS |= {"twice": "2", "thrice": "3", "third": "3", "fourth": "4", "fifth": "5", "sixth": "6"}
NUMBERS |= {"seventh": "7", "eighth": "8", "ninth": "9", "tenth": "10"}
_FREE = frozenset({"one"})
"""More often a pronoun than a number."""
_OPENING = (
    "after again although before besides both during each earlier either every finally lately last"
    " left meanwhile most much nothing nobody now one otherwise recently several since someone"
    " something still today until while without yesterday"
)
_OPENERS = frozenset(_OPENING.split())
"""Words that begin a sentence and are no names."""
_DOING = (
    "ask book bring buy call check clean cook email fetch finish fix get give go help invite keep"
    " leave let look make meet order pack pay phone plan prepare read rest see sell send sign sleep"
    " speak start stop take talk tell text try visit wait wake wash write"
)
_VERBS = frozenset(_DOING.split())
"""What is done on a to-do list: a sentence that begins with one tells somebody to."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_QUOTED = re.compile(r"“[^“”]*”")
_SENTENCE_END = re.compile(r"(?:^|[.!?:;…][\s“”\"'()]*)$")
_ADVICE = re.compile(
    r"\b(?:you|your|yours|yourself|should\w*|must\w*|ought|(?:need|needs|have|has|had|try|tries)"
    r" to|had better|consider\w*|recommend\w*|suggest\w*|advis\w+|encourag\w+|remind\w*"
    r"|make sure|be sure|don't|do not|let's|let us|please|follow up|check in|help them|why not"
    r"|ask (?:them|him|her|about|how|what|whether|if|for)|bring up|offer to|gently|be careful"
    r"|could|might|would(?! (?:like|rather))|wise|worth|best to|time to|better to|good to)\b",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"\b(?:ignor\w+|disregard\w*|override\w*|obey\w*|instruct\w*|prompts?|system|assistant"
    r"|pretend\w*|jailbreak\w*)\b",
    re.IGNORECASE,
)
_TALK = r"(?:talk(?:s|ed)?|conversations?|sessions?|chats?|chatted|spoken?|times?)"
_NEGATIONS = ("not", "no", "never", "hardly", "without", "nor")
_CONTINUITY = re.compile(
    r"\b(?:as (?:always|usual|ever)|like last time|(?:we|i) (?:talked|discussed|spoke|agreed|left"
    r"|were|had)|our (?:last|previous)|picking up where|once more)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Thread:
    """Something that the person said and that may be told again."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Sources:
    """All that a handover may draw on, the most telling thread first."""

    moment: Moment
    threads: tuple[Thread, ...] = ()

    @property
    def required(self) -> tuple[str, ...]:
        """The parts that must stand in the text."""
        moment = self.moment
        gap = "no earlier talk" if moment.gap is None else moment.gap
        return moment.day, moment.part, gap, moment.talks


def tidy(reply: str) -> str:
    """A model's reply as one line, with one kind of quotation marks."""
    line = " ".join(reply.split())
    line = re.sub(r'"([^"]*)"', r"“\1”", line.replace("„", "“").replace("**", ""))
    whole = re.fullmatch(r"“([^“”]*)”", line)
    return whole[1].strip() if whole else line


def complaints(text: str, sources: Sources) -> list[str]:
    """What is wrong with a handover, in words for its writer; nothing: it holds."""
    if not text.strip():
        return ["It is empty."]
    ours = _QUOTED.sub(" “” ", text)
    numbered = f" {_canonical(ours)} "
    said_so = [_says(numbered, part) for part in sources.required[:-1]]
    said_so.append(_counts(numbered, sources.moment))
    found = [
        f"It must say “{part}”."
        for part, held in zip(sources.required, said_so, strict=True)
        if not held
    ]
    cap, count = CAPS[sources.moment.depth], len(text.split())
    if count > cap:
        found.append(f"It has {count} words; at most {cap} are allowed.")
    said = [plain(thread.text) for thread in sources.threads]
    found += _times(text) + _quotations(text, ours, said) + _tone(ours)
    return found + _invented(ours, sources.required, said) + _copied(ours, said)


def _says(numbered: str, part: str) -> bool:
    """Whether a text says a part, and nowhere says that it is not so."""
    before = numbered.split(f" {_canonical(part)} ")[:-1]
    return bool(before) and not any(_negated(words) for words in before)


def _counts(numbered: str, moment: Moment) -> bool:
    """Whether a text says how often they talked today, in any words that have the number."""
    if _says(numbered, moment.talks):
        return True
    count = moment.earlier_today
    number = "first" if not count else "(?:1|once)" if count == 1 else str(count)
    if count > MOST or " today " not in numbered:
        return False
    ways = (rf"\b{number}(?: \w+)?? {_TALK}\b", rf"\b{_TALK}(?: \w+)?? {number}\b")
    found = [match for way in ways for match in re.finditer(way, numbered)]
    return bool(found) and not any(_negated(numbered[: one.start()]) for one in found)


def _negated(before: str) -> bool:
    last = before.split()[-3:]
    return any(word in _NEGATIONS or word.endswith("n't") for word in last)


def _times(text: str) -> list[str]:
    found = [f"Leave out the clock: “{one[0]}”." for one in CLOCK.finditer(text)]
    return found + [f"Leave out the year: “{one[0]}”." for one in YEAR.finditer(text)]


def _quotations(text: str, ours: str, said: Iterable[str]) -> list[str]:
    found = []
    if any(mark in ours.replace("“”", "") for mark in '“”„"«»'):
        found.append("Its quotation marks do not pair.")
    for one in _QUOTED.findall(text):
        pieces = [piece.strip() for piece in plain(one[1:-1]).split(GAP)]
        if not any(_in_order(pieces, whole) for whole in said):
            found.append(f"Nobody said {one}.")
    return found


def _in_order(pieces: Iterable[str], whole: str) -> bool:
    at, folded = 0, whole.casefold()
    for piece in pieces:
        wanted = piece.rstrip(".,;!?").casefold()
        at = folded.find(wanted, at)
        if at < 0:
            return False
        at += len(wanted)
    return True


def _tone(ours: str) -> list[str]:
    found = [f"No advice: “{one[0]}”." for one in _ADVICE.finditer(ours)]
    found += [f"No instructions: “{one[0]}”." for one in _COMMAND.finditer(ours)]
    found += [f"Nothing shows this: “{one[0]}”." for one in _CONTINUITY.finditer(ours)]
    return found + (["No questions."] if "?" in ours else [])


def _invented(ours: str, required: Sequence[str], said: Sequence[str]) -> list[str]:
    sources = " ".join((*required, *said))
    words = {_bare(one) for one in _WORD.findall(sources)}
    small = {one for text in said for one in _WORD.findall(text) if one == one.lower()}
    named = words - {_bare(one) for one in small} - _VERBS
    named |= {_bare(one) for part in required for one in _WORD.findall(part)}
    numbers = set(_numbers(sources))
    found = [f"No source has the number “{one}”." for one in _numbers(ours) if one not in numbers]
    for match in _WORD.finditer(ours):
        word, bare = match[0], _bare(match[0])
        if word == word.lower() or bare in NUMBERS or bare == "i":
            continue
        first = _SENTENCE_END.search(ours[max(0, match.start() - 6) : match.start()]) is not None
        if first and bare in words and bare not in named | STOP | _OPENERS:
            if not bare.endswith("ing"):
                found.append(f"Begin with who or what it is about, not with “{word}”.")
        elif bare not in words and not (first and (bare in STOP or bare in _OPENERS)):
            found.append(f"No source has the name “{word}”.")
    return found


def _copied(ours: str, said: Iterable[str]) -> list[str]:
    known = {run for text in said for run in _runs(text)}
    for part in ours.split("“”"):
        for run in _runs(part):
            if run in known:
                return [f"Put what they said between “ and ”: {' '.join(run)}."]
    return []


def _runs(text: str) -> list[tuple[str, ...]]:
    words = [_bare(word) for word in _WORD.findall(text)]
    return [tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)]


def _bare(word: str) -> str:
    return re.sub(r"'s$|'$", "", word.replace("’", "'").casefold())


def _numbers(text: str) -> list[str]:
    """The numbers of a text as digits."""
    words = [*re.findall(r"\d+", text), *(_bare(word) for word in _WORD.findall(text))]
    return [
        NUMBERS.get(word, word).lstrip("0") or "0"
        for word in words
        if (word.isdecimal() or word in NUMBERS) and word not in _FREE
    ]


def _canonical(text: str) -> str:
    return " ".join(NUMBERS.get(_bare(word), _bare(word)) for word in _WORD.findall(text))
