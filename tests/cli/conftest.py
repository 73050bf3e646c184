"""The real `polyvox` command against a real provider process, with a home of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import databases
from tests.cli.desk import ROOT, SECONDS, Cli, Here, Provider, Run

from polyvox.cli.main import start


@pytest.fixture(scope="session")
def provider_process() -> Iterator[Provider]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.provider", "--until-eof"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    yield Provider(process.stdout.readline().strip())
    process.stdin.close()
    process.wait(SECONDS)
    process.stdout.close()


@pytest.fixture
def provider(provider_process: Provider) -> Provider:
    provider_process.clear()
    provider_process.script(default={"text": "A plain answer from {model}."})
    return provider_process


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where the commands keep their data: a database with its tables and nothing in them."""
    place = tmp_path / "home"
    databases.seed(place / "polyvox.db")
    return place


@pytest.fixture
def cli(provider: Provider, tmp_path: Path, home: Path) -> Cli:
    config = tmp_path / "polyvox.toml"
    config.write_text(
        f'[models]\ndefault = "lab:plain"\n[providers.lab]\nbase_url = "{provider.base_url}"\n'
        "[limits]\nretries = 0\n"
    )
    env = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("POLYVOX_") and not key.endswith("_API_KEY")
    }
    env |= {"POLYVOX_HOME": str(home), "POLYVOX_CONFIG": str(config), "TERM": "xterm-256color"}
    return Cli(home, config, env)


@pytest.fixture
def here(cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """The same commands inside this process: much faster, where a process shows nothing more."""
    for key in list(os.environ):
        if key.startswith("POLYVOX_") or key.endswith("_API_KEY"):
            monkeypatch.delenv(key)
    for key, value in cli.env.items():
        monkeypatch.setenv(key, value)

    def run(*words: str, stdin: str = "") -> Run:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8"))
        capsys.readouterr()
        code = start(words)
        out, err = capsys.readouterr()
        return Run(code, out, err)

    return run
