"""The route of full-text search."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from polyvox.fields import Text
from polyvox.store.search import Hit, search
from polyvox.web.dependencies import App, Who
from polyvox.web.openapi import Router

router = Router("catalogue")


@router.get("/api/search")
async def search_texts(
    app: App,
    who: Who,
    q: Annotated[Text, Query(max_length=1000)],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> list[Hit]:
    """Full text over messages, answers and titles."""
    return await search(app.database, who, q, limit)
