"""Dynamic configs of groups: read and deleted.

Sources: ListConfigResources (key 74; types other than client metrics since version 1, KIP-1142), DescribeConfigs (key
32), IncrementalAlterConfigs (key 44).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.client.errors import NodeRefusedError
from falkirk.client.groups.listing import list_groups
from falkirk.client.refusal import Refusal
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from falkirk.protocol.messages.describe_configs_request import DescribeConfigsResource
from falkirk.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.connection import NodeConnection

GroupConfigs = dict[str, dict[str, str | None]]
"""Value by key, by group; None: the broker does not show it."""

_LIST_CONFIG_RESOURCES: Final = 74
_WITH_TYPES: Final = 1
_GROUP: Final = 32
_DYNAMIC_GROUP_CONFIG: Final = 8
_DELETE: Final = 1
# From brokers that do not know the type of the resource.
_NO_SUCH_CONFIGS: Final = frozenset({ErrorCode.INVALID_REQUEST, ErrorCode.UNSUPPORTED_VERSION})


async def group_configs(admin: AsyncAdmin) -> GroupConfigs:
    """Return the dynamic configs of groups; none from brokers before 4.0, which have no such configs.

    Brokers before 4.1 do not list which groups have configs: then all groups that exist are described.
    Raises ClientError, among them NodeRefusedError without DESCRIBE_CONFIGS.
    """
    node = await admin.any_node()
    names = await _names(node)
    if names is None:
        names = [group.group_id for group in await list_groups(admin)]
    if not names:
        return {}
    request = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(_GROUP, name, configuration_keys=None) for name in names]
    )
    response = await node.request(request, is_idempotent=True)
    assert isinstance(response, DescribeConfigsResponse)
    found: GroupConfigs = {}
    for result in response.results:
        if result.error_code in _NO_SUCH_CONFIGS:
            continue
        if result.error_code != ErrorCode.NONE:
            raise NodeRefusedError(node.endpoint, "DescribeConfigs", result.error_code, result.error_message)
        own = {config.name: config.value for config in result.configs if config.config_source == _DYNAMIC_GROUP_CONFIG}
        if own:
            found[result.resource_name] = own
    return dict(sorted(found.items()))


async def delete_group_configs(admin: AsyncAdmin, configs: Mapping[str, Iterable[str]]) -> dict[str, Refusal | None]:
    """Delete keys of groups' configs, and return the refusal of each group, None if it is done. Raises ClientError."""
    request = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=_GROUP,
                resource_name=group_id,
                configs=[AlterableConfig(name=name, config_operation=_DELETE, value=None) for name in sorted(names)],
            )
            for group_id, names in sorted(configs.items())
        ]
    )
    node = await admin.any_node()
    response = await node.request(request, is_idempotent=True)
    assert isinstance(response, IncrementalAlterConfigsResponse)
    return {
        each.resource_name: Refusal(each.error_code, each.error_message) if each.error_code else None
        for each in response.responses
    }


async def _names(node: NodeConnection) -> list[str] | None:
    """Return the groups that have configs; None if the node cannot list them."""
    offered = (await node.versions()).api_ranges.get(_LIST_CONFIG_RESOURCES)
    if offered is None or offered.highest < _WITH_TYPES:
        return None
    response = await node.request(ListConfigResourcesRequest(resource_types=(_GROUP,)), is_idempotent=True)
    assert isinstance(response, ListConfigResourcesResponse)
    if response.error_code != ErrorCode.NONE:
        raise NodeRefusedError(node.endpoint, "ListConfigResources", response.error_code)
    return [each.resource_name for each in response.config_resources]
