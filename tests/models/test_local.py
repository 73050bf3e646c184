"""The embedded model, with the real GGUF file that set-up fetches."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from polyvox import settings as config
from polyvox.errors import ContextTooLong, ModelError, ModelTimeout, Unavailable
from polyvox.models import llama_process
from polyvox.models.base import AttemptLog, ChatMessage, Reply, Request, SystemPart
from polyvox.models.llama_file import find_gguf, model_folders
from polyvox.models.local import LocalModel
from polyvox.models.registry import Models
from polyvox.models.wire import encode
from polyvox.settings import Settings
from polyvox.transport import Transport
from polyvox.values import Params

QUESTION = Request(
    (SystemPart("You are a baker. Answer plainly."),),
    (ChatMessage("user", "What do you do when the dough is too wet?"),),
    Params(max_tokens=24),
)
LONG = Request(QUESTION.system, QUESTION.messages, Params(max_tokens=1500, temperature=1.0))


def settings_in(home: Path, **overrides: object) -> Settings:
    small = {"local.slots": "3", "local.slot_tokens": "1024"}
    given = small | {name.replace("__", "."): str(value) for name, value in overrides.items()}
    return config.load(env={"POLYVOX_HOME": str(home)}, overrides=given)


async def text_of(reply: Reply) -> str:
    return "".join([piece.text async for piece in reply])


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _children() -> set[int]:
    """The embedded models that this process runs."""
    found = set()
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if "polyvox.models.llama_child" in child.cmdline():
                found.add(child.pid)
    return found


# which file


def test_the_home_comes_before_what_setup_fetched(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    fetched = find_gguf(settings, "smollm2")
    assert fetched.parent == Path(sys.prefix) / "share" / "polyvox" / "models"
    own = model_folders(settings)[0] / "smollm2.gguf"
    own.parent.mkdir()
    own.write_bytes(b"GGUF and more")
    assert find_gguf(settings, "smollm2") == own


def test_a_setting_or_a_path_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "other.gguf"
    file.write_bytes(b"GGUF and more")
    assert find_gguf(settings_in(tmp_path, local__model_path=file), "smollm2") == file
    assert find_gguf(settings_in(tmp_path), str(file)) == file


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("absent", None, "no model file absent.gguf in"),
        ("{home}/absent.gguf", None, "There is no model file"),
        ("{home}/text.gguf", b"hello", "is not a GGUF file"),
        ("{home}/empty.gguf", b"", "is not a GGUF file"),
        ("{home}/folder/", None, "is a folder"),
    ],
)
def test_a_wrong_file_is_explained(
    tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    (tmp_path / "folder").mkdir()
    name = name.format(home=tmp_path)
    if content is not None:
        Path(name).write_bytes(content)
    with pytest.raises(ModelError, match=words) as caught:
        find_gguf(settings_in(tmp_path), name)
    assert caught.value.hint
    assert not caught.value.transient, "trying again would not help"


async def test_a_missing_file_is_an_attempt_that_failed(tmp_path: Path) -> None:
    transport = Transport()
    log = AttemptLog()
    with pytest.raises(ModelError, match="no model file"):
        await LocalModel(settings_in(tmp_path), "absent", transport).stream(QUESTION, log)
    assert [attempt.category for attempt in log.attempts] == ["unavailable"]
    assert log.encoded == encode("llama", "absent", QUESTION)
    await transport.close()


def test_the_log_stays_small(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "llama.log"
    for _ in range(20):
        llama_process.append(log, b"x" * 100_000)
    sizes = [path.stat().st_size for path in log.parent.iterdir()]
    assert len(sizes) == 2
    assert max(sizes) <= llama_process.LOG_BYTES + 100_000


# the process


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalModel]:
    """One running process for the tests of this module; a test that breaks it leaves it usable."""
    transport = Transport()
    settings = settings_in(tmp_path_factory.mktemp("home"))
    local = LocalModel(settings, "smollm2", transport)
    await local.warm()
    yield local
    await local.close()
    await transport.close()


in_module = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.slow
@in_module
async def test_it_answers_and_counts(model: LocalModel) -> None:
    log = AttemptLog()
    reply = await model.stream(QUESTION, log)
    pieces = [piece async for piece in reply]
    assert len("".join(piece.text for piece in pieces).split()) > 3
    usage = pieces[-1].usage
    assert usage is not None
    assert not usage.estimated
    assert usage.input_tokens > 20
    assert 0 < usage.output_tokens <= 24
    assert pieces[-1].finish in {"stop", "length"}
    assert reply.encoded == model.encode(QUESTION) == encode("llama", "smollm2", QUESTION)
    assert [(attempt.model, attempt.status) for attempt in log.attempts] == [("local:smollm2", 200)]


@pytest.mark.slow
@in_module
async def test_it_ends_at_the_end_of_its_turn(model: LocalModel) -> None:
    request = Request(
        (), (ChatMessage("user", "What is 2 + 2?"),), Params(max_tokens=300, temperature=0.0)
    )
    pieces = [piece async for piece in await model.stream(request)]
    assert pieces[-1].finish == "stop"
    assert "<|im_end|>" not in "".join(piece.text for piece in pieces)


@pytest.mark.slow
@in_module
async def test_it_takes_what_a_council_sends(model: LocalModel) -> None:
    request = Request(
        (SystemPart("You are a baker."), SystemPart("Answer plainly.", stable=False)),
        (
            ChatMessage("user", "Is rye harder than wheat?"),
            ChatMessage("assistant", "It is stickier."),
            ChatMessage("user", "[The others said: use less water.]"),
            ChatMessage("user", "What would you do?"),
        ),
        Params(max_tokens=8),
    )
    assert await text_of(await model.stream(request))


@pytest.mark.slow
@in_module
async def test_answers_are_written_together(model: LocalModel) -> None:
    order: list[tuple[str, str]] = []

    async def ask(name: str) -> None:
        reply = await model.stream(
            Request((SystemPart(f"You are {name}."),), QUESTION.messages, Params(max_tokens=60))
        )
        async for _ in reply:
            order.append((name, "piece"))  # noqa: PERF401 - the order between the answers counts
        order.append((name, "end"))

    await asyncio.gather(*(ask(name) for name in ("Ada", "Bo", "Cy")))
    first_end = next(n for n, (_, what) in enumerate(order) if what == "end")
    assert {name for name, _ in order[:first_end]} == {"Ada", "Bo", "Cy"}


@pytest.mark.slow
@in_module
async def test_a_request_that_does_not_fit_is_called_so(model: LocalModel) -> None:
    request = Request((), (ChatMessage("user", "word " * 3000),), Params(max_tokens=5))
    with pytest.raises(ContextTooLong, match="1024"):
        await model.stream(request)


@pytest.mark.slow
@in_module
async def test_a_schema_is_followed(model: LocalModel) -> None:
    schema = '{"type":"object","properties":{"yes":{"type":"boolean"}},"required":["yes"]}'
    request = Request((), QUESTION.messages, Params(max_tokens=30), schema=schema)
    text = await text_of(await model.stream(request))
    assert json.loads(text) in ({"yes": True}, {"yes": False})


@pytest.mark.slow
@in_module
async def test_strangers_are_refused_and_the_key_is_hidden(model: LocalModel) -> None:
    run = await model._reach()
    transport = Transport()
    stranger = {"Authorization": "Bearer guess", "Origin": "http://elsewhere.example"}
    response = await transport.get(f"{run.address}/v1/models", stranger)
    assert response.status == 401
    assert not response.headers.get("Access-Control-Allow-Origin")
    response.close()
    await transport.close()
    process = psutil.Process(model.pid)
    assert run.key not in " ".join(process.cmdline())
    assert run.key not in " ".join(process.environ().values())
    assert run.address.startswith("http://127.0.0.1:")


@pytest.mark.slow
@in_module
async def test_ctrl_c_is_not_for_the_child(model: LocalModel) -> None:
    assert model.pid is not None
    assert os.getsid(model.pid) != os.getsid(0)


@pytest.mark.slow
@in_module
async def test_death_in_the_middle_is_one_failed_answer_and_a_restart(model: LocalModel) -> None:
    reply = await model.stream(LONG)
    before = model.pid
    assert before is not None
    assert (await anext(aiter(reply))).text
    os.kill(before, signal.SIGKILL)
    with pytest.raises(Unavailable, match=r"stopped in the middle of its work \(SIGKILL") as caught:
        await text_of(reply)
    assert "Ask again" in caught.value.hint
    assert await text_of(await model.stream(QUESTION))
    assert model.pid not in {before, None}


@pytest.mark.slow
@in_module
async def test_everybody_is_told_of_the_death_though_it_runs_again(model: LocalModel) -> None:
    replies = [await model.stream(LONG) for _ in range(2)]
    assert model.pid is not None
    os.kill(model.pid, signal.SIGKILL)
    with pytest.raises(Unavailable, match="SIGKILL"):
        await text_of(replies[0])
    assert await text_of(await model.stream(QUESTION))
    with pytest.raises(Unavailable, match="SIGKILL"):
        await text_of(replies[1])


@pytest.mark.slow
@in_module
async def test_death_before_the_first_word_is_told_too(model: LocalModel) -> None:
    await model.warm()
    assert model.pid is not None
    log = AttemptLog()
    os.kill(model.pid, signal.SIGSTOP)  # so that it cannot answer before it is killed
    asked = asyncio.create_task(model.stream(QUESTION, log))
    await asyncio.sleep(0)
    os.kill(model.pid, signal.SIGKILL)
    with pytest.raises(Unavailable, match="SIGKILL"):
        await asked
    assert log.attempts[-1].category == "unavailable"
    assert "SIGKILL" in (log.attempts[-1].message or "")


@pytest.mark.slow
async def test_those_who_ask_during_the_start_share_it(tmp_path: Path) -> None:
    transport = Transport()
    local = LocalModel(settings_in(tmp_path), "smollm2", transport)
    before = _children()
    impatient = asyncio.create_task(local.warm())
    await asyncio.sleep(0)
    asked = [asyncio.create_task(local.stream(QUESTION)) for _ in range(3)]
    await asyncio.sleep(0)
    impatient.cancel()  # leaves the start to the others
    replies = await asyncio.gather(*asked)
    assert _children() - before == {local.pid}
    assert all([await text_of(reply) for reply in replies])
    await local.close()
    await transport.close()


@pytest.mark.slow
async def test_a_stopped_answer_frees_its_slot(tmp_path: Path) -> None:
    """Were it not so, the second answer would have to wait for 1,500 tokens and meet its limit."""
    transport = Transport()
    settings = settings_in(tmp_path, local__slots=1, local__slot_tokens=2048, limits__deadline=12)
    local = LocalModel(settings, "smollm2", transport)
    endless = await local.stream(LONG)
    await endless.aclose()
    assert await text_of(await local.stream(QUESTION))
    await local.close()
    await transport.close()


@pytest.mark.slow
async def test_close_stops_the_process_for_good(tmp_path: Path) -> None:
    transport = Transport()
    local = LocalModel(settings_in(tmp_path), "smollm2", transport)
    await local.warm()
    pid = local.pid
    assert pid is not None
    await local.close()
    assert is_gone(pid)
    with pytest.raises(Unavailable, match="closed"):
        await local.stream(QUESTION)
    await transport.close()


@pytest.mark.slow
async def test_close_during_the_start_leaves_nothing(tmp_path: Path) -> None:
    transport = Transport()
    local = LocalModel(settings_in(tmp_path), "smollm2", transport)
    before = _children()
    starting = asyncio.create_task(local.warm())
    while not (children := _children() - before):  # noqa: ASYNC110 - nothing tells that it is there, unready
        await asyncio.sleep(0)
    await local.close()
    with pytest.raises(Unavailable, match="closed"):
        await starting
    assert all(is_gone(pid) for pid in children)
    await transport.close()


@pytest.mark.slow
async def test_what_it_said_before_it_died_is_quoted(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(find_gguf(settings_in(tmp_path), "smollm2").read_bytes()[:5_000_000])
    transport = Transport()
    local = LocalModel(settings_in(tmp_path), str(broken), transport)
    with pytest.raises(ModelError, match="corrupted or incomplete") as caught:
        await local.stream(QUESTION)
    assert not caught.value.transient
    assert str(broken) in caught.value.hint
    log = tmp_path / "logs" / "llama-broken.log"
    assert str(log) in caught.value.hint
    assert "corrupted or incomplete" in log.read_text()
    await local.close()
    await transport.close()


@pytest.mark.slow
async def test_other_settings_do_not_start_it_anew(tmp_path: Path) -> None:
    transport = Transport()
    before = settings_in(tmp_path, local__slots=1, limits__local_max_tokens=4)
    models = Models(before, transport, {})
    try:
        await models.warm()
        pid = models._local["smollm2"].pid
        assert pid is not None
        other = settings_in(
            tmp_path, local__slots=1, limits__local_max_tokens=40, limits__deadline=0.001
        )
        models.use(other)
        assert models.facts("local:smollm2").max_tokens == 40
        with pytest.raises(ModelTimeout, match=r"0\.001 seconds"):
            await models.get("local:smollm2").stream(QUESTION)
        models.use(settings_in(tmp_path, local__slots=1))
        request = Request(QUESTION.system, QUESTION.messages, Params(max_tokens=12))
        pieces = [piece async for piece in await models.get("local:smollm2").stream(request)]
        usage = pieces[-1].usage
        assert usage is not None
        assert usage.output_tokens == 12, "more than the four of its start"
        assert models._local["smollm2"].pid == pid
    finally:
        await models.close()
        await transport.close()


APP = """
import asyncio, sys
from polyvox import settings
from polyvox.models.local import LocalModel
from polyvox.transport import Transport

async def main():
    model = LocalModel(settings.load(), "smollm2", Transport())
    await model.warm()
    print(model.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_killed_app_leaves_no_orphan(tmp_path: Path) -> None:
    app = subprocess.Popen(
        [sys.executable, "-c", APP],
        env={**os.environ, "POLYVOX_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with app:
        assert app.stdout is not None
        child = psutil.Process(int(app.stdout.readline()))
        app.kill()
    if not is_gone(child.pid):
        child.wait(timeout=30)
    assert is_gone(child.pid)
