"""What every route is given: the app, and who asks."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from polyvox.app import Polyvox
from polyvox.values import Scope


async def _app(request: Request) -> Polyvox:
    app: Polyvox = request.app.state.polyvox
    return app


async def local_user() -> Scope:
    """The single local user. Accounts will be resolved here."""
    return Scope()


App = Annotated[Polyvox, Depends(_app)]
Who = Annotated[Scope, Depends(local_user)]
