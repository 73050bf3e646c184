"""The provider server as other tests and the benchmarks use it: in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CONFIG = {"fixed": {"text": "As you wish."}, "queued": [{"status": 503}, {"text": "Now."}]}


def start(*options: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.provider", "--until-eof", *options],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> None:
    """End it the gentle way: its standard input closes."""
    with process:  # closes its pipes and waits
        pass
    assert process.returncode == 0


@pytest.fixture
def base_url() -> Iterator[str]:
    process, address = start("--model-config", json.dumps(CONFIG))
    yield address
    end(process)


def call(url: str, body: Any = None, **headers: str) -> tuple[int, str]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def said(base_url: str, model: str, **headers: str) -> tuple[int, str]:
    message = {"role": "user", "content": "Hello?"}
    status, body = call(
        f"{base_url}/chat/completions", {"model": model, "messages": [message]}, **headers
    )
    answer = json.loads(body)
    if status != 200:
        return status, answer["error"]["message"]
    return status, answer["choices"][0]["message"]["content"]


def test_it_answers_as_configured_and_logs_what_came(base_url: str) -> None:
    assert base_url.startswith("http://127.0.0.1:")
    assert said(base_url, "fixed") == (200, "As you wish.")
    assert said(base_url, "queued")[0] == 503
    assert said(base_url, "queued") == (200, "Now.")
    assert said(base_url, "other") == (200, "This is answer 4 of other.")
    assert said(base_url, "text=In_{model}?_No,_{last}")[1].endswith("No, Hello?")
    root = base_url.removesuffix("/v1")
    log = json.loads(call(f"{root}/log")[1])
    assert [row["model"] for row in log][:4] == ["fixed", "queued", "queued", "other"]
    assert json.loads(log[0]["body"])["messages"][0]["content"] == "Hello?"
    assert all(row["closed_at"] is None for row in log)
    names = [row["id"] for row in json.loads(call(f"{base_url}/models")[1])["data"]]
    assert names == ["fixed", "queued"]


def test_it_is_steered_while_it_runs(base_url: str) -> None:
    root = base_url.removesuffix("/v1")
    assert call(f"{root}/scripts", {"*": {"text": "Anything."}, "held": {"hold": "go"}})[0] == 200
    assert said(base_url, "whatever") == (200, "Anything.")
    assert call(f"{root}/gates/go", {})[0] == 200
    assert said(base_url, "held")[0] == 200
    assert call(f"{root}/clear", {})[0] == 200
    assert json.loads(call(f"{root}/log")[1]) == []
    assert call(f"{root}/nowhere")[0] == 404


def test_a_key_and_a_configuration_file(tmp_path: Path) -> None:
    file = tmp_path / "models.json"
    file.write_text(json.dumps(CONFIG), "utf-8")
    process, base_url = start("--model-config", str(file), "--key", "right", "--no-log")
    assert said(base_url, "fixed", Authorization="Bearer wrong")[0] == 401
    assert said(base_url, "fixed", Authorization="Bearer right") == (200, "As you wish.")
    assert json.loads(call(base_url.removesuffix("/v1") + "/log")[1]) == []
    end(process)


def test_it_ends_at_a_signal() -> None:
    process, _ = start()
    with process:
        process.terminate()
        assert process.wait(timeout=60) == 0
