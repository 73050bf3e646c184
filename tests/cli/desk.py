"""What the tests of the command line work with: a provider process, the command, how it went."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parent.parent.parent
POLYVOX = str(Path(sys.executable).with_name("polyvox"))
SECONDS = 60.0


@dataclass
class Provider:
    """A provider process, told what to do over HTTP."""

    base_url: str

    def script(self, **models: Any) -> None:
        """How models answer; `default` is every other model."""
        if "default" in models:
            models["*"] = models.pop("default")
        self._post("/scripts", msgspec.json.encode(models))

    def open(self, gate: str) -> None:
        self._post(f"/gates/{gate}", b"")

    def clear(self) -> None:
        self._post("/clear", b"")

    def arrived(self, model: str, count: int = 1) -> None:
        """Wait until a model has been asked so often."""
        self._get(f"/arrived/{model}/{count}")

    def log(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = msgspec.json.decode(self._get("/log"))
        return rows

    @property
    def _root(self) -> str:
        return self.base_url.removesuffix("/v1")

    def _get(self, path: str) -> bytes:
        with urllib.request.urlopen(f"{self._root}{path}", timeout=SECONDS) as answer:
            body: bytes = answer.read()
            return body

    def _post(self, path: str, body: bytes) -> None:
        request = urllib.request.Request(f"{self._root}{path}", data=body, method="POST")
        with urllib.request.urlopen(request, timeout=SECONDS):
            pass


@dataclass
class Run:
    """How a command went."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


@dataclass
class Cli:
    """The command, with one home and one configuration."""

    home: Path
    config: Path
    env: dict[str, str] = field(default_factory=dict)

    def __call__(self, *words: str, stdin: str | None = None, **env: str) -> Run:
        """A process of its own."""
        done = subprocess.run(
            [POLYVOX, *words],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**self.env, **env},
            timeout=SECONDS,
            check=False,
        )
        return Run(done.returncode, done.stdout, done.stderr)

    def begin(self, *words: str, **env: str) -> subprocess.Popen[str]:
        """A process that is not waited for."""
        return subprocess.Popen(
            [POLYVOX, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**self.env, **env},
            preexec_fn=_heeds_ctrl_c,
        )


def _heeds_ctrl_c() -> None:
    """As in a terminal, also where the tests themselves run in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


Here = Callable[..., Run]
"""A command inside this process."""

JUDGE = {"judges": True}
"""The script of a judge that passes everything."""


def with_judge(provider: Provider, cli: Cli) -> None:
    """Let there be a judge."""
    provider.script(judge=JUDGE)
    text = cli.config.read_text()
    cli.config.write_text(text.replace("[models]\n", '[models]\njudge = "lab:judge"\n'))


def suite(here: Here) -> str:
    """An advisor with three assertions by hand; answers its slug."""
    made = here("advisors", "add", "Ann", "--description", "Names prices.", "--model", "lab:ann")
    assert made.code == 0, made.err
    for text in ("It names a price.", "It is kind.", "It is short."):
        added = here("assertions", "add", text, "--advisor", "ann", "--ask", f"Say: {text}")
        assert added.code == 0, added.err
    return "ann"
