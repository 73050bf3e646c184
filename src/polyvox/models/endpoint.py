"""A provider's address and how it is reached: all about it that is not its wire format."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from polyvox.errors import AuthenticationFailed
from polyvox.settings import Limits, Secret
from polyvox.transport import is_loopback

_HIDDEN = "***"
_SECRET = re.compile("auth|key|token|secret|cookie", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One provider's address, key and habits."""

    provider: str
    base_url: str
    dialect: str
    """A name in `models.wire.DIALECTS`."""
    secret: Secret = field(default_factory=lambda: Secret(""))
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    env: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    alternate: Literal["auto", "always", "never"] = "auto"
    """When messages are merged so that roles alternate (`Provider.alternate`)."""

    @property
    def loopback(self) -> bool:
        """On this machine: needs no key."""
        return is_loopback(self.base_url)

    @property
    def key_hint(self) -> str:
        """The next step for a person whose key is missing or refused."""
        name = self.secret.origin.removeprefix("env:")
        if self.secret.origin.startswith("env:"):
            return f"Set {name} to a valid key of {self.provider}, or put one in under Settings."
        if self.secret.origin.startswith("keyring:"):
            name = name.removeprefix("keyring:")
            return f"Store a valid key with `keyring set polyvox {name}`."
        if self.secret.origin.startswith("stored:"):
            return f"Put in a valid key of {self.provider} on the page under Settings."
        return (
            f"Put in a key of {self.provider} on the page under Settings, or set api_key in "
            f"[providers.{self.provider}] to a valid key, as env:NAME."
        )

    async def key(self) -> str:
        """The key; empty where none is needed. The keyring may ask a person, so not on the loop."""
        try:
            if self.secret.origin.startswith("keyring:"):
                key = await asyncio.to_thread(self.secret.reveal, self.env)
            else:
                key = self.secret.reveal(self.env)
        except Exception as error:  # whatever the system's keyring raises
            raise AuthenticationFailed(
                f"The key of {self.provider} cannot be read: {error}.", self.key_hint
            ) from error
        key = key.strip()
        if not key and not self.loopback:
            raise AuthenticationFailed(f"There is no key for {self.provider}.", self.key_hint)
        if not (key.isascii() and (key.isprintable() or not key)):
            raise AuthenticationFailed(
                f"The key of {self.provider} has characters that no key has.", self.key_hint
            )
        return key

    def scrub(self, words: str, key: str) -> str:
        """`words` without the key, nor any header of the user's own that may be one."""
        own = [value for name, value in self.headers.items() if _SECRET.search(name)]
        for secret in (key, *own):
            if len(secret) >= 4:
                words = words.replace(secret, _HIDDEN)
        return words


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits on how long a model may keep us waiting and how much it may say."""

    first_byte: float | None = 15.0
    stall: float | None = 30.0
    answer_bytes: int = 32_000_000

    @classmethod
    def of(cls, limits: Limits) -> Bounds:
        """The bounds of the settings."""
        return cls(limits.first_byte, limits.stall, limits.answer_bytes)
