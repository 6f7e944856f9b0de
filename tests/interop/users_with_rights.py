"""Users with different rights, who send a request to every API of a node, and what of the answers is compared."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from every_api import OWN_ID, TABLE, request_of
from secure_cluster import PLAIN_MODULE, login

from falkirk.client.config import ClientConfig
from falkirk.client.connection import NodeConnection
from falkirk.client.errors import ConnectionFailedError
from falkirk.metadata.acls.acl_types import (
    CLUSTER_NAME,
    WILDCARD,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from falkirk.metadata.requests.request_context import Principal, RequestContext
from falkirk.node.connections.envelopes import client_envelope
from falkirk.node.handlers.parts.cluster_authorization import CLUSTER_AUTHORIZATION_FAILED
from falkirk.protocol import codec
from falkirk.protocol.connection import request_bytes
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.messages import REQUESTS, EnvelopeResponse, message_class
from falkirk.protocol.messages.create_acls_request import AclCreation
from falkirk.versions.api_support import Listener
from falkirk.versions.release import Release
from falkirk.versions.supported_range import SupportedRange
from falkirk.versions.unbuilt import served_ranges

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.protocol.schema import WireMessage

ROOT, NODE = "root", "node"
_MAY_ACT = {"allowed", "half-denied", "operator", "broker", ROOT}
_PASSWORD = "a-secret"  # noqa: S105 - a test's
_NAMES = {ResourceType.TOPIC: "secret", ResourceType.GROUP: "g", ResourceType.TRANSACTIONAL_ID: "t"}
_GONE = "secret-gone"
_CONFIGS = [
    {"resource_type": kind, "resource_name": name}
    for kind, name in ((2, "secret"), (4, ""), (4, "1"), (16, "watch"), (32, "g"))
]
# Nothing is changed that later requests are about, and resources of all types are named.
_HARMLESS: dict[str, dict[str, Any]] = {
    "DeleteTopics": {"topic_names": (_GONE,), "topics": [{"name": _GONE}]},
    "CreateTopics": TABLE["CreateTopics"][0] | {"validate_only": True},
    "CreatePartitions": TABLE["CreatePartitions"][0] | {"validate_only": True},
    "AlterPartition": {"broker_id": 1, "topics": [{"topic_id": OWN_ID, "partitions": [{"partition_index": 0}]}]},
    **{api: {"resources": _CONFIGS} for api in ("DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs")},
    "DeleteAcls": {
        "filters": [
            {
                "resource_type_filter": 2,
                "pattern_type_filter": 3,
                "principal_filter": "User:x",
                "operation": 1,
                "permission_type": 1,
            }
        ]
    },
}
# These are about the connection, not about rights.
_OTHERS = {"SaslHandshake", "SaslAuthenticate", "ApiVersions", "Envelope"}
# What real controllers answer with UNKNOWN_SERVER_ERROR (compatibility.md).
_BROKEN_ON_CONTROLLERS = {"DescribeDelegationToken", "DescribeUserScramCredentials"}
# Who may send these would change the cluster, or be answered by an error of the request.
_NOT_FOR = {
    "ControllerRegistration": _MAY_ACT,
    "FetchSnapshot": _MAY_ACT,
}
_FACTS = ("error_code", "error_message", "authorized_operations", "name", "topic", "group_id", "principal")


def _all_kinds(operation: AclOperation, *, allowed: bool = True) -> list[AclCreation]:
    kinds = [kind for kind in ResourceType if kind not in {ResourceType.UNKNOWN, ResourceType.ANY}]
    names = {ResourceType.CLUSTER: CLUSTER_NAME}
    return [_acl(kind, names.get(kind, WILDCARD), operation, allowed=allowed) for kind in kinds]


def _acl(
    kind: ResourceType,
    name: str,
    operation: AclOperation = AclOperation.ALL,
    *,
    allowed: bool = True,
    pattern: PatternType = PatternType.LITERAL,
) -> AclCreation:
    permission = AclPermissionType.ALLOW if allowed else AclPermissionType.DENY
    return AclCreation(kind, name, pattern, "", "*", operation, permission)


RIGHTS: dict[str, list[AclCreation]] = {
    "nobody": [],
    "allowed": _all_kinds(AclOperation.ALL),
    "denied": [
        *_all_kinds(AclOperation.ALL),
        *(_acl(kind, name, allowed=False) for kind, name in _NAMES.items()),
        _acl(ResourceType.TOPIC, _GONE, allowed=False),
        _acl(ResourceType.CLUSTER, CLUSTER_NAME, allowed=False),
    ],
    # A DENY implies nothing: DESCRIBE is left.
    "half-denied": [
        *_all_kinds(AclOperation.ALL),
        *_all_kinds(AclOperation.READ, allowed=False),
        *_all_kinds(AclOperation.ALTER, allowed=False),
    ],
    "prefixed": [_acl(kind, name[:3], pattern=PatternType.PREFIXED) for kind, name in _NAMES.items()],
    "reader": [_acl(kind, name, AclOperation.READ) for kind, name in _NAMES.items()],
    "writer": [_acl(kind, name, AclOperation.WRITE) for kind, name in _NAMES.items()],
    "describer": _all_kinds(AclOperation.DESCRIBE),
    "operator": [_acl(ResourceType.CLUSTER, CLUSTER_NAME)],
    "broker": [_acl(ResourceType.CLUSTER, CLUSTER_NAME, AclOperation.CLUSTER_ACTION)],
    ROOT: [],
}


def settings() -> dict[str, str]:
    """Return the properties of a node on which all of them log in with PLAIN, and ROOT is a super user."""
    users = " ".join(f'user_{name}="{_PASSWORD}"' for name in [NODE, *RIGHTS])
    jaas = f'{PLAIN_MODULE} required username="{NODE}" password="{_PASSWORD}" {users};'
    return {
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT,SCRAM:SASL_PLAINTEXT",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": jaas,
        "listener.name.scram.plain.sasl.jaas.config": jaas,
        "super.users": f"User:ANONYMOUS;User:{NODE};User:{ROOT}",
        "delegation.token.secret.key": "a key of all nodes",
        # Requests of others are in the way of none.
        "connections.max.idle.ms": "3600000",
    }


def acls() -> list[AclCreation]:
    """Return the ACLs of all users."""
    return [msgspec.structs.replace(acl, principal=f"User:{user}") for user, rights in RIGHTS.items() for acl in rights]


@dataclass(frozen=True)
class Asked:
    """A request to one API as one user."""

    user: str
    api: str
    version: int

    def __str__(self) -> str:
        return f"{self.user}: {self.api} v{self.version}"


def requests(release: str, listener: Listener, *, every_version: bool) -> list[Asked]:
    """Return what all users ask on a listener, in the newest version or in all."""
    ranges = served_ranges(Release.parse(release), listener)
    asked = [
        Asked(user, api, version)
        for user in RIGHTS
        for key, served in sorted(ranges.items())
        if _is_compared(user, api := REQUESTS[key].removesuffix("Request"), listener)
        for version in (range(served.lowest, served.highest + 1) if every_version else [served.highest])
    ]
    # A broker learns a moment later of tokens, which others describe.
    return sorted(asked, key=lambda each: each.api == "CreateDelegationToken")


def _is_compared(user: str, api: str, listener: Listener) -> bool:
    if api in _OTHERS or user in _NOT_FOR.get(api, ()):
        return False
    return not (listener is Listener.CONTROLLER and api in _BROKEN_ON_CONTROLLERS)


def enveloped(release: str) -> list[Asked]:
    """Return what all users ask by way of a broker that forwards it."""
    apis = Release.parse(release).apis
    return [
        asked
        for asked in requests(release, Listener.CONTROLLER, every_version=False)
        if apis[message_class(f"{asked.api}Request").SCHEMA.info.key].forwardable
    ]


def answers(port: int, asked: list[Asked], topic_ids: dict[str, bytes]) -> list[Any]:  # Any: JSON values
    """Send requests, each over a connection of its user; return the facts of the answers."""
    return asyncio.run(_answers(port, asked, lambda each: _request(each, topic_ids)))


def answers_inside(port: int, asked: list[Asked], topic_ids: dict[str, bytes]) -> list[Any]:  # Any: same
    """Send requests in envelopes, as a broker does that all the users are connected to."""

    def wrapped(each: Asked) -> tuple[WireMessage, int]:
        message, version = _request(each, topic_ids)
        frame = request_bytes(message, version, correlation_id=7, client_id="someone")
        key = message.SCHEMA.info.key
        assert key is not None
        context = RequestContext(api_key=key, api_version=version, principal=Principal("User", each.user))
        return client_envelope(frame, context), 0

    return asyncio.run(_answers(port, asked, wrapped, user=NODE))


async def _answers(
    port: int, asked: list[Asked], request: Callable[[Asked], tuple[WireMessage, int]], user: str | None = None
) -> list[Any]:
    connections: dict[str, NodeConnection] = {}
    found: list[Any] = []
    try:
        for each in asked:
            name = user or each.user
            if name not in connections:
                connections[name] = NodeConnection(Endpoint("127.0.0.1", port), _config(name))
            message, version = request(each)
            try:
                answer = await connections[name].request(message, wanted=SupportedRange(version, version))
            except ConnectionFailedError as error:
                found.append(f"closed: {type(error).__name__}")
                continue
            if isinstance(answer, EnvelopeResponse) and answer.response_data is not None:
                found.append([answer.error_code, _facts(_inside(each, answer.response_data))])
            else:
                found.append(_facts(answer))
    finally:
        for connection in connections.values():
            await connection.close()
    return found


def _inside(asked: Asked, data: bytes) -> WireMessage:
    cls = message_class(f"{asked.api}Response")
    key = cls.SCHEMA.info.key
    assert key is not None
    header = Release.parse("4.3.1").apis[key].response_header_version(asked.version)
    return codec.decode(cls, asked.version, data[5 if header else 4 :])


def _config(user: str) -> ClientConfig:
    return ClientConfig.from_properties(login("PLAIN", user, _PASSWORD))


def _request(asked: Asked, topic_ids: dict[str, bytes]) -> tuple[WireMessage, int]:
    fields = _HARMLESS.get(asked.api) or TABLE[asked.api][0]
    # Markers of one producer are one to Kafka.
    both = (
        fields
        if asked.api == "WriteTxnMarkers"
        else {name: _with_another(value, topic_ids) for name, value in fields.items()}
    )
    return request_of(asked.api, asked.version, {"timeout_ms": 30_000, **both}), asked.version


def _with_another(value: Any, topic_ids: dict[str, bytes]) -> Any:  # Any: a field's value
    """Return the value; lists that name what ACLs are about name another topic and another group besides."""
    if not isinstance(value, list | tuple) or not value:
        return value
    others = [other for each in value if (other := _renamed(each, topic_ids, "other")) != each]
    return [*(_renamed(each, topic_ids, "secret") for each in value), *others]


def _renamed(value: Any, topic_ids: dict[str, bytes], topic: str) -> Any:  # Any: same
    if isinstance(value, dict):
        renamed = {name: _renamed(each, topic_ids, topic) for name, each in value.items()}
        return renamed | {"topic_id": topic_ids[topic]} if "topic_id" in value else renamed
    if isinstance(value, list | tuple):
        return [_renamed(each, topic_ids, topic) for each in value]
    if topic == "other" and isinstance(value, str):
        return {"secret": "other", "g": "h", "t": "u"}.get(value, value)
    return value


def _facts(value: Any) -> Any:  # Any: same
    if isinstance(value, msgspec.Struct):
        names = [name for name in value.__struct_fields__ if name != "unknown_tagged_fields"]
        fields = {name: _facts(getattr(value, name)) for name in names}
        # Of a created topic the configs are compared elsewhere.
        return {
            name: each
            for name, each in fields.items()
            if (isinstance(each, list | dict) and name != "configs") or name.endswith(_FACTS)
        }
    if isinstance(value, list | tuple):
        parts = [_facts(each) for each in value]
        return sorted(parts, key=lambda part: json.dumps(part, sort_keys=True))
    if isinstance(value, str) and value.startswith("Request Request("):
        # With the addresses of Java's objects.
        return CLUSTER_AUTHORIZATION_FAILED
    if isinstance(value, str):
        return re.sub(r'cluster id "[^"]+"', "cluster id", value)
    return value.hex() if isinstance(value, bytes) else value
