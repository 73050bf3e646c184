"""Every setting once, and where it comes from.

A setting comes from the environment (`POLYVOX_LIMITS_MAX_TOKENS`), else from `polyvox.toml`
(`[limits] max_tokens`), else from what people changed on the page, else from its default. A secret
is held as a `Secret`, which prints as stars wherever it goes.
"""

from polyvox.settings.layers import load
from polyvox.settings.schema import (
    BUILT_IN_PROVIDERS,
    MAPS,
    MODEL,
    Limits,
    Local,
    MemorySettings,
    ModelFactsSetting,
    ModelSettings,
    Provider,
    Server,
    Sessions,
    Settings,
    known_keys,
)
from polyvox.settings.secret import Secret, StoredKey, shown_url
from polyvox.settings.stored import LARGEST

__all__ = [
    "BUILT_IN_PROVIDERS",
    "LARGEST",
    "MAPS",
    "MODEL",
    "Limits",
    "Local",
    "MemorySettings",
    "ModelFactsSetting",
    "ModelSettings",
    "Provider",
    "Secret",
    "Server",
    "Sessions",
    "Settings",
    "StoredKey",
    "known_keys",
    "load",
    "shown_url",
]
