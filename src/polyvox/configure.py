"""Changing the settings while the program runs: what people do on the page instead of writing a
configuration file. A change is checked as a whole by the code that checks it at the start, kept in
the home, and only then used.

Invariant: what is in use is what a restart would read. What the configuration file, the environment
or the command line say cannot be changed here, and a key of theirs is never sent to an address that
was put in here; nor is a key that was put in for one address sent to another.
"""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from typing import Any, get_origin
from urllib.parse import urlsplit

from polyvox.errors import ConfigError, Conflict, Invalid, NotFound
from polyvox.models.providers import (
    BUILT_IN,
    OWN,
    check_models,
    endpoint_of,
    known_providers,
    unknown_provider,
)
from polyvox.settings import Settings, known_keys, stored
from polyvox.settings.layers import decision_of, fixed_of, in_force, read_stored, value_of
from polyvox.settings.schema import changeable
from polyvox.settings.stored import StoredSettings

LONGEST_KEY = 1000
LONGEST_TEXT = 1000
ADDRESS = re.compile(r"https?://[\w.:\[\]-]+(/[\w.~!$&'()*+,;=:%/-]*)?")
"""An address that names its machine in one way only."""
Work = Callable[[Settings, StoredSettings], StoredSettings]
"""The settings to store, given those in force and those stored before."""


class Configuration:
    """The settings of a running program, as people change them."""

    def __init__(self, settings: Settings, use: Callable[[Settings], None]) -> None:
        self._settings = settings
        self._use = use
        self._one_by_one = asyncio.Lock()

    async def change(self, changes: Mapping[str, Any]) -> None:
        """Change settings by their dotted names, all or none; None: back to the default."""
        await self._keep(partial(_changed, changes))

    async def put_key(self, provider: str, key: str) -> None:
        """Keep a provider's key. One of the configuration or the environment still wins."""
        key = clean_key(key)

        def work(settings: Settings, kept: StoredSettings) -> StoredSettings:
            check_reached(provider, settings)
            return StoredSettings(kept.page, {**kept.keys, provider: key})

        await self._keep(work)

    async def remove_key(self, provider: str) -> None:
        """Forget a provider's key."""

        def work(settings: Settings, kept: StoredSettings) -> StoredSettings:
            if provider not in kept.keys:
                check_reached(provider, settings)
                raise NotFound(
                    f"No key of {provider} was put in here.",
                    "One of the configuration or the environment can only be taken out there.",
                )
            return StoredSettings(kept.page, _without(kept.keys, provider))

        await self._keep(work)

    async def put_provider(self, name: str, table: Mapping[str, Any]) -> None:
        """Describe a provider anew, as a whole."""
        try:
            await self._keep(partial(_described, name, table))
        except Invalid as error:
            param = (error.param or "").rpartition(".")[2]
            raise Invalid(error.message, error.hint, param=param or None) from None

    async def remove_provider(self, name: str) -> None:
        """Forget what was said here of a provider. Answers of advisors that use it will say so."""
        try:
            await self._keep(partial(_forgotten, name))
        except Invalid as error:
            hint = f"Choose another model in {error.param} first."
            raise Conflict(error.message, hint, param=error.param) from None

    async def _keep(self, work: Work) -> None:
        async with self._one_by_one:
            settings = await asyncio.to_thread(_kept, self._settings, work)
            self._settings = settings
            self._use(settings)


