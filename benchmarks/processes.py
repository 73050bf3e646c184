"""The servers that are measured, each a process of its own, and the load they are put under."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import psutil

from benchmarks.lean import Failed

ROOT = Path(__file__).resolve().parent.parent
POLYVOX = Path(sys.executable).with_name("polyvox")
LITELLM_HOME = ROOT / ".cache" / "bench-litellm"
LITELLM = "litellm[proxy]==1.102.4"
CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class Server:
    """A server under test."""

    name: str
    port: int
    process: subprocess.Popen[str]
    ready: float = 0.0
    """Seconds from its start to its first answer."""

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keep it from running for a while."""
        me = psutil.Process(self.process.pid)
        family = [me, *me.children(recursive=True)]
        for one in family:
            one.suspend()
        try:
            yield
        finally:
            for one in family:
                one.resume()

    @property
    def memory(self) -> int:
        """Bytes of memory it holds now, its children included."""
        me = psutil.Process(self.process.pid)
        held: int = sum(each.memory_info().rss for each in (me, *me.children(recursive=True)))
        return held


def environment(**more: str) -> dict[str, str]:
    """An environment without anybody's keys and settings."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


@contextmanager
def scratch() -> Iterator[Path]:
    """A directory that is gone afterwards."""
    place = Path(tempfile.mkdtemp(prefix="polyvox-bench-"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def provider(log: bool = False) -> Iterator[Server]:
    """The local provider of the tests; with a `log`, GET /log tells what became of each request."""
    command = [sys.executable, "-m", "tests.provider", "--until-eof"]
    command += [] if log else ["--no-log"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline().rpartition(":")[2].partition("/")[0])
        yield Server("direct", port, process)
    finally:
        _end(process)


@contextmanager
def polyvox(upstream: int, home: Path, model: str = "lab:tokens=200") -> Iterator[Server]:
    """`polyvox serve`, with the provider as `lab`; `upstream` 0: as it comes, without any."""
    home.mkdir(parents=True, exist_ok=True)
    config = home / "polyvox.toml"
    lab = f'[providers.lab]\nbase_url = "http://127.0.0.1:{upstream}/v1"\n' if upstream else ""
    default = f'[models]\ndefault = "{model}"\n' if model else ""
    config.write_text(default + lab, "utf-8")
    env = environment(POLYVOX_HOME=str(home), POLYVOX_CONFIG=str(config), HOME=str(home))
    began = time.perf_counter()
    process = subprocess.Popen(
        [str(POLYVOX), "serve", "--port", "0"], env=env, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        if found is None:
            raise Failed(f"polyvox serve said {line!r} instead of its address")
        port = int(found[1])
        answers(port, "/healthz")
        yield Server("polyvox", port, process, time.perf_counter() - began)
    finally:
        _end(process)


@contextmanager
def litellm(upstream: int, home: Path, models: Mapping[str, str]) -> Iterator[Server | None]:
    """The LiteLLM proxy; None, with the reason printed, where there is none to be had."""
    program = LITELLM_HOME / "bin" / "litellm"
    if not program.exists() and not _install():
        yield None
        return
    rows = [
        {
            "model_name": name,
            "litellm_params": {
                "model": f"openai/{script}",
                "api_base": f"http://127.0.0.1:{upstream}/v1",
                "api_key": "bench",
            },
        }
        for name, script in models.items()
    ]
    home.mkdir(parents=True, exist_ok=True)
    config = home / "litellm.json"  # JSON is YAML
    config.write_bytes(msgspec.json.encode({"model_list": rows}))
    port = free_port()
    log = (home / "litellm.log").open("w")
    process = subprocess.Popen(
        [str(program), "--config", str(config), "--port", str(port), "--telemetry", "False"],
        env=environment(LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_LOG="ERROR", HOME=str(home)),
        stdout=log,
        stderr=log,
        text=True,
    )
    try:
        answers(port, "/health/liveliness", 120, process)
    except Failed as error:
        print(f"LiteLLM did not start: {error}", file=sys.stderr)
        yield None
    else:
        yield Server("litellm", port, process)
    finally:
        _end(process)
        log.close()


def _install() -> bool:
    print(f"Installing {LITELLM} in {LITELLM_HOME.relative_to(ROOT)} …", file=sys.stderr)
    done = subprocess.run([sys.executable, "-m", "venv", str(LITELLM_HOME)], check=False)
    if done.returncode == 0:
        pip = [str(LITELLM_HOME / "bin" / "pip"), "install", "--quiet", LITELLM]
        done = subprocess.run(pip, check=False)
    if done.returncode != 0:
        print("LiteLLM could not be installed; its rows stay empty.", file=sys.stderr)
        shutil.rmtree(LITELLM_HOME, ignore_errors=True)
    return done.returncode == 0


def free_port() -> int:
    """A port that nobody listens on."""
    import socket

    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def answers(
    port: int, path: str, patience: float = 30, process: subprocess.Popen[str] | None = None
) -> None:
    """Wait until a server answers 200."""
    ends = time.monotonic() + patience
    while time.monotonic() < ends:
        if process is not None and process.poll() is not None:
            raise Failed(f"it ended with {process.returncode}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.002)
    raise Failed(f"no answer from port {port} within {patience:g} seconds")


def load(kind: str, **order: Any) -> dict[str, Any]:  # noqa: ANN401 - each kind takes its own words
    """One load, from a process of its own."""
    command = [sys.executable, "-m", "benchmarks.load"]
    command.append(msgspec.json.encode({"kind": kind, **order}).decode())
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, check=False)
    if done.returncode != 0:
        raise Failed(done.stderr.decode(errors="replace")[-2000:])
    result: dict[str, Any] = msgspec.json.decode(done.stdout)
    return result


def post(server: Server, path: str, body: Any) -> Any:  # noqa: ANN401 - JSON
    """A call that makes something ready for a load."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}{path}",
        data=msgspec.json.encode(body),
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return msgspec.json.decode(answer.read())


def get(server: Server, path: str) -> Any:  # noqa: ANN401 - JSON
    """What a server says of something."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=30) as answer:
        return msgspec.json.decode(answer.read())


def council(server: Server, models: list[str]) -> list[str]:
    """An advisor for each of these models; their ids."""
    return [
        post(
            server,
            "/api/advisors",
            {
                "name": f"Advisor {number} {model}",
                "description": f"Looks at things from side {number} and says what is there.",
                "model": model,
            },
        )["id"]
        for number, model in enumerate(models, 1)
    ]


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
