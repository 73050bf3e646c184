"""A small real provider for tests and benchmarks; `tests.provider.server` tells how to use it."""

from tests.provider.script import Script
from tests.provider.server import Logged, ProviderServer

__all__ = ["Logged", "ProviderServer", "Script"]
