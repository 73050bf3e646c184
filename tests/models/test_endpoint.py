"""Keys: where they come from, when they are missed, and what a person is told about it."""

from __future__ import annotations

import keyring
import pytest
from keyring.backend import KeyringBackend

from polyvox.errors import AuthenticationFailed
from polyvox.models.endpoint import Bounds, Endpoint
from polyvox.settings import Limits, Secret

CLOUD = "https://api.example.com/v1"


def endpoint(secret: str, url: str = CLOUD, **env: str) -> Endpoint:
    return Endpoint("lab", url, "compatible", Secret(secret), env=env)


async def test_the_key_comes_from_the_environment_given() -> None:
    assert await endpoint("env:LAB_KEY", LAB_KEY=" k-1\n").key() == "k-1"
    assert await endpoint("k-literal").key() == "k-literal"


async def test_a_missing_key_names_the_variable() -> None:
    with pytest.raises(AuthenticationFailed, match="no key for lab") as caught:
        await endpoint("env:LAB_KEY").key()
    assert "Set LAB_KEY to a valid key of lab" in caught.value.hint
    with pytest.raises(AuthenticationFailed) as caught:
        await endpoint("").key()
    assert "[providers.lab]" in caught.value.hint


async def test_this_machine_needs_no_key() -> None:
    assert await endpoint("", "http://127.0.0.1:8080/v1").key() == ""
    assert await endpoint("env:LAB_KEY", "http://localhost/v1", LAB_KEY="k").key() == "k"


@pytest.mark.parametrize("key", ["k\ney", "schlüssel", "k\x00"])
async def test_a_key_that_cannot_be_sent_is_refused_without_telling_it(key: str) -> None:
    with pytest.raises(AuthenticationFailed) as caught:
        await endpoint(key).key()
    assert key not in caught.value.message


class Ring(KeyringBackend):
    """A keyring that holds one key, and breaks on demand."""

    priority = 1

    def get_password(self, service: str, username: str) -> str | None:
        if username == "broken":
            raise RuntimeError("the ring is locked")
        return {("polyvox", "lab"): "k-ring"}.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError


async def test_the_keyring() -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(Ring())  # type: ignore[no-untyped-call]  # keyring has no types here
    try:
        assert await endpoint("keyring:lab").key() == "k-ring"
        with pytest.raises(AuthenticationFailed) as caught:
            await endpoint("keyring:other").key()
        assert "keyring set polyvox other" in caught.value.hint
        with pytest.raises(AuthenticationFailed, match="the ring is locked"):
            await endpoint("keyring:broken").key()
    finally:
        keyring.set_keyring(before)


def test_nothing_secret_is_shown() -> None:
    shown = repr(
        Endpoint("lab", CLOUD, "compatible", Secret("k-1234"), {"X-Key": "h-1"}, {"A": "e-1"})
    )
    assert not any(secret in shown for secret in ("k-1234", "h-1", "e-1"))


def test_bounds_of_the_settings() -> None:
    assert Bounds.of(Limits(first_byte=3, stall=4, answer_bytes=5000)) == Bounds(3, 4, 5000)
