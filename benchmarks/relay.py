"""Tokens a second, and the wait for the first one: direct, the door, a council turn, LiteLLM.

One run after another, each kind in turn, so that whatever else the machine does meets them alike.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field

from benchmarks.processes import CHAT, Server, council, load
from benchmarks.report import Row, at_least, at_most, median, percentile, plain

ANSWERS, TOKENS = 16, 200
FAST = "tokens=200"
SLOW = "tokens=5;delay=0.2;pace=0.02"
STAMPED = "tokens=200;stamped=true;pace=0.005"
LITELLM_MODELS = {"fast": FAST, "slow": SLOW}


@dataclass
class Bench:
    """The servers that stand side by side, and how long they are measured."""

    direct: Server
    polyvox: Server
    litellm: Server | None
    runs: int
    each: int
    """Answers for each of the 16 connections in one run."""
    rates: dict[str, list[float]] = field(default_factory=dict)

    def throughput(self) -> list[Row]:
        """16 concurrent answers of 200 tokens."""
        advisors = council(self.polyvox, [f"lab:{FAST}"] * ANSWERS)
        many = {"concurrency": ANSWERS, "each": self.each, "tokens": TOKENS, "path": CHAT}
        direct = {"port": self.direct.port, "model": FAST, **many}
        door = {"port": self.polyvox.port, "model": f"lab:{FAST}", **many}
        turns = {"port": self.polyvox.port, "advisors": advisors, "tokens": ANSWERS * TOKENS}
        for order in (direct, door):
            load("answers", **{**order, "each": 3})
        load("turns", **turns, count=3)
        for _ in range(self.runs):
            # LiteLLM works on by itself when nobody asks it anything, on a core the others need.
            with self.litellm.paused() if self.litellm is not None else nullcontext():
                self._note("direct", load("answers", **direct)["rate"])
                self._note("door", load("answers", **door)["rate"])
                self._note("turn", load("turns", **turns, count=self.each)["rate"])
            if self.litellm is not None:
                fewer = {**many, "each": min(self.each, 13)}
                order = {"port": self.litellm.port, "model": "fast", **fewer}
                self._note("litellm", load("answers", **order)["rate"])
        return self._throughput_rows()

    def _throughput_rows(self) -> list[Row]:
        reached = {name: median(rates) for name, rates in self.rates.items()}
        direct = reached["direct"]

        def ratio(name: str) -> float:
            pairs = zip(self.rates[name], self.rates["direct"], strict=True)
            return median([one / other for one, other in pairs])

        rows = [
            plain("direct: relayed tokens/s", direct, "/s"),
            at_least(
                "door: tokens/s, part of direct",
                ratio("door"),
                0.5,
                "",
                f"{reached['door']:,.0f}/s",
            ),
            at_least(
                "council turn of 16, stored: part of direct",
                ratio("turn"),
                0.4,
                "",
                f"{reached['turn']:,.0f}/s",
            ),
        ]
        if "litellm" in reached:
            pairs = zip(self.rates["door"], self.rates["litellm"], strict=True)
            times = median([one / other for one, other in pairs])
            detail = f"LiteLLM {reached['litellm']:,.0f}/s"
            rows.append(at_least("door: times LiteLLM's tokens/s", times, 20, "", detail))
        else:
            rows.append(Row("door: times LiteLLM's tokens/s", "LiteLLM is not here", "≥ 20"))
        return rows

    def held_back(self) -> list[Row]:
        """How old tokens are when they arrive, at a pace of 5 ms a token and 16 at once."""
        worst: dict[str, list[float]] = {}
        ages: dict[str, list[float]] = {}
        for _ in range(self.runs):
            for name, port, model in (
                ("direct", self.direct.port, STAMPED),
                ("door", self.polyvox.port, f"lab:{STAMPED}"),
            ):
                order = {"port": port, "path": CHAT, "model": model, "concurrency": ANSWERS}
                found = load("stamps", **order, each=3, apart=0.06)["ages"]
                worst.setdefault(name, []).append(max(found))
                ages.setdefault(name, []).extend(found)
        said = {
            name: f"p50 {median(found):.2f}, p99 {percentile(found, 0.99):.2f},"
            f" worst of all runs {max(found):.1f} ms"
            for name, found in ages.items()
        }
        return [
            plain(
                "direct: oldest token on arrival", median(worst["direct"]), " ms", said["direct"]
            ),
            at_most(
                "door: oldest token on arrival", median(worst["door"]), 10, " ms", said["door"]
            ),
        ]

    def first_token(self) -> list[Row]:
        """What is added to the wait for the first token, 3 at once, 200 ms of it the model's."""
        advisors = council(self.polyvox, [f"lab:{SLOW}"] * 3)
        waits: dict[str, list[float]] = {}
        targets = [("direct", self.direct.port, SLOW), ("door", self.polyvox.port, f"lab:{SLOW}")]
        if self.litellm is not None:
            targets.append(("litellm", self.litellm.port, "slow"))
        for _ in range(self.runs):
            for name, port, model in targets:
                order = {"port": port, "path": CHAT, "model": model, "concurrency": 3}
                waits.setdefault(name, []).extend(load("first", **order, each=14)["waits"])
            order = {"port": self.polyvox.port, "advisors": advisors, "count": 14, "same": True}
            waits.setdefault("turn", []).extend(load("turns", **order)["waits"])
        direct = median(waits["direct"])

        def detail(name: str) -> str:
            return f"p99 {percentile(waits[name], 0.99) - direct:.1f} ms"

        rows = [
            at_most("door: added to the first token", median(waits["door"]) - direct, 5, " ms",
                    detail("door")),
            at_most("council turn: added to the first token", median(waits["turn"]) - direct, 10,
                    " ms", detail("turn")),
        ]  # fmt: skip
        if "litellm" in waits:
            added = median(waits["litellm"]) - direct
            rows.append(plain("LiteLLM: added to the first token", added, " ms", detail("litellm")))
        return rows

    def slowest(self) -> list[Row]:
        """A turn of 16 advisors of different lengths beside the longest of them alone."""
        lengths = [40 + 4 * number for number in range(ANSWERS)]
        models = [f"tokens={length};pace=0.02" for length in lengths]
        advisors = council(self.polyvox, [f"lab:{model}" for model in models])
        alone = {"port": self.direct.port, "path": CHAT, "model": models[-1], "concurrency": 1}
        ratios = []
        for _ in range(3):
            one = load("answers", **alone, each=1, tokens=lengths[-1])["seconds"]
            order = {"port": self.polyvox.port, "advisors": advisors, "count": 1}
            ratios.append(load("turns", **order, tokens=sum(lengths))["turns"][0] / one)
        return [at_most("16 advisors: times the slowest one alone", median(ratios), 1.1)]

    def _note(self, name: str, rate: float) -> None:
        self.rates.setdefault(name, []).append(rate)
