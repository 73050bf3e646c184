"""The partition of memory that a request is about, by `tenantId` and `userId` in its address."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query

from polyvox.fields import Filled
from polyvox.memory.values import Partition
from polyvox.web.dependencies import Who

OwnTenant = Annotated[Filled | None, Query(alias="tenantId", min_length=1, max_length=200)]
OwnUser = Annotated[Filled | None, Query(alias="userId", min_length=1, max_length=200)]
Tenant = Annotated[Filled, Query(alias="tenantId", min_length=1, max_length=200)]
User = Annotated[Filled, Query(alias="userId", min_length=1, max_length=200)]


async def _own(who: Who, tenant: OwnTenant = None, user: OwnUser = None) -> Partition:
    own = Partition.own(who)
    return Partition(tenant or own.tenant, user or own.user)


async def _named(tenant: Tenant, user: User) -> Partition:
    return Partition(tenant, user)


Own = Annotated[Partition, Depends(_own)]
"""Default: the person's own memory."""
Named = Annotated[Partition, Depends(_named)]