def clean_key(key: str) -> str:
    """A key as it was pasted, without what came along. What is refused is not repeated."""
    key = key.strip()
    if not key:
        raise Invalid("The key is empty.", "Paste the key.", param="key")
    if len(key) > LONGEST_KEY:
        raise Invalid(
            f"The key has more than {LONGEST_KEY} characters.", "Paste the key alone.", param="key"
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise Invalid("The key has characters that no key has.", "Paste it again.", param="key")
    if key.startswith(("env:", "keyring:")):
        raise Invalid(
            "This names a place where a key may be, and here the key itself is wanted.",
            "Paste the key, or name its place in polyvox.toml as api_key.",
            param="key",
        )
    return key


def check_reached(provider: str, settings: Settings) -> None:
    """Refuse what is no provider, or one inside the program."""
    if provider in OWN:
        raise Conflict(f"{provider} is part of Polyvox.", "It needs no address and no key.")
    if provider not in known_providers(settings):
        error = unknown_provider(provider, settings)
        raise NotFound(error.message, error.hint)


def _kept(settings: Settings, work: Work) -> Settings:
    """Do the work between reading and writing, alone; answers what is then in force."""
    fixed = fixed_of(settings)
    with stored.alone(fixed.home):
        try:
            old = read_stored(fixed.home)
            now = in_force(fixed, old)
        except ConfigError as error:
            raise Conflict(error.message, error.hint) from None
        new = work(now, old)
        checked = _checked(now, new)
        stored.write(fixed.home, old, new)
    return checked


def _checked(settings: Settings, new: StoredSettings) -> Settings:
    try:
        result = in_force(fixed_of(settings), new, where="")
        check_models(result)
    except ConfigError as error:
        raise Invalid(error.message, error.hint, param=error.param) from None
    return result


# settings


def _changed(
    changes: Mapping[str, Any], settings: Settings, kept: StoredSettings
) -> StoredSettings:
    page = deepcopy(dict(kept.page))
    for name, value in changes.items():
        _check_free(settings, name)
        _check_text(name, value)
        _put(page, name, value)
    checked = _checked(settings, StoredSettings(page, kept.keys))
    for name in [name for name, value in changes.items() if value is not None]:
        value = value_of(checked, name)  # as it was understood: "5" is 5
        _put(page, name, list(value) if isinstance(value, tuple) else value)
    return StoredSettings(page, kept.keys)


def _check_free(settings: Settings, name: str) -> None:
    free = changeable()
    if name in known_keys() and name not in free:
        raise Invalid(
            f"The setting {name} cannot be changed here.", "Set it in polyvox.toml.", param=name
        )
    if name not in free:
        shown = name[:100].encode("ascii", "backslashreplace").decode()
        near = difflib.get_close_matches(shown, free, 1, cutoff=0)
        raise Invalid(f"There is no setting {shown!r}.", f"Did you mean {near[0]}?", param=shown)
    _check_unlocked(settings, name, name)


def _check_unlocked(settings: Settings, name: str, shown: str) -> None:
    decision = decision_of(settings, name)
    if decision.origin not in ("default", "page"):
        raise Conflict(
            f"{shown} is set in {decision.where}, which wins over what is set here.",
            "Change it there, or take it out there.",
            param=shown,
        )


def _check_text(name: str, value: object) -> None:
    if isinstance(value, str) and get_origin(known_keys()[name].annotation) is dict:
        value = value.splitlines()
    for text in value if isinstance(value, list | tuple) else [value]:
        if isinstance(text, str) and (len(text) > LONGEST_TEXT or not text.isprintable()):
            raise Invalid(f"{name} must be one short line.", "Correct that value.", param=name)


def _put(page: dict[str, Any], name: str, value: object) -> None:
    """Set it; None, an empty text, list or table take it out, and tables that are then empty."""
    *tables, last = name.split(".")
    inside = [page]
    for part in tables:
        inside.append(inside[-1].setdefault(part, {}))
    if value in (None, "", [], {}):
        inside[-1].pop(last, None)
    else:
        inside[-1][last] = value
    for table, part in reversed(list(zip(inside, tables, strict=False))):
        if not table[part]:
            del table[part]


# providers


def _described(
    name: str, table: Mapping[str, Any], settings: Settings, kept: StoredSettings
) -> StoredSettings:
    built, address = BUILT_IN.get(name), str(table.get("base_url") or "")
    if name in OWN:
        check_reached(name, settings)
    _check_unlocked(settings, f"providers.{name}", name)
    if built is not None and built.key and ("kind" in table or address):
        raise Conflict(
            f"{name} is built in, with its address.",
            "Describe a server of your own under another name.",
            param="base_url",
        )
    if built is None and not address:
        raise Invalid(
            f"{name} needs an address.", "For instance http://127.0.0.1:8080/v1.", param="base_url"
        )
    if address and not ADDRESS.fullmatch(address):
        raise Invalid(
            "base_url must be an address without a login, a query and a fragment.",
            "For instance http://127.0.0.1:8080/v1; a key is put in as a key.",
            param="base_url",
        )
    page = deepcopy(dict(kept.page))
    page.setdefault("providers", {})[name] = dict(table)
    return _with_keys_in_place(settings, StoredSettings(page, kept.keys), name)


def _forgotten(name: str, settings: Settings, kept: StoredSettings) -> StoredSettings:
    if name not in kept.page.get("providers", {}):
        if name not in OWN:
            _check_unlocked(settings, f"providers.{name}", name)
        raise NotFound(f"No provider {name} was described here.", "GET /api/providers lists them.")
    page = deepcopy(dict(kept.page))
    del page["providers"][name]
    if not page["providers"]:
        del page["providers"]
    return _with_keys_in_place(settings, StoredSettings(page, kept.keys), name)


def _with_keys_in_place(settings: Settings, new: StoredSettings, name: str) -> StoredSettings:
    """The same without that provider's key if it has moved: it was given for another address."""
    before, after = _place(name, settings), _place(name, _checked(settings, new))
    return new if before == after else StoredSettings(new.page, _without(new.keys, name))


def _place(name: str, settings: Settings) -> tuple[str, str | None, int | None] | None:
    """The machine that a provider's key is sent to; None where there is no such provider."""
    if name not in known_providers(settings):
        return None
    url = urlsplit(endpoint_of(name, settings, {}).base_url)
    return url.scheme, url.hostname, url.port


def _without(table: Mapping[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in table.items() if key != name}
