"""The response to a request that failed as a whole, in the form that clients of each API expect.

Where the response has an error code of its own it is there. Where it has not, or clients look elsewhere, every topic,
partition, group or resource that was asked for comes back with the error. Source: Kafka's `getErrorResponse`.

    error_response(request, 7, ErrorCode.NOT_CONTROLLER)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import RESPONSES, AlterUserScramCredentialsRequest, message_class

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from falkirk.protocol.schema import Field, WireMessage, WireStruct

_RESOURCES: Final = "resource_type resource_name"
_NO_NODE: Final = {"node_id": -1, "port": -1}

# Fields of the whole whose value is not the schema's default.
_DEFAULTS: Final[Mapping[int, Mapping[str, Any]]] = {
    10: _NO_NODE,
    11: {"protocol_name": None},
    22: {"producer_epoch": -1},
    38: {
        "principal_type": "User",
        "principal_name": "ANONYMOUS",
        "token_requester_principal_type": "User",
        "token_requester_principal_name": "ANONYMOUS",
        "issue_timestamp_ms": -1,
        "expiry_timestamp_ms": -1,
        "max_timestamp_ms": -1,
    },
    48: {"entries": None},
}

# Fields of the request that come back as they are.
_KEPT: Final[Mapping[int, tuple[str, ...]]] = {1: ("session_id",)}


def error_response(request: WireMessage, api_version: int, error_code: int, message: str | None = None) -> WireMessage:
    """Return the response of this version in which everything that was requested failed.

    `message` is set wherever the version has a field for it. DescribeLogDirs 0 to 2 have no error: the result is empty.
    """
    key = request.SCHEMA.info.key
    assert key is not None, "a request has a key"
    cls = message_class(RESPONSES[key])
    errors = {"error_code": error_code, "partition_error_code": error_code, "error_message": message}
    response = cls(**_filled(cls, api_version, {**_DEFAULTS.get(key, {}), **errors}))
    for echo in _ECHOES.get(key, ()):
        if echo.versions[0] <= api_version <= echo.versions[1]:
            setattr(response, echo.answered, echo.answers(request, cls, api_version, errors))
    for attribute in _KEPT.get(key, ()):
        setattr(response, attribute, getattr(request, attribute))
    return response


@dataclass(frozen=True, slots=True)
class _Echo:
    """What was asked for comes back, each with the error.

    `requested` is an array of the request, `outer.inner` all inner arrays as one; `answered` the array of the response.
    `keys` says what of an element comes back: `name`, or `partition:partition_index` where it is called otherwise;
    `:name` where the elements are plain values.
    """

    requested: str
    answered: str
    keys: str = ""
    inner: _Echo | None = None
    defaults: "Mapping[str, Any]" = field(default_factory=dict)  # Any: of the field's own type
    versions: tuple[int, int] = (0, 99)

    def answers(
        self, request: WireStruct, response: type[WireStruct], version: int, errors: Mapping[str, Any]
    ) -> list[WireStruct]:
        cls = _element(response, self.answered)
        filled = _filled(cls, version, {**self.defaults, **errors})
        keys = [
            (source, target or source, _is_nullable(cls, target or source, version))
            for source, _, target in (word.partition(":") for word in self.keys.split())
        ]

        def answer(element: Any) -> WireStruct:
            made = cls(**filled)
            for source, target, is_nullable in keys:
                value = getattr(element, source) if source else element
                if value is not None or is_nullable:
                    setattr(made, target, value)
            if self.inner is not None:
                setattr(made, self.inner.answered, self.inner.answers(element, cls, version, errors))
            return made

        return mapped_array(answer, _requested(request, self.requested))


@dataclass(frozen=True, slots=True)
class _Users:
    """AlterUserScramCredentials: each user once, whether a credential was to go or to come."""

    answered: str = "results"
    versions: tuple[int, int] = (0, 99)

    def answers(
        self, request: WireStruct, response: type[WireStruct], version: int, errors: Mapping[str, Any]
    ) -> list[WireStruct]:
        assert isinstance(request, AlterUserScramCredentialsRequest)
        cls = _element(response, self.answered)
        filled = _filled(cls, version, errors)
        names = {each.name for each in request.deletions} | {each.name for each in request.upsertions}
        return mapped_array(lambda name: cls(user=name, **filled), sorted(names))


def _requested(request: WireStruct, path: str) -> Collection[Any]:  # Any: structs or plain values
    outer, _, inner = path.partition(".")
    elements: Collection[Any] = getattr(request, outer) or ()
    return [each for element in elements for each in getattr(element, inner)] if inner else elements


def _filled(cls: type[WireStruct], version: int, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of those fields that the version has. No message is null where it may be, else empty."""
    fields = _fields(cls)
    return {
        attribute: "" if value is None and version not in at.nullable else value
        for attribute, value in values.items()
        if (at := fields.get(attribute)) is not None and version in at.versions
    }


def _is_nullable(cls: type[WireStruct], attribute: str, version: int) -> bool:
    return version in _fields(cls)[attribute].nullable


@cache
def _fields(cls: type[WireStruct]) -> dict[str, Field]:
    return {each.attribute: each for each in cls.SCHEMA.fields}


def _element(cls: type[WireStruct], attribute: str) -> type[WireStruct]:
    element = _fields(cls)[attribute].type
    assert not isinstance(element, str), "what is answered has an error code"
    return element


def _by_name_and_index(requested: str, answered: str) -> _Echo:
    """Topics with names or ids and bare partition numbers."""
    inner = _Echo(requested, answered, ":partition_index")
    return _Echo("topics", "topics", "name", inner)


