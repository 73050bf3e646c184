"""The doctor's checks of settings, disk, models and network. No secret is ever shown."""

from __future__ import annotations

import os
import shutil
import socket
from dataclasses import dataclass
from typing import Literal

from polyvox.cli import words
from polyvox.cli.lookup import SCOPE
from polyvox.errors import ModelError, PolyvoxError
from polyvox.memory.remote import RemoteMemory
from polyvox.memory.values import Partition
from polyvox.models.llama_file import EMBEDDED, find_gguf
from polyvox.models.registry import Models
from polyvox.settings import Settings, shown_url, stored
from polyvox.settings.layers import leaves
from polyvox.transport import Transport, is_loopback_host

TIGHT = 500_000_000
"""Bytes of free disk below which one should know."""
FULL = 20_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's."""

    state: Literal["ok", "warn", "fail"]
    what: str
    found: str
    next: str = ""


def configuration(settings: Settings) -> Finding:
    """Name the files of the settings, and secrets that stand where they should not."""
    where = settings.source or "no polyvox.toml"
    if changed := list(leaves(settings.page)):
        where += f", and from the page {', '.join(changed)} ({settings.home / stored.SETTINGS})"
    elif not settings.source:
        where += ", so every setting has its default"
    kept = settings.home / stored.KEYS
    if settings.keys and kept.stat().st_mode & 0o077:
        return Finding(
            "warn",
            "configuration",
            f"{where}; others on this machine can read {kept}",
            f"Run `chmod 600 {kept}`.",
        )
    literal = [
        f"providers.{name}.api_key"
        for name, provider in settings.providers.items()
        if provider.api_key.literal
    ]
    if settings.server.token.literal and "POLYVOX_SERVER_TOKEN" not in os.environ:
        literal.append("server.token")
    if literal:
        return Finding(
            "warn",
            "configuration",
            f"{where}; {', '.join(literal)} holds the secret itself",
            "Put it into a variable and write env:NAME, or the keyring and write keyring:NAME.",
        )
    return Finding("ok", "configuration", where)


def disk(settings: Settings) -> Finding:
    """Name the home and the room on its disk."""
    place = settings.home
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        return Finding(
            "fail", "home", f"{place} is a file", "Set POLYVOX_HOME to a directory of your own."
        )
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        return Finding("fail", "home", f"{settings.home}: {error.strerror}", "Set POLYVOX_HOME.")
    if not os.access(place, os.W_OK):
        return Finding(
            "fail", "home", f"{place} is not writable", "Set POLYVOX_HOME to a place of your own."
        )
    place_and_room = f"{settings.home}, {words.size(free)} free"
    if free < FULL:
        return Finding("fail", "home", place_and_room, "Free some space: nothing can be stored.")
    if free < TIGHT:
        return Finding("warn", "home", place_and_room, "Free some space soon.")
    return Finding("ok", "home", place_and_room)


def keys(models: Models) -> Finding:
    """Name the providers that have their key. The keys themselves are not shown."""
    present = [f"{row.name} ({row.key_source})" for row in models.listing() if row.key == "present"]
    if present:
        return Finding("ok", "keys", ", ".join(present))
    return Finding(
        "warn" if models.default.startswith("local:") else "ok",
        "keys",
        "none was found",
        models.facts(models.default).note,
    )


def embedded(settings: Settings, models: Models) -> Finding:
    """Look for the embedded model's file; it must be there where it is the default model."""
    try:
        path = find_gguf(settings, EMBEDDED)
    except ModelError as error:
        needed = models.default.startswith("local:")
        return Finding("fail" if needed else "warn", "embedded model", error.message, error.hint)
    return Finding("ok", "embedded model", f"{path}, {words.size(path.stat().st_size)}")


async def default_model(models: Models) -> Finding:
    """Ask the default model."""
    check = await models.check(models.default)
    if check.ok:
        waited = "" if check.first_byte_ms is None else f" after {check.first_byte_ms:.0f} ms"
        return Finding("ok", "default model", f"{check.model} answers{waited}")
    return Finding("fail", "default model", f"{check.model}: {check.message}", check.hint)


async def embeddings_model(settings: Settings, models: Models) -> Finding:
    """Ask the model that makes vectors for recall; without it recall goes on."""
    name, seconds = settings.models.embeddings, settings.memory.embedding_seconds
    try:
        made = await models.embedder(name).embed(["Does it answer?"], settings.limits.first_byte)
    except PolyvoxError as error:
        return Finding("warn", "embeddings", f"{name}: {error.message}", error.hint)
    size = len(made.vectors[0])
    return Finding(
        "ok", "embeddings", f"{name} answers with {size} numbers; a question waits {seconds:g} s"
    )


async def memory_service(settings: Settings, transport: Transport, *, offline: bool) -> Finding:
    """Ask the service that keeps memory in place of this program. Without it turns go
    on, and sessions wait to be remembered."""
    given, what = settings.memory, "memory service"
    place = shown_url(given.url)
    if offline:
        return Finding("ok", what, f"{place} keeps memory; it was not asked")
    token = given.token.reveal()
    remote = RemoteMemory(transport, given.url, token, given.budget)
    got = await remote.loops(Partition.own(SCOPE), limit=1)
    if got.degrade is not None:
        why, hint = got.degrade.explained()
        return Finding("warn", what, f"{place} {why}", hint)
    return Finding("ok", what, f"{place} answers{', with the token' if token else ''}")


def exposure(settings: Settings) -> Finding:
    """Warn if others can reach the server without a token."""
    host = settings.server.host
    if is_loopback_host(host):
        return Finding("ok", "access", f"{host}: from this machine only")
    if settings.server.token.reveal():
        return Finding("ok", "access", f"{host}: from other machines, with the token")
    return Finding(
        "fail",
        "access",
        f"{host} can be reached from other machines, and there is no token",
        "Set POLYVOX_SERVER_TOKEN, or server.host to 127.0.0.1.",
    )


def port(settings: Settings) -> Finding:
    """Try the server's port."""
    server = settings.server
    where = f"{server.host}:{server.port}"
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((server.host, server.port))
        except OSError as error:
            return Finding(
                "warn",
                "port",
                f"{where}: {error.strerror}",
                "Polyvox may be running there already; else choose another with --port.",
            )
    return Finding("ok", "port", f"{where} is free")
