"""Configs of single nodes, and replicas of partitions, as nodes report them.

Sources: DescribeConfigs (key 32), which controllers answer since 3.7 (KIP-919); Metadata (key 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.client.errors import NodeRefusedError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    MetadataRequest,
    MetadataResponse,
)
from falkirk.protocol.messages.describe_configs_request import DescribeConfigsResource
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.client.connection import NodeConnection
    from falkirk.protocol.messages.metadata_response import MetadataResponseTopic

_BROKER: Final = 4
_DEFAULT_CONFIG: Final = 5
_METADATA_VERSIONS: Final = SupportedRange(4, 12)


@dataclass(frozen=True, slots=True, kw_only=True)
class LackingPartition:
    """A partition whose ISR lacks replicas."""

    partition: TopicPartition
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


async def node_configs(node: NodeConnection, node_id: int) -> dict[str, str | None]:
    """Return a node's configs other than defaults, static and dynamic; None for secrets.

    Raises ClientError, among them NodeRefusedError without DESCRIBE_CONFIGS on the cluster.
    """
    resource = DescribeConfigsResource(_BROKER, str(node_id), configuration_keys=None)
    response = await node.request(DescribeConfigsRequest(resources=[resource]), is_idempotent=True)
    assert isinstance(response, DescribeConfigsResponse)
    [result] = response.results
    if result.error_code != ErrorCode.NONE:
        raise NodeRefusedError(node.endpoint, "DescribeConfigs", result.error_code, result.error_message)
    return {each.name: each.value for each in result.configs if each.config_source != _DEFAULT_CONFIG}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicLayout:
    """Where a topic's partitions are. `replicas`: by partition, each in the order of preference."""

    topic_id: bytes
    replicas: Mapping[int, tuple[int, ...]]


async def lacking_partitions(node: NodeConnection) -> tuple[LackingPartition, ...]:
    """Return the partitions below their full ISR, of topics that we may describe. Raises ClientError."""
    return lacking(await described_topics(node))


async def described_topics(node: NodeConnection) -> tuple[MetadataResponseTopic, ...]:
    """Return all topics that we may describe. Raises ClientError."""
    request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
    response = await node.request(request, wanted=_METADATA_VERSIONS, is_idempotent=True)
    assert isinstance(response, MetadataResponse)
    return tuple(response.topics)


def lacking(topics: Iterable[MetadataResponseTopic]) -> tuple[LackingPartition, ...]:
    """Return the partitions below their full ISR."""
    return tuple(
        LackingPartition(
            partition=TopicPartition(topic.name or "", each.partition_index),
            replicas=tuple(each.replica_nodes),
            isr=tuple(each.isr_nodes),
        )
        for topic in topics
        for each in topic.partitions
        if len(each.isr_nodes) < len(each.replica_nodes)
    )


def layouts(topics: Iterable[MetadataResponseTopic]) -> dict[str, TopicLayout]:
    """Return the topics by name; those whose description has an error are left out."""
    return {
        topic.name or "": TopicLayout(
            topic_id=topic.topic_id,
            replicas={each.partition_index: tuple(each.replica_nodes) for each in topic.partitions},
        )
        for topic in topics
        if topic.error_code == ErrorCode.NONE
    }
