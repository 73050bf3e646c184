"""`models`, `doctor` and `serve`: is it well, and does it come and go as it should."""

from __future__ import annotations

import signal
import socket
import urllib.request
from pathlib import Path

import msgspec
import pytest
from tests import databases
from tests.cli.desk import SECONDS, Cli, Here, Provider

pytestmark = pytest.mark.contract


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A place where nothing is yet."""
    return tmp_path / "home"


def test_models_are_listed(here: Here) -> None:
    data = here("models", "list", "--json").json
    assert data["default"] == "lab:plain"
    assert {row["name"] for row in data["providers"]} >= {"openrouter", "anthropic", "local", "lab"}
    run = here("models")
    lines = run.out.splitlines()
    assert any(line.split() == ["*", "lab:plain"] for line in lines)
    assert any("openrouter" in line and "missing" in line for line in lines)
    assert "* is the default" in run.err


def test_a_model_is_checked(here: Here, provider: Provider) -> None:
    assert here("models", "check").out.startswith("ok    lab:plain answers after ")
    provider.script(bad={"status": 401, "error": "No such key."})
    run = here("models", "check", "lab:bad")
    assert run.code == 1
    assert run.out.startswith("fail  lab:bad: lab (401): No such key.")
    assert here("models", "check", "lab:bad", "--json").json["category"] == "authentication"
    assert here("models", "check", "soup:x").code == 2


def found(here: Here, *words: str) -> dict[str, tuple[str, str, str]]:
    rows = here("doctor", "--json", *words).json
    return {row["what"]: (row["state"], row["found"], row["next"]) for row in rows}


def test_the_doctor_finds_everything_well(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("POLYVOX_SERVER_PORT", "0")
    here("ask", "hi", "-a", "keeper")
    run = here("doctor")
    assert run.code == 0, run.out
    states = {line[:4].strip() for line in run.out.splitlines() if not line.startswith(" ")}
    assert states <= {"ok", "warn"}
    assert "sk-very-secret" not in run.out + run.err
    seen = found(here)
    assert seen["keys"] == ("ok", "openai (env:OPENAI_API_KEY)", "")
    assert seen["database"][0] == "ok"
    assert "whole, tables of version" in seen["database"][1]
    assert seen["answers"][:2] == ("ok", "none was cut off")
    assert seen["default model"][0] == "ok"
    assert "default model" not in found(here, "--offline")


def test_the_doctor_creates_nothing(cli: Cli, here: Here) -> None:
    assert "does not exist yet" in found(here, "--offline")["database"][1]
    assert not cli.home.exists()


def test_the_doctor_names_what_is_wrong(
    cli: Cli, here: Here, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.script(plain={"status": 401, "error": "No such key."})
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        monkeypatch.setenv("POLYVOX_SERVER_PORT", str(busy.getsockname()[1]))
        cli.config.write_text(cli.config.read_text() + '[providers.own]\nbase_url = "http://x/v1"\n'
                              'api_key = "sk-literal"\n')  # fmt: skip
        assert here("doctor").code == 1
        seen = found(here)
    assert seen["default model"][0] == "fail"
    assert "No such key." in seen["default model"][1]
    assert seen["default model"][2]
    assert seen["port"][0] == "warn"
    assert seen["configuration"][0] == "warn"
    assert "providers.own.api_key" in seen["configuration"][1]
    assert "sk-literal" not in str(seen)


def test_the_doctor_looks_at_the_database(cli: Cli, here: Here, tmp_path: Path) -> None:
    import sqlite3

    here("ask", "hi", "-a", "keeper")
    path = cli.home / "polyvox.db"
    connection = sqlite3.connect(path)
    connection.execute("UPDATE answers SET state = 'interrupted'")
    connection.commit()
    assert found(here, "--offline")["answers"][0] == "warn"
    connection.execute("UPDATE schema_version SET version = version + 90")
    connection.commit()
    assert "newer Polyvox" in found(here, "--offline")["database"][1]
    connection.execute("DELETE FROM schema_version WHERE version > 91")
    connection.execute("UPDATE schema_version SET version = 1")
    connection.commit()
    connection.close()
    state, told, then = found(here, "--offline")["database"]
    assert (state, "version 1" in told, "backup" in then) == ("warn", True, True)
    assert found(here, "--offline", "--database", f"sqlite:///{tmp_path}")["database"][0] == "fail"
    empty = tmp_path / "other.db"
    sqlite3.connect(empty).execute("CREATE TABLE mine (x)").connection.close()
    assert "no tables of Polyvox" in found(
        here, "--offline", "--database", f"sqlite:///{empty}"
    )["database"][1]  # fmt: skip
    path.write_bytes(path.read_bytes()[:6000] + b"\xff" * 20000)
    for extra in path.parent.glob("polyvox.db-*"):
        extra.unlink()
    assert found(here, "--offline")["database"][0] == "fail"
    assert here("doctor", "--offline").code == 1


def test_it_is_told_what_comes_from_the_page(cli: Cli, here: Here, provider: Provider) -> None:
    """What people changed on the page holds for every command, which says where it comes from."""
    cli.config.write_text("[limits]\nretries = 0\n")
    cli.home.mkdir()
    page, keys = cli.home / "settings.toml", cli.home / "keys.toml"
    table = f'[providers.lab]\nbase_url = "{provider.base_url}"\n'
    page.write_text(f'{table}[models]\ndefault = "lab:plain"\n[limits]\nmax_tokens = 33\n')
    keys.write_text('lab = "sk-from-the-page"\ngemini = "sk-other"\n')
    keys.chmod(0o600)
    assert here("ask", "hi", "-a", "keeper").code == 0
    sent = provider.log()[-1]
    assert '"max_tokens":33' in sent["body"].replace(" ", "")
    assert sent["headers"]["authorization"] == "Bearer sk-from-the-page"
    assert here("models", "list", "--json").json["default_from"] == "chosen on the page"
    assert "* is the default: chosen on the page." in here("models").err
    seen = found(here, "--offline")
    state, told, _ = seen["configuration"]
    assert state == "ok"
    assert "from the page providers.lab.base_url, models.default, limits.max_tokens" in told
    assert str(page) in told
    assert "gemini (stored:gemini), lab (stored:lab)" in seen["keys"][1]
    assert "sk-" not in str(seen)
    keys.chmod(0o644)
    state, told, then = found(here, "--offline")["configuration"]
    assert (state, "others on this machine can read" in told) == ("warn", True)
    assert f"chmod 600 {keys}" in then
    page.unlink()
    assert here("models", "list", "--json").json["default_from"] == "there is a key, stored:gemini"
    keys.unlink()
    assert here("models", "list", "--json").json["default_from"] == "no key was found"
    cli.config.write_text('[models]\ndefault = "scripted:echo"\n')
    assert str(cli.config) in here("models", "list", "--json").json["default_from"]
    page.write_text("[limit]\nqueue = 5\n")
    run = here("models", "list")
    assert run.code == 2
    assert f"Unknown setting 'limit' in {page}" in run.err
    assert "Did you mean" in run.err


def test_the_doctor_on_a_broken_configuration(cli: Cli, here: Here) -> None:
    cli.config.write_text("nonsense = 1\n")
    run = here("doctor")
    assert run.code == 1
    assert run.out.startswith("fail  configuration: Unknown setting 'nonsense'")


@pytest.mark.slow
def test_the_doctor_looks_at_postgresql(here: Here, postgres_server: str) -> None:
    url = databases.create(postgres_server)
    assert "makes its tables" in found(here, "--offline", "--database", url)["database"][1]
    assert here("advisors", "list", "--database", url).code == 0
    seen = found(here, "--offline", "--database", url)
    assert seen["database"][0] == "ok"
    assert "tables of version" in seen["database"][1]
    databases.drop(postgres_server, url)


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["serve"]])
def test_serve_says_where_it_is_and_leaves_quietly(cli: Cli, words: list[str]) -> None:
    process = cli.begin(*words, "--port", "0", "--host", "127.0.0.1")
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("Polyvox is at http://127.0.0.1:")
    with urllib.request.urlopen(f"{line.split()[3]}/healthz", timeout=SECONDS) as answer:
        assert msgspec.json.decode(answer.read())["default_model"] == "lab:plain"
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert errors == ""
    assert out == ""


@pytest.mark.slow
def test_serve_tells_what_stands_in_its_way(cli: Cli) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        run = cli("serve", "--port", str(busy.getsockname()[1]))
    assert run.code == 2
    assert "Cannot listen on" in run.err
    assert "--port" in run.err
    exposed = cli("serve", "--host", "0.0.0.0", "--port", "0")
    assert exposed.code == 2
    assert "a token is needed" in exposed.err


@pytest.mark.slow
def test_serve_is_honest_about_the_embedded_model_and_opens_a_browser(
    cli: Cli, tmp_path: Path
) -> None:
    cli.config.write_text('[local]\nmodel_path = "/nonexistent.gguf"\n')
    seen = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}\n')
    browser.chmod(0o755)
    process = cli.begin("serve", "--port", "0", "--open", BROWSER=f"{browser} %s")
    assert process.stdout is not None
    address = process.stdout.readline().split()[3]
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert "The embedded model is tiny" in errors
    assert seen.read_text().strip() == address


def test_the_doctor_fails_what_cannot_be_used(
    cli: Cli, here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = cli.config.read_text()
    cli.config.write_text(plain + '[recipes.concil]\nblocks = []\n[models.known."nobody:x"]\n')
    seen = found(here, "--offline")
    assert seen["recipes"][0] == seen["models"][0] == "fail"
    assert "recipes.council" in seen["recipes"][2]
    assert "nobody:x" in seen["models"][1]
    cli.config.write_text(plain)
    assert not {"recipes", "models"} & set(found(here, "--offline"))
    monkeypatch.setenv("POLYVOX_SERVER_HOST", "0.0.0.0")
    assert found(here, "--offline")["access"][0] == "fail"
    monkeypatch.setenv("POLYVOX_SERVER_TOKEN", "tok-secret-secret")
    assert found(here, "--offline")["access"][0] == "ok"
    file = tmp_path / "file"
    file.touch()
    for home in (file, file / "inside"):
        monkeypatch.setenv("POLYVOX_HOME", str(home))
        state, told, _ = found(here, "--offline")["home"]
        assert (state, told) == ("fail", f"{file} is a file")


def test_no_command_shows_the_secrets_of_an_address(
    cli: Cli, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "http://me-secret:pw-secret@127.0.0.1:1/v1?key=query-secret"
    cli.config.write_text(f'[models]\ndefault = "odd:x"\n[providers.odd]\nbase_url = "{address}"\n')
    monkeypatch.setenv("POLYVOX_LIMITS_RETRIES", "0")
    for words in (["models"], ["models", "list", "--json"], ["models", "check"], ["doctor"]):
        run = here(*words)
        assert "odd:" in run.out
        assert "secret" not in run.out + run.err
