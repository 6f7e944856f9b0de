"""The groups of a cluster: every broker lists those that it coordinates.

Source: ListGroups (key 16); states since version 4 (KIP-518), types since version 5 (KIP-848).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.client.errors import NodeRefusedError
from falkirk.client.groups.coordinators import MOVED
from falkirk.client.retries import API_TIMEOUT_MS, Retries
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ListGroupsRequest, ListGroupsResponse
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Collection

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.connection import NodeConnection
    from falkirk.protocol.messages.list_groups_response import ListedGroup

CLASSIC: Final = "Classic"
CONSUMER: Final = "Consumer"
SHARE: Final = "Share"
STREAMS: Final = "Streams"
GROUP_TYPES: Final = (CLASSIC, CONSUMER, SHARE, STREAMS)
"""As Kafka's tools write them; the wire takes any case."""
CONSUMER_PROTOCOL: Final = "consumer"
CONSUMER_GROUP_TYPES: Final = frozenset({CLASSIC, CONSUMER})
CONSUMER_GROUP_PROTOCOLS: Final = frozenset({"", CONSUMER_PROTOCOL})

_TYPES: Final = {name.lower(): name for name in GROUP_TYPES}
_LIST_GROUPS: Final = 16
_WITH_STATES: Final = 4
_WITH_TYPES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupListing:
    """A group. `type` and `state` are None where the broker is too old to report them.

    `protocol_type` is `consumer` for consumers of either protocol, the client's own word for others (`connect`), and
    empty for a group that has offsets only.
    """

    group_id: str
    protocol_type: str
    type: str | None
    state: str | None

    @property
    def is_simple(self) -> bool:
        """Whether it is a classic group that never had members of a known kind."""
        return self.type in {None, CLASSIC} and not self.protocol_type


async def list_groups(
    admin: AsyncAdmin,
    *,
    types: Collection[str] = (),
    states: Collection[str] = (),
    protocol_types: Collection[str] = (),
    timeout_ms: int = API_TIMEOUT_MS,
) -> list[GroupListing]:
    """Return the groups by id; of the named types, states and protocol types, or of all where none is named.

    Raises ClientError; UnsupportedApiError for states or types that a broker is too old to report.
    """
    retries = Retries(admin.config, timeout_ms)
    nodes = (await admin.describe_cluster()).nodes
    listed = await asyncio.gather(*(_ask(admin.connection(node.endpoint), types, states, retries) for node in nodes))
    found = {group.group_id: _listing(group) for groups in listed for group in groups}
    return [group for _, group in sorted(found.items()) if not protocol_types or group.protocol_type in protocol_types]


async def _ask(
    node: NodeConnection, types: Collection[str], states: Collection[str], retries: Retries
) -> list[ListedGroup]:
    while True:
        request, wanted = await _request(node, types, states)
        response = await node.request(request, wanted=wanted, is_idempotent=True, timeout_ms=retries.request_timeout_ms)
        assert isinstance(response, ListGroupsResponse)
        if response.error_code == ErrorCode.NONE:
            return response.groups
        if response.error_code not in MOVED or retries.is_last:
            raise NodeRefusedError(node.endpoint, "ListGroups", response.error_code)
        await retries.pause()


async def _request(
    node: NodeConnection, types: Collection[str], states: Collection[str]
) -> tuple[ListGroupsRequest, SupportedRange]:
    """Return the request and the versions that can carry it; types are left out where all groups are classic ones."""
    offered = (await node.versions()).api_ranges.get(_LIST_GROUPS)
    is_old = offered is not None and offered.highest < _WITH_TYPES
    if is_old and CLASSIC in types and CONSUMER_GROUP_TYPES.issuperset(types):
        types = ()
    lowest = _WITH_TYPES if types else _WITH_STATES if states else 0
    request = ListGroupsRequest(states_filter=tuple(sorted(states)), types_filter=tuple(sorted(types)))
    return request, SupportedRange(lowest, max(ListGroupsRequest.SCHEMA.info.versions))


def _listing(group: ListedGroup) -> GroupListing:
    return GroupListing(
        group_id=group.group_id,
        protocol_type=group.protocol_type,
        type=_TYPES.get(group.group_type.lower(), group.group_type) or None,
        state=group.group_state or None,
    )