def _described_groups(requested: str) -> tuple[_Echo]:
    return (_Echo(requested, "groups", ":group_id"),)


_SHARE_STATE: Final = (_Echo("topics", "results", "topic_id", _Echo("partitions", "partitions", "partition")),)

_ECHOES: Final[Mapping[int, tuple[_Echo | _Users, ...]]] = {
    # Produce
    0: (
        _Echo(
            "topic_data",
            "responses",
            "name topic_id",
            _Echo("partition_data", "partition_responses", "index", defaults={"base_offset": -1}),
        ),
    ),
    # Fetch: from 13 on the code of the whole is enough.
    1: (
        _Echo(
            "topics",
            "responses",
            "topic",
            _Echo(
                "partitions", "partitions", "partition:partition_index", defaults={"high_watermark": -1, "records": b""}
            ),
            versions=(0, 12),
        ),
    ),
    # ListOffsets
    2: (_Echo("topics", "topics", "name", _Echo("partitions", "partitions", "partition_index")),),
    # Metadata
    3: (_Echo("topics", "topics", "name topic_id"),),
    # OffsetCommit
    8: (_Echo("topics", "topics", "name topic_id", _Echo("partitions", "partitions", "partition_index")),),
    # OffsetFetch
    9: (
        _Echo(
            "topics",
            "topics",
            "name",
            _Echo("partition_indexes", "partitions", ":partition_index", defaults={"committed_offset": -1}),
            versions=(0, 1),
        ),
        _Echo("groups", "groups", "group_id", versions=(8, 99)),
    ),
    # FindCoordinator
    10: (_Echo("coordinator_keys", "coordinators", ":key", defaults=_NO_NODE, versions=(4, 99)),),
    # DescribeGroups
    15: _described_groups("groups"),
    # CreateTopics
    19: (_Echo("topics", "topics", "name"),),
    # DeleteTopics
    20: (
        _Echo("topic_names", "responses", ":name", versions=(0, 5)),
        _Echo("topics", "responses", "name topic_id", versions=(6, 99)),
    ),
    # DeleteRecords
    21: (
        _Echo(
            "topics",
            "topics",
            "name",
            _Echo("partitions", "partitions", "partition_index", defaults={"low_watermark": -1}),
        ),
    ),
    # OffsetForLeaderEpoch
    23: (_Echo("topics", "topics", "topic", _Echo("partitions", "partitions", "partition")),),
    # AddPartitionsToTxn
    24: (
        _Echo(
            "v3_and_below_topics",
            "results_by_topic_v3_and_below",
            "name",
            _Echo("partitions", "results_by_partition", ":partition_index"),
            versions=(0, 3),
        ),
    ),
    # WriteTxnMarkers
    27: (
        _Echo(
            "markers",
            "markers",
            "producer_id",
            _Echo("topics", "topics", "name", _Echo("partition_indexes", "partitions", ":partition_index")),
        ),
    ),
    # TxnOffsetCommit
    28: (_Echo("topics", "topics", "name topic_id", _Echo("partitions", "partitions", "partition_index")),),
    # CreateAcls, DeleteAcls: by their order
    30: (_Echo("creations", "results"),),
    31: (_Echo("filters", "filter_results"),),
    # DescribeConfigs, AlterConfigs
    32: (_Echo("resources", "results", _RESOURCES),),
    33: (_Echo("resources", "responses", _RESOURCES),),
    # AlterReplicaLogDirs
    34: (_Echo("dirs.topics", "results", "name:topic_name", _Echo("partitions", "partitions", ":partition_index")),),
    # CreatePartitions
    37: (_Echo("topics", "results", "name"),),
    # DeleteGroups
    42: (_Echo("groups_names", "results", ":group_id"),),
    # ElectLeaders
    43: (
        _Echo(
            "topic_partitions",
            "replica_election_results",
            "topic",
            _Echo("partitions", "partition_result", ":partition_id"),
        ),
    ),
    # IncrementalAlterConfigs
    44: (_Echo("resources", "responses", _RESOURCES),),
    # AlterPartitionReassignments, ListPartitionReassignments
    45: (_Echo("topics", "responses", "name", _Echo("partitions", "partitions", "partition_index")),),
    46: (_by_name_and_index("partition_indexes", "partitions"),),
    # AlterClientQuotas
    49: (_Echo("entries", "entries", "", _Echo("entity", "entity", "entity_type entity_name")),),
    # DescribeUserScramCredentials, AlterUserScramCredentials
    50: (_Echo("users", "results"),),  # without their names, as in Kafka
    51: (_Users(),),
    # DescribeProducers
    61: (_by_name_and_index("partition_indexes", "partitions"),),
    # DescribeTransactions
    65: (_Echo("transactional_ids", "transaction_states", ":transactional_id"),),
    # ConsumerGroupDescribe
    69: _described_groups("group_ids"),
    # DescribeTopicPartitions
    75: (_Echo("topics", "topics", "name"),),
    # ShareGroupDescribe
    77: _described_groups("group_ids"),
    # InitializeShareGroupState and its like
    83: _SHARE_STATE,
    84: _SHARE_STATE,
    85: _SHARE_STATE,
    86: _SHARE_STATE,
    87: _SHARE_STATE,
    # StreamsGroupDescribe
    89: _described_groups("group_ids"),
    # DescribeShareGroupOffsets
    90: (_Echo("groups", "groups", "group_id"),),
}
