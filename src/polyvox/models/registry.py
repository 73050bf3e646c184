"""Models by name: built once, wrapped, shared.

    Deadline ( Fallback ( Meter ( Retry ( Limit ( the wire ))), … ))

What a provider or a model can take at once is shared by everything that asks it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from polyvox.errors import EmptyAnswer, Invalid, ModelError, Refused
from polyvox.ids import Clock, system_clock
from polyvox.models.anthropic import AnthropicModel
from polyvox.models.base import AttemptLog, ChatMessage, Model, ModelFacts, Request, Sleep
from polyvox.models.embeddings import Embedder
from polyvox.models.endpoint import Bounds
from polyvox.models.openai import OpenAIModel
from polyvox.models.prices import cost_of, window_of
from polyvox.models.providers import (
    BUILT_IN,
    EMBEDDED,
    OWN,
    check_models,
    embeds,
    endpoint_of,
    has_key,
    known_providers,
    no_embeddings,
    split_name,
)
from polyvox.models.scripted import SCRIPTS, Script, ScriptedModel
from polyvox.models.wire import DIALECTS, answer_limit
from polyvox.models.wrappers import Deadline, Fallback, Gate, Limit, Meter, OpenModel, Retry
from polyvox.settings import ModelFactsSetting, Provider, Settings
from polyvox.transport import Transport
from polyvox.values import Params, Usage

if TYPE_CHECKING:
    from polyvox.models.local import LocalModel

TINY = (
    "The embedded model is tiny: it shows how Polyvox works, but its advice is poor. "
    "To use a capable one, put in a key on the page under Settings, set OPENROUTER_API_KEY, "
    "ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or run Ollama."
)


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """A provider as it is listed."""

    name: str
    kind: str
    base_url: str
    key: Literal["present", "missing", "not needed"]
    key_source: str
    models: tuple[str, ...]
    """Full names, the provider's default first."""


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one short call to a model."""

    model: str
    ok: bool
    first_byte_ms: float | None = None
    status: int | None = None
    category: str | None = None
    message: str = ""
    hint: str = ""


class Models:
    """Every model there is. Owns the embedded one; the app owns the transport."""

    def __init__(
        self,
        settings: Settings,
        transport: Transport,
        env: Mapping[str, str] = os.environ,
        *,
        scripts: Mapping[str, Script] | None = None,
        clock: Clock = system_clock,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._settings = settings
        self._transport = transport
        self._env = env
        self._scripts = scripts
        self._clock = clock
        self._sleep = sleep
        self._bare: dict[str, OpenModel] = {}
        self._single: dict[str, OpenModel] = {}
        self._chains: dict[tuple[str, ...], Model] = {}
        self._gates: dict[tuple[object, ...], Gate] = {}
        self._local: dict[str, LocalModel] = {}
        self._alternating: set[tuple[str, str]] = set()
        """Models that demand alternating roles, by address and name."""

    def use(self, settings: Settings) -> None:
        """From now on these settings. What is under way ends with those it began with; a pace that
        stays the same goes on being kept, and the embedded model goes on running."""
        self._settings = settings
        for model in self._local.values():
            model.use(settings)
        self._bare = {f"local:{name}": model for name, model in self._local.items()}
        self._single, self._chains = {}, {}

    def embedder(self, name: str) -> Embedder:
        """An embeddings model, at its provider's pace. `Invalid` if there cannot be one."""
        provider, short = split_name(name, self._settings)
        if not embeds(provider, self._settings):
            raise no_embeddings(provider)
        pace = (
            self._gate(name, self._known(name)),
            self._gate(provider, self._settings.providers.get(provider)),
        )
        endpoint = endpoint_of(provider, self._settings, self._env)
        return Embedder(
            short, endpoint, self._transport, [limiter for limiter in pace if limiter is not None]
        )

    def get(self, name: str) -> Model:
        """That model alone, wrapped and ready. `Invalid` if there cannot be one of this name."""
        return self.chain(name, ())

    def chain(self, name: str, fallbacks: Sequence[str] | None = None) -> Model:
        """That model, and when it fails before its first word the next ones (None: those of the
        settings)."""
        names = (name, *(self._settings.models.fallback if fallbacks is None else fallbacks))
        names = tuple(dict.fromkeys(names))
        if names not in self._chains:
            try:
                models = [self._one(each) for each in names]
            except Invalid as error:  # an advisor's model whose provider is gone: its own failure
                raise Refused(error.message, error.hint) from None
            inner = models[0] if len(models) == 1 else self._fallback(models)
            self._chains[names] = Deadline(inner, self._settings.limits.deadline)
        return self._chains[names]

    @property
    def default(self) -> str:
        """The model that is used where none is named."""
        if self._settings.models.default:
            return self._settings.models.default
        for name, built in BUILT_IN.items():
            if built.key and has_key(name, self._settings, self._env):
                given = self._settings.providers.get(name)
                return f"{name}:{(given.default if given else '') or built.default}"
        return EMBEDDED

    def facts(self, name: str) -> ModelFacts:
        """The facts of a model: its window, its prompt set, its longest answer."""
        provider = name.partition(":")[0]
        limits, local = self._settings.limits, provider == "local"
        known = self._known(name)
        return ModelFacts(
            name,
            window=known.window
            or (self._settings.local.slot_tokens if local else self._table(name)),
            prompts=known.prompts or ("compact" if local else "full"),
            max_tokens=known.max_tokens
            or (limits.local_max_tokens if local else limits.max_tokens),
            note=TINY if name == EMBEDDED else "",
        )

    def cost(self, name: str, usage: Usage) -> int | None:
        """Nano-dollars for this usage of a model, as its replies are priced; None: unknown."""
        return cost_of(name, usage, base_url=self._base_url(name.partition(":")[0]))

    def answer_limit(self, name: str, params: Params) -> int:
        """The longest answer that a model is asked for, as it is sent."""
        provider, _, short = name.partition(":")
        if provider in OWN or provider not in known_providers(self._settings):
            return params.max_tokens or 0
        return answer_limit(endpoint_of(provider, self._settings, self._env).dialect, short, params)

    def stays_here(self, name: str) -> bool:
        """True if a model's requests stay on this machine: it is embedded, scripted, or served at a
        loopback address."""
        provider = name.partition(":")[0]
        if provider in OWN:
            return True
        known = provider in known_providers(self._settings)
        return known and endpoint_of(provider, self._settings, self._env).loopback

    def has_key(self, provider: str) -> bool:
        """True if there is a key for a provider."""
        return has_key(provider, self._settings, self._env)

    def check_name(self, name: str) -> None:
        """`Invalid` where there cannot be a model of this name: nobody knows its provider."""
        split_name(name, self._settings)

    def check_settings(self) -> None:
        """Refuse settings that name a model nobody can know."""
        check_models(self._settings)

    def listing(self) -> list[ProviderRow]:
        """Every provider, whether its key is there, and models of it that are known by name."""
        return [self._row(name) for name in known_providers(self._settings)]

    async def check(self, name: str) -> Check:
        """Ask for one word, once, without retries or fallback."""
        log = AttemptLog()
        question = ChatMessage("user", "Answer with the single word: yes")
        request = Request((), (question,), Params(max_tokens=16))
        error: ModelError | None = None
        try:
            split_name(name, self._settings)
            model = Deadline(self._adapter(name), self._settings.limits.deadline)
            reply = await model.stream(request, log)
            await reply.aclose()
        except EmptyAnswer:
            pass  # it was reached and it answered; the maximum was too small for a word
        except ModelError as failed:
            error = failed
        last = log.attempts[-1] if log.attempts else None
        return Check(
            name,
            ok=error is None,
            first_byte_ms=last.first_byte_ms if last else None,
            status=last.status if last else None,
            category=error.category if error else None,
            message=error.message if error else "",
            hint=error.hint if error else "",
        )

    async def warm(self) -> None:
        """Load the embedded model now, if it is the one used by default."""
        provider, name = split_name(self.default, self._settings)
        if provider == "local":
            self._adapter(f"{provider}:{name}")
            await self._local[name].warm()

    async def close(self) -> None:
        """End the embedded model."""
        for model in self._local.values():
            await model.close()

    # how they are made

    def _one(self, name: str) -> OpenModel:
        """One model with all its wrappers but the deadline."""
        if name not in self._single:
            provider, _ = split_name(name, self._settings)
            limits, model = self._settings.limits, self._adapter(name)
            gates = [
                self._gate(name, self._known(name)),
                self._gate(provider, self._settings.providers.get(provider)),
            ]
            if present := tuple(gate for gate in gates if gate is not None):
                model = Limit(model, present)
            model = Retry(model, limits.retries, limits.retry_wait, self._sleep)
            self._single[name] = Meter(model, self._base_url(provider))
        return self._single[name]

    def _adapter(self, name: str) -> OpenModel:
        if name not in self._bare:
            provider, short = split_name(name, self._settings)
            self._bare[name] = self._build(provider, short)
        return self._bare[name]

    def _build(self, provider: str, name: str) -> OpenModel:
        if provider == "scripted":
            return ScriptedModel(name, self._scripts, self._sleep, self._clock)
        if provider == "local":
            from polyvox.models.local import LocalModel

            self._local[name] = LocalModel(self._settings, name, self._transport)
            return self._local[name]
        endpoint = endpoint_of(provider, self._settings, self._env)
        bounds = Bounds.of(self._settings.limits)
        parts = (name, endpoint, self._transport, bounds, self._clock)
        if DIALECTS[endpoint.dialect].wire == "anthropic":
            return AnthropicModel(*parts)
        return OpenAIModel(*parts, alternating=self._alternating)

    def _gate(self, key: str, given: Provider | ModelFactsSetting | None) -> Gate | None:
        if given is None or not (given.concurrency or given.requests_per_minute or given.min_delay):
            return None
        pace = (key, given.concurrency, given.requests_per_minute, given.min_delay)
        if pace not in self._gates:
            self._gates[pace] = Gate(
                concurrency=given.concurrency,
                requests_per_minute=given.requests_per_minute,
                min_delay=given.min_delay,
                sleep=self._sleep,
            )
        return self._gates[pace]

    def _known(self, name: str) -> ModelFactsSetting:
        return self._settings.models.known.get(name) or ModelFactsSetting()

    def _fallback(self, models: Sequence[OpenModel]) -> Fallback:
        return Fallback(models, self._window, self._clock, most=self._most)

    def _most(self, name: str) -> int | None:
        """The longest answer that this model may give at all, where it has a limit of its own."""
        local = self._settings.limits.local_max_tokens if name.startswith("local:") else None
        return self._known(name).max_tokens or local

    def _window(self, name: str) -> int | None:
        return self.facts(name).window

    def _table(self, name: str) -> int | None:
        return window_of(name, self._base_url(name.partition(":")[0]))

    def _base_url(self, provider: str) -> str:
        if provider in OWN or provider not in known_providers(self._settings):
            return ""
        return endpoint_of(provider, self._settings, self._env).base_url

    def _row(self, name: str) -> ProviderRow:
        if name == "local":
            models = tuple(dict.fromkeys(["smollm2", self._settings.local.model_path]))
            full = tuple(f"local:{each}" for each in models if each)
            return ProviderRow(name, "embedded", "", "not needed", "", full)
        if name == "scripted":
            scripts = tuple(f"scripted:{each}" for each in {**SCRIPTS, **(self._scripts or {})})
            return ProviderRow(name, "scripted", "", "not needed", "", scripts)
        endpoint = endpoint_of(name, self._settings, self._env)
        built, given = BUILT_IN.get(name), self._settings.providers.get(name)
        names = [given.default, *given.models] if given else []
        names += [built.default, *built.models] if built and not any(names) else []
        present = has_key(name, self._settings, self._env)
        return ProviderRow(
            name,
            DIALECTS[endpoint.dialect].wire,
            endpoint.base_url,
            "present" if present else "not needed" if endpoint.loopback else "missing",
            endpoint.secret.origin,
            tuple(f"{name}:{each}" for each in dict.fromkeys(names) if each),
        )
