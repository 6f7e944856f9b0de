"""Requests about a cluster for a real broker and one of ours, and their responses in comparable form."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import msgspec

from falkirk.client.config import ClientConfig
from falkirk.client.connection import NodeConnection
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.messages import (
    AlterConfigsRequest,
    DescribeAclsRequest,
    DescribeClientQuotasRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeDelegationTokenRequest,
    DescribeTopicPartitionsRequest,
    DescribeUserScramCredentialsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
    MetadataRequest,
)
from falkirk.protocol.messages import alter_configs_request as legacy
from falkirk.protocol.messages import incremental_alter_configs_request as incremental
from falkirk.protocol.messages.describe_client_quotas_request import ComponentData
from falkirk.protocol.messages.describe_configs_request import DescribeConfigsResource
from falkirk.protocol.messages.describe_topic_partitions_request import Cursor, TopicRequest
from falkirk.protocol.messages.describe_user_scram_credentials_request import UserName
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.protocol.schema import WireMessage

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
EXACT, DEFAULT, ANY = 0, 1, 2


def ask(port: int, questions: Iterable[tuple[WireMessage, int]]) -> list[Any]:  # Any: JSON values
    """Send requests to a broker, each in its version; return the responses as `comparable`."""

    async def run() -> list[Any]:  # Any: same
        connection = NodeConnection(Endpoint("127.0.0.1", port), ClientConfig())
        try:
            answers = []
            for message, version in questions:
                answer = await connection.request(message, wanted=SupportedRange(version, version))
                answers.append(comparable(answer))
            return answers
        finally:
            await connection.close()

    return asyncio.run(run())


def offered(port: int, api_key: int) -> SupportedRange | None:
    """Return the versions of an API that a broker offers."""

    async def run() -> SupportedRange | None:
        connection = NodeConnection(Endpoint("127.0.0.1", port), ClientConfig())
        try:
            return (await connection.versions()).api_ranges.get(api_key)
        finally:
            await connection.close()

    return asyncio.run(run())


def comparable(answer: WireMessage) -> Any:  # Any: a JSON value
    """Return the fields of a response, with lists of structs sorted and random values left out."""
    return _ordered(_fields(answer))


def _fields(value: object) -> Any:  # Any: same
    match value:
        case msgspec.Struct():
            fields = {name: _fields(getattr(value, name)) for name in value.__struct_fields__}
            # Left to chance, or to time; of DescribeConfigs v0 ours says more (docs/reference/compatibility.md).
            for name in ("controller_id", "throttle_time_ms", "is_default"):
                fields.pop(name, None)
            return fields
        case list():
            return [_fields(each) for each in value]
        case tuple():
            return [_fields(each) for each in value]
        case bytes():
            return value.hex()
        case _:
            return value


def _ordered(value: Any) -> Any:  # Any: same
    if isinstance(value, dict):
        return {name: _ordered(each) for name, each in value.items()}
    if isinstance(value, list):
        parts = [_ordered(each) for each in value]
        if parts and isinstance(parts[0], dict):
            return sorted(parts, key=lambda part: json.dumps(part, sort_keys=True))
        return parts
    return value


def named(*names: str | None, **fields: Any) -> MetadataRequest:  # Any: fields of the request
    """Return a request for topics by name that creates none."""
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics, **({"allow_auto_topic_creation": False} | fields))


def metadata_questions(versions: SupportedRange, ids: list[bytes]) -> Iterable[tuple[WireMessage, int]]:
    """Metadata in all offered versions."""
    for version in range(versions.lowest, versions.highest + 1):
        may_create = {"allow_auto_topic_creation": version < 4}
        yield MetadataRequest(None if version else [], **may_create), version
        if version >= 4:
            yield named("wide", "missing", "not possible", "__share_group_state", "wide"), version
        if version >= 8:
            yield named("wide", "missing", include_topic_authorized_operations=True), version
        if 8 <= version <= 10:
            yield named(include_cluster_authorized_operations=True), version
        if version >= 10:
            topics = [MetadataRequestTopic(topic_id, None if version >= 12 else "wide") for topic_id in ids]
            yield MetadataRequest(topics, allow_auto_topic_creation=False), version
            yield (
                MetadataRequest([*topics, MetadataRequestTopic(name="narrow")], allow_auto_topic_creation=False),
                version,
            )


def topic_questions() -> Iterable[tuple[WireMessage, int]]:
    """DescribeTopicPartitions, page by page."""
    yield DescribeTopicPartitionsRequest(), 0
    for limit in (0, 1, 3, 5):
        yield DescribeTopicPartitionsRequest(response_partition_limit=limit), 0
    topics = [TopicRequest(name) for name in ("wide", "missing", "narrow", "not possible")]
    yield DescribeTopicPartitionsRequest(topics, 3), 0
    for cursor in (Cursor("wide", 2), Cursor("wide", 99), Cursor("missing", 1), Cursor("other", 0), Cursor("wide", -1)):
        yield DescribeTopicPartitionsRequest(topics, 10, cursor), 0
        yield DescribeTopicPartitionsRequest([], 2, cursor), 0


def cluster_questions(versions: SupportedRange) -> Iterable[tuple[WireMessage, int]]:
    """DescribeCluster in all offered versions."""
    for version in range(versions.lowest, versions.highest + 1):
        yield DescribeClusterRequest(include_cluster_authorized_operations=True), version
        if version >= 1:
            yield DescribeClusterRequest(endpoint_type=2), version
            yield DescribeClusterRequest(endpoint_type=7), version
        if version >= 2:
            yield DescribeClusterRequest(include_fenced_brokers=True), version


def config_questions(versions: SupportedRange, kinds: Iterable[int]) -> Iterable[tuple[WireMessage, int]]:
    """DescribeConfigs in all offered versions, except for what a broker reports about itself."""
    names = {
        TOPIC: ["wide", "narrow", "__consumer_offsets", "missing", "not possible", ""],
        BROKER: ["", "x", "999"],
        LOGGER: ["", "x", "999"],
        METRICS: ["watch", "nobody", ""],
        GROUP: ["readers", "nobody", ""],
    }
    for version in range(versions.lowest, versions.highest + 1):
        for has_synonyms in (False, True) if version else (False,):
            resources = [DescribeConfigsResource(kind, name, None) for kind in kinds for name in names[kind]]
            yield DescribeConfigsRequest(resources, has_synonyms), version
        resources = [DescribeConfigsResource(TOPIC, "wide", ["retention.ms", "no.such"])]
        yield DescribeConfigsRequest([*resources, DescribeConfigsResource(TOPIC, "narrow", [])]), version


def quota_questions(versions: SupportedRange) -> Iterable[tuple[WireMessage, int]]:
    """DescribeClientQuotas in all offered versions."""
    filters = [
        [],
        [("user", EXACT, "alice")],
        [("user", DEFAULT, None)],
        [("user", ANY, None)],
        [("client-id", ANY, None), ("user", ANY, None)],
        [("ip", ANY, None)],
        [("ip", ANY, None), ("user", ANY, None)],
        [("", EXACT, "x")],
        [("host", EXACT, "x")],
        [("user", EXACT, None)],
        [("user", DEFAULT, "x")],
        [("user", ANY, "x")],
        [("user", 9, None)],
        [("user", ANY, None), ("user", DEFAULT, None)],
    ]
    for version in range(versions.lowest, versions.highest + 1):
        for given in filters:
            for is_strict in (False, True):
                yield DescribeClientQuotasRequest([ComponentData(*part) for part in given], is_strict), version


def resource_questions(versions: SupportedRange) -> Iterable[tuple[WireMessage, int]]:
    """ListConfigResources in all offered versions."""
    yield ListConfigResourcesRequest(), 0
    if versions.highest >= 1:
        for kinds in ((), (TOPIC,), (BROKER,), (LOGGER,), (METRICS, GROUP), (0,), (99, TOPIC)):
            yield ListConfigResourcesRequest(kinds), 1


def user_questions() -> Iterable[tuple[WireMessage, int]]:
    """Other requests about users and permissions; no authorizer is configured."""
    yield DescribeUserScramCredentialsRequest(None), 0
    for names in ((), ("alice",), ("bob", "alice"), ("alice", "alice"), ("",)):
        yield DescribeUserScramCredentialsRequest([UserName(name) for name in names]), 0
    yield DescribeDelegationTokenRequest(None), 2
    yield DescribeAclsRequest(1, None, 1, None, None, 1, 1), 2


def alter_questions(own: int, other: int) -> Iterable[tuple[WireMessage, int]]:
    """Validate-only changes of broker configs; `own` is the id of the broker that receives them."""
    set_, delete, append = 0, 1, 2
    changes: list[tuple[int, str, list[tuple[str, int, str | None]]]] = [
        (BROKER, own_name, [(key, operation, value)])
        for own_name in (str(own), "", str(other), "x")
        for key, operation, value in (
            ("log.retention.ms", set_, "1000"),
            ("log.retention.ms", set_, "many"),
            ("log.retention.ms", set_, None),
            ("log.retention.ms", delete, None),
            ("log.retention.ms", append, "1"),
            ("log.cleanup.policy", append, "compact"),
            ("num.partitions", set_, "3"),
            ("log.dirs", set_, "x"),
            ("no.such.key", set_, "x"),
            ("ssl.keystore.location", set_, "x"),
            ("max.connections", set_, "0"),
            ("message.max.bytes", set_, "-5"),
            ("num.io.threads", set_, "100"),
            ("num.io.threads", set_, "1"),
            ("log.cleaner.threads", set_, "9"),
            ("log.cleaner.dedupe.buffer.size", set_, "1048576"),
            ("log.retention.ms", set_, "0"),
            ("log.roll.jitter.ms", set_, "-1"),
            ("max.connections.per.ip", set_, "0"),
            ("max.connections.per.ip.overrides", set_, "127.0.0.1"),
            ("group.consumer.assignment.interval.ms", set_, "20000"),
            ("remote.log.reader.threads", set_, "1"),
            ("listener.name.plaintext.max.connections", set_, "0"),
            ("leader.replication.throttled.rate", set_, "-1"),
            ("leader.replication.throttled.rate", set_, "1000"),
        )
    ]
    changes.append((BROKER, str(own), [("log.retention.ms", set_, "1"), ("log.retention.ms", set_, "2")]))
    for kind, name, configs in changes:
        resource = incremental.AlterConfigsResource(
            kind, name, [incremental.AlterableConfig(key, operation, value) for key, operation, value in configs]
        )
        yield IncrementalAlterConfigsRequest([resource], validate_only=True), 1
        if configs[0][1] == set_:
            old = legacy.AlterConfigsResource(
                kind, name, [legacy.AlterableConfig(key, value) for key, _, value in configs]
            )
            yield AlterConfigsRequest([old], validate_only=True), 2
