"""Secrets: keys and tokens, and the parts of addresses that may hold one."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping


class Secret:
    """A key or token as configured: `env:NAME`, `keyring:NAME` or a literal. Never printed."""

    __slots__ = ("_source",)

    def __init__(self, source: str) -> None:
        self._source = source

    @property
    def literal(self) -> bool:
        """True if the secret itself stands in the configuration (worth a warning)."""
        return bool(self._source) and not self._source.startswith(("env:", "keyring:"))

    @property
    def origin(self) -> str:
        """The source of the secret, without the secret."""
        if not self._source:
            return "not set"
        return "written in the configuration" if self.literal else self._source

    def reveal(self, env: Mapping[str, str] = os.environ) -> str:
        """The secret, or an empty string where its source holds none."""
        kind, _, name = self._source.partition(":")
        if kind == "env":
            return env.get(name, "")
        if kind == "keyring":
            import keyring

            return keyring.get_password("polyvox", name) or ""
        return self._source

    def __bool__(self) -> bool:
        return bool(self._source)

    def __repr__(self) -> str:
        return "Secret('***')" if self._source else "Secret('')"

    __str__ = __repr__


class StoredKey(Secret):
    """A key put in on the page; kept in the home, never shown. Its text is the key itself: one that
    reads `env:NAME` must not fetch a variable."""

    __slots__ = ("_provider",)

    def __init__(self, provider: str, key: str) -> None:
        super().__init__(key)
        self._provider = provider

    @property
    def literal(self) -> bool:
        """Not in the configuration."""
        return False

    @property
    def origin(self) -> str:
        """stored:PROVIDER."""
        return f"stored:{self._provider}"

    def reveal(self, env: Mapping[str, str] = os.environ) -> str:  # noqa: ARG002 - as any secret
        """The key."""
        return self._source


_URL = re.compile(r"([A-Za-z][\w+.-]*://)([^\s?#]*@)?([^\s?#]*)(\?[^\s#]*)?(#\S*)?")


def shown_url(text: str) -> str:
    """Star the login and the query values of every address in a text, because a key may be among
    them."""

    def starred(match: re.Match[str]) -> str:
        query = re.sub(r"=[^&]*|(?<=[?&])[^&=]+(?=&|$)", _star, match[4] or "")
        return f"{match[1]}{'***@' if match[2] else ''}{match[3]}{query}"

    return _URL.sub(starred, text)


def _star(match: re.Match[str]) -> str:
    return "=***" if match[0].startswith("=") else "***"
