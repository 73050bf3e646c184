"""Every setting once, and where it comes from.

A setting comes from the environment (`POLYVOX_LIMITS_MAX_TOKENS`), else from `polyvox.toml`
(`[limits] max_tokens`), else from what people changed on the page, else from its default. A secret
is held as a `Secret`, which prints as stars wherever it goes.
"""

from polyvox.settings.layers import load
from polyvox.settings.schema import (
    MAPS,
    MODEL,
    Limits,
    ModelFactsSetting,
    ModelSettings,
    Provider,
    Settings,
    known_keys,
)
from polyvox.settings.secret import Secret, shown_url
from polyvox.settings.stored import LARGEST

__all__ = [
    "LARGEST",
    "MAPS",
    "MODEL",
    "Limits",
    "ModelFactsSetting",
    "ModelSettings",
    "Provider",
    "Secret",
    "Settings",
    "known_keys",
    "load",
    "shown_url",
]
