"""Patterns that always end soon: regular expressions matched without going back.

Python's own matcher tries one way after the other; a short pattern from somebody's file can keep it
busy for years. Here all ways are followed at once, character by character, and what was worked out
for a set of ways is remembered. The work is counted, so that even the worst pattern on the longest
answer ends, in `Exhausted`.

Taken are characters, `.`, classes, `\\d \\w \\s \\b \\A \\Z` and their opposites, `^ $`, groups,
`|`, `* + ?` and `{m,n}` (lazy ones too: what is found is the same), `(?i)`, `(?m)`, `(?s)` at the
beginning. Not taken is what would need to go back: back references and looking around.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from polyvox.errors import Invalid

LONGEST = 1000
"""Characters of a pattern."""
MOST_STATES = 4000
WORK = 300_000
"""Steps that one search may take: about a second."""
MOST_REMEMBERED = 50_000
"""States in the sets that a pattern remembers; then it forgets them all and goes on."""
DEEPEST = 100
"""Groups inside each other."""

_REFUSED = "Back references and looking around are not taken; say it with characters and classes."


class Exhausted(Exception):
    """The search took more work than it may."""


@dataclass(frozen=True, slots=True)
class _Chars:
    """One character out of these."""

    ranges: tuple[tuple[str, str], ...] = ()
    named: tuple[str, ...] = ()
    """Letters of d, w, s and their opposites D, W, S."""
    negated: bool = False

    def has(self, char: str, any_case: bool) -> bool:
        if not any_case:
            return self._one(char) != self.negated
        forms = {char, *(one for one in (char.lower(), char.upper()) if len(one) == 1)}
        return any(self._one(form) for form in forms) != self.negated

    def _one(self, char: str) -> bool:
        return any(low <= char <= high for low, high in self.ranges) or any(
            _is(name, char) for name in self.named
        )


def _is(name: str, char: str) -> bool:
    low = name.lower()
    if low == "d":
        found = char.isdecimal()
    elif low == "w":
        found = char.isalnum() or char == "_"
    else:
        found = char.isspace()
    return found == name.islower()


_ANY = _Chars(negated=True)
_NOT_BREAK = _Chars((("\n", "\n"),), negated=True)


@dataclass(slots=True)
class _Net:
    """States with ways between them: by a character, freely, or freely at a place."""

    chars: list[tuple[_Chars, int] | None] = field(default_factory=list)
    free: list[list[tuple[str, int]]] = field(default_factory=list)

    def state(self) -> int:
        if len(self.chars) >= MOST_STATES:
            raise Invalid("The pattern is too large.", "Use smaller numbers in its braces.")
        self.chars.append(None)
        self.free.append([])
        return len(self.chars) - 1

    def link(self, here: int, there: int, place: str = "") -> None:
        self.free[here].append((place, there))


@dataclass(slots=True)
class Pattern:
    """A pattern that was understood."""

    net: _Net
    start: int
    end: int
    any_case: bool
    lines: bool
    _steps: dict[tuple[frozenset[int], str, str], frozenset[int] | None] = field(
        default_factory=dict
    )
    _held: int = 0

    def search(self, text: str) -> bool:
        """Whether it is found anywhere. Raises `Exhausted` where that takes too long."""
        kernel: frozenset[int] = frozenset((self.start,))
        before, work = "", 0
        for char in (*text, ""):
            key = (kernel, before, char)
            if key not in self._steps:
                reached = self._reach(kernel, before, char)
                work += len(reached) + 1
                if work > WORK:
                    raise Exhausted
                if self._held > MOST_REMEMBERED:
                    self._steps.clear()
                    self._held = 0
                self._held += len(kernel) + 1
                self._steps[key] = self._step(reached, char)
            work += 1
            after = self._steps[key]
            if after is None:
                return True
            kernel, before = after, char
        return False

    def _reach(self, kernel: frozenset[int], before: str, char: str) -> set[int]:
        """All states that are reached without a character, between these two."""
        found, left = set(kernel), list(kernel)
        while left:
            for place, there in self.net.free[left.pop()]:
                if there not in found and self._holds(place, before, char):
                    found.add(there)
                    left.append(there)
        return found

    def _step(self, reached: set[int], char: str) -> frozenset[int] | None:
        """Where a character leads; None: it is found already. A search may begin anywhere."""
        if self.end in reached:
            return None
        after = {self.start}
        for state in reached:
            way = self.net.chars[state]
            if way is not None and char and way[0].has(char, self.any_case):
                after.add(way[1])
        return frozenset(after)

    def _holds(self, place: str, before: str, char: str) -> bool:
        if not place:
            return True
        if place in ("b", "B"):
            edge = (before != "" and _is("w", before)) != (char != "" and _is("w", char))
            return edge == (place == "b")
        if place in ("^", "A"):
            return before == "" or (place == "^" and self.lines and before == "\n")
        return char == "" or (place == "$" and self.lines and char == "\n")


@lru_cache(maxsize=64)
def compiled(pattern: str, *, any_case: bool = False, lines: bool = False) -> Pattern:
    """The pattern, ready to search with; Invalid, saying what is wrong with it."""
    if len(pattern) > LONGEST:
        raise Invalid(
            f"The pattern has {len(pattern):,} characters; {LONGEST:,} is the most.",
            "Make it several assertions.",
            param="pattern",
        )
    return _Reader(pattern, any_case, lines).whole()


class _Reader:
    """Reads a pattern from left to right into a net."""

    def __init__(self, pattern: str, any_case: bool, lines: bool) -> None:
        self.text = pattern
        self.at = 0
        self.net = _Net()
        self.any_case = any_case
        self.lines = lines
        self.breaks = False
        self.depth = 0

    def whole(self) -> Pattern:
        self._flags()
        start, end = self._either()
        if self.at < len(self.text):
            raise self._wrong("a closing bracket has no opening one")
        return Pattern(self.net, start, end, self.any_case, self.lines)

    def _flags(self) -> None:
        while self.text.startswith("(?", self.at):
            close = self.text.find(")", self.at)
            names = self.text[self.at + 2 : close] if close > 0 else ""
            if not names or set(names) - set("ims"):
                return
            self.any_case |= "i" in names
            self.lines |= "m" in names
            self.breaks |= "s" in names
            self.at = close + 1

    def _either(self) -> tuple[int, int]:
        start, end = self.net.state(), self.net.state()
        while True:
            first, last = self._row()
            self.net.link(start, first)
            self.net.link(last, end)
            if self._peek() != "|":
                return start, end
            self.at += 1

    def _row(self) -> tuple[int, int]:
        first = last = self.net.state()
        while (char := self._peek()) and char not in "|)":
            begin = self.at
            piece = self._piece()
            least, most = self._times()
            if (least, most) == (1, 1):
                self.net.link(last, piece[0])
                last = piece[1]
                continue
            # Each repetition is read anew from the same stretch: a net cannot be copied by parts.
            end_of_count = self.at
            for _ in range(least):
                last = self._again(begin, last)
            if most is None:
                loop = self.net.state()
                self.net.link(last, loop)
                self.net.link(self._again(begin, loop), loop)
                last = loop
            else:
                out = self.net.state()
                for _ in range(most - least):
                    self.net.link(last, out)
                    last = self._again(begin, last)
                self.net.link(last, out)
                last = out
            self.at = end_of_count
        return first, last

    def _again(self, begin: int, last: int) -> int:
        self.at = begin
        first, end = self._piece()
        self.net.link(last, first)
        return end

    def _piece(self) -> tuple[int, int]:
        char = self.text[self.at]
        self.at += 1
        if char == "(":
            return self._group()
        if char == "[":
            return self._one(self._class())
        if char == ".":
            return self._one(_ANY if self.breaks else _NOT_BREAK)
        if char in "^$":
            return self._place(char)
        if char in "*+?":
            raise self._wrong(f"there is nothing for {char!r} to repeat")
        if char == "\\":
            return self._escape()
        return self._one(_Chars(((char, char),)))

    def _group(self) -> tuple[int, int]:
        if self.text.startswith("?:", self.at):
            self.at += 2
        elif self.text.startswith("?P<", self.at) and ">" in self.text[self.at :]:
            self.at = self.text.index(">", self.at) + 1
        elif self._peek() == "?":
            raise self._wrong("it holds a group of a kind that is not taken", _REFUSED)
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._wrong("its groups are nested too deeply")
        found = self._either()
        if self._peek() != ")":
            raise self._wrong("an opening bracket is not closed")
        self.at += 1
        self.depth -= 1
        return found

    def _one(self, chars: _Chars) -> tuple[int, int]:
        start, end = self.net.state(), self.net.state()
        self.net.chars[start] = (chars, end)
        return start, end

    def _place(self, name: str) -> tuple[int, int]:
        start, end = self.net.state(), self.net.state()
        self.net.link(start, end, name)
        return start, end

    def _escape(self) -> tuple[int, int]:
        char = self._peek()
        if char and char in "bBAZ":
            self.at += 1
            return self._place(char)
        if char and char in "dDwWsS":
            self.at += 1
            return self._one(_Chars(named=(char,)))
        literal = self._literal()
        return self._one(_Chars(((literal, literal),)))

    def _literal(self) -> str:
        """The character behind a backslash."""
        char = self._peek()
        if not char:
            raise self._wrong("it ends with a backslash")
        self.at += 1
        if char in "ntrfv":
            return {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}[char]
        if char in "xuU":
            size = {"x": 2, "u": 4, "U": 8}[char]
            digits = self.text[self.at : self.at + size]
            self.at += size
            try:
                return chr(int(digits, 16)) if len(digits) == size else self._no_number()
            except (ValueError, OverflowError):
                return self._no_number()
        if char.isalnum():
            raise self._wrong(f"\\{char} is not taken", _REFUSED)
        return char

    def _no_number(self) -> str:
        raise self._wrong("a character's number in it is not one")

    def _class(self) -> _Chars:
        negated = self._peek() == "^"
        self.at += negated
        ranges: list[tuple[str, str]] = []
        named: list[str] = []
        first = True
        while (char := self._peek()) != "]" or first:
            if not char:
                raise self._wrong("a class is not closed")
            first = False
            low = self._in_class()
            if len(low) == 2:
                named.append(low[1])
            elif self._peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self._in_class()
                if len(high) != 1 or high < low:
                    raise self._wrong(f"the range {low}-{high} in a class has no characters")
                ranges.append((low, high))
            else:
                ranges.append((low, low))
        self.at += 1
        return _Chars(tuple(ranges), tuple(named), negated)

    def _in_class(self) -> str:
        """A character; for a named class a backslash and its letter."""
        char = self.text[self.at]
        self.at += 1
        if char != "\\":
            return char
        if (name := self._peek()) and name in "dDwWsS":
            self.at += 1
            return f"\\{name}"
        if name == "b":
            self.at += 1
            return "\b"
        return self._literal()

    def _times(self) -> tuple[int, int | None]:
        """How often the last piece stands there: at least, at most."""
        char = self._peek()
        least: int
        most: int | None
        if char and char in "*+?":
            self.at += 1
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        elif char == "{" and (numbers := self._numbers()) is not None:
            least, most = numbers
        else:
            return 1, 1
        if self._peek() == "?":
            self.at += 1  # lazy: whether it is found at all does not depend on it
        elif (next_ := self._peek()) and next_ in "*+":
            raise self._wrong("it repeats a repetition", "Put a group around it.")
        return least, most

    def _numbers(self) -> tuple[int, int | None] | None:
        close = self.text.find("}", self.at)
        low, comma, high = self.text[self.at + 1 : close].partition(",") if close > 0 else ("",) * 3
        if not (low + high).isdecimal() or not (low + high).isascii() or len(low + high) > 8:
            return None  # a brace like any other character
        if not (low.isdecimal() or not low) or not (high.isdecimal() or not high):
            return None
        self.at = close + 1
        least = int(low or 0)
        most = least if not comma else int(high) if high else None
        if most is not None and most < least:
            raise self._wrong("the numbers in its braces are the wrong way round")
        if max(least, most or 0) > MOST_STATES:
            raise Invalid("The pattern is too large.", "Use smaller numbers in its braces.")
        return least, most

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _wrong(self, why: str, hint: str = "Correct it.") -> Invalid:
        return Invalid(
            f"The pattern is not usable: {why} (near character {self.at}).", hint, param="pattern"
        )
