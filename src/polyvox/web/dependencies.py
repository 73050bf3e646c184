"""Dependencies of the routes: the app, the user, and the client's presence."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Path, Request

from polyvox.app import Polyvox
from polyvox.errors import Unavailable
from polyvox.fields import Text
from polyvox.values import Scope
from polyvox.web.stream import disconnected

T = TypeVar("T")


async def _app(request: Request) -> Polyvox:
    app: Polyvox = request.app.state.polyvox
    return app


async def local_user() -> Scope:
    """The single local user. Accounts will be resolved here."""
    return Scope()


App = Annotated[Polyvox, Depends(_app)]
Who = Annotated[Scope, Depends(local_user)]
Key = Annotated[Text, Path(min_length=1, max_length=200)]
"""An id or a slug in an address."""


async def while_wanted(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Run work that costs money; cancel it when the client leaves."""
    task = asyncio.create_task(work)
    gone = asyncio.create_task(disconnected(request.receive))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Unavailable("The client has left.")  # nobody is there to read this
        return task.result()
    finally:
        gone.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait((task,))
