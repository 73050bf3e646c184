"""The embedded model's own process: llama.cpp's server on loopback, run as
`python -m polyvox.models.llama_child`.

It is told everything in one line of JSON on stdin (so that the key is in no process list), answers
with one line on stdout once its server says it is healthy, and then lives exactly as long as stdin
stays open: when the app ends, however it ends, the pipe closes and this process is gone.
"""

from __future__ import annotations

import http.client
import os
import sys
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

if TYPE_CHECKING:
    import xllamacpp  # type: ignore[import-untyped]  # it ships no types


class Orders(msgspec.Struct, frozen=True):
    """Instructions of the app to its child."""

    model: str
    key: str
    slots: int
    slot_tokens: int
    threads: int
    max_tokens: int
    """Longest answer where a request names no limit."""


class ChildReady(msgspec.Struct, frozen=True):
    """The child's first message: it can take requests."""

    address: str


BATCH = 256
"""Prompt tokens evaluated at once. Three advisors with 158-token prompts on 2 cores: first words
after 0.8, 2.0 and 2.3 s; with llama.cpp's 2048 all three after 2.5 to 4.1 s. It is also how long
(about 1 s) an answer under way can pause for another's prompt."""


def params(orders: Orders) -> xllamacpp.CommonParams:
    """llama.cpp's parameters for these orders."""
    import xllamacpp

    p = xllamacpp.CommonParams()
    p.model.path = orders.model
    p.hostnames = ["127.0.0.1"]
    p.port = 0  # the kernel chooses a free one
    p.api_keys = [orders.key]
    p.cors_origins = ""  # no page of a browser has any business here
    p.ui = p.endpoint_slots = p.endpoint_props = False
    p.offline = True
    p.sse_ping_interval = 0  # a sign of life from a thread that does not do the work says nothing
    p.verbosity = 1  # warnings and errors; one line per request would fill the log

    p.n_parallel = orders.slots
    p.n_ctx = orders.slots * orders.slot_tokens
    p.n_predict = orders.max_tokens
    p.n_batch = p.n_ubatch = BATCH
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = orders.threads
    p.fit_params = False  # it would shrink the window silently where memory is short
    # Six slots of 2048 tokens: 325 MB with an 8-bit cache, 450 MB with 16 bits, equally fast.
    p.cache_type_k = p.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_Q8_0
    p.cache_ram_mib = 0  # by default up to 8 GB of old prompts would be kept beside the slots

    # A model this small wanders at the usual 0.8 and repeats itself without a penalty.
    p.sampling.temp = 0.3
    p.sampling.top_p = 0.9
    p.sampling.penalty_repeat = 1.1
    p.sampling.penalty_last_n = 256
    return p


def healthy(address: str) -> bool:
    """True if the server at this address answers that it is ready."""
    where = urlsplit(address)
    connection = http.client.HTTPConnection(str(where.hostname), where.port or 0, timeout=30)
    try:
        connection.request("GET", "/health", headers={"Connection": "close"})
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()


def main() -> int:
    """Serve until stdin closes. 1: the model cannot be loaded (llama.cpp said why on stderr)."""
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=Orders)
    # What libraries print must not reach the pipe that carries our answer.
    answer = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    # Loading holds the interpreter, so an app that dies meanwhile is noticed right after it.
    threading.Thread(target=_leave_with_the_app, daemon=True).start()
    import xllamacpp

    try:
        server = xllamacpp.Server(params(orders))
    except RuntimeError:
        return 1
    if not healthy(server.listening_address):
        sys.stderr.write("the server did not answer its health check\n")
        return 1
    answer.write(msgspec.json.encode(ChildReady(server.listening_address)) + b"\n")
    answer.close()
    threading.Event().wait()
    return 0


def _leave_with_the_app() -> None:
    while os.read(0, 1024):  # not sys.stdin: its lock would break an exit by the main thread
        pass
    os._exit(0)  # the server's threads are native and would outlive a polite exit


if __name__ == "__main__":
    sys.exit(main())
