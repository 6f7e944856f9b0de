"""The voters of the quorum: an immutable set, and the rules by which it changes (KIP-853)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.messages.voters_record import Endpoint as VoterEndpoint
from falkirk.protocol.messages.voters_record import KRaftVersionFeature, Voter, VotersRecord
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.uuid import uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class ReplicaKey(NamedTuple):
    """A replica on one disk. The directory id is zero where it is unknown (kraft.version 0, older requests)."""

    node_id: int
    directory_id: bytes = ZERO_UUID

    def __str__(self) -> str:
        """Return `3` or `3@<directory id>`."""
        return str(self.node_id) if self.directory_id == ZERO_UUID else f"{self.node_id}@{uuid_text(self.directory_id)}"


class KRaftVersionRange(NamedTuple):
    """The levels of kraft.version that a voter supports."""

    min_version: int = 0
    max_version: int = 0

    def __contains__(self, version: object) -> bool:
        """Return whether a level is within."""
        return isinstance(version, int) and self.min_version <= version <= self.max_version


_LEVEL_0 = KRaftVersionRange()


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterNode:
    """One voter: key, endpoints by listener name (in capitals as Kafka writes them), and supported kraft.versions."""

    key: ReplicaKey
    listeners: "Mapping[str, Endpoint]" = field(default_factory=dict)
    kraft_versions: KRaftVersionRange = _LEVEL_0

    def is_voter(self, key: ReplicaKey) -> bool:
        """Return whether `key` is this voter. A voter without a directory id is known by its node id alone."""
        return self.key.node_id == key.node_id and self.key.directory_id in (ZERO_UUID, key.directory_id)


@dataclass(frozen=True, slots=True)
class VoterSet:
    """The voters by node id. Those of the static configuration have no directory ids."""

    nodes: "Mapping[int, VoterNode]" = field(default_factory=dict)

    @classmethod
    def of_static(cls, voters: Mapping[int, Endpoint], listener: str) -> VoterSet:
        """Make the set of `controller.quorum.voters`, all with the same listener."""
        return cls({
            node_id: VoterNode(key=ReplicaKey(node_id), listeners={listener: endpoint})
            for node_id, endpoint in voters.items()
        })  # fmt: skip

    @classmethod
    def of_record(cls, record: VotersRecord) -> VoterSet:
        """Make the set of a record in the log or a snapshot."""
        return cls({voter.voter_id: _node(voter) for voter in record.voters})

    def record(self) -> VotersRecord:
        """Return the record for the log; Kafka's own order of voters is that of a hash map of small numbers."""
        return VotersRecord(voters=[_voter(self.nodes[node_id]) for node_id in sorted(self.nodes)])

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[VoterNode]:
        return iter(self.nodes.values())

    @property
    def ids(self) -> tuple[int, ...]:
        """Node ids, ascending."""
        return tuple(sorted(self.nodes))

    def is_voter(self, key: ReplicaKey) -> bool:
        """Return whether a replica is one of the voters."""
        node = self.nodes.get(key.node_id)
        return node is not None and node.is_voter(key)

    def is_only_voter(self, key: ReplicaKey) -> bool:
        """Return whether a replica is a majority on its own."""
        return len(self.nodes) == 1 and self.is_voter(key)

    def needs_update(self, node: VoterNode) -> bool:
        """Return whether `node` is a voter whose entry in the set differs."""
        known = self.nodes.get(node.key.node_id)
        return known is not None and known.is_voter(node.key) and known != node

    def with_voter(self, node: VoterNode) -> VoterSet | None:
        """Return the set with a new voter; None if its node id is in use, even with another directory."""
        if node.key.node_id in self.nodes:
            return None
        return VoterSet({**self.nodes, node.key.node_id: node})

    def without(self, key: ReplicaKey) -> VoterSet | None:
        """Return the set without a voter; None if it is not in the set with this directory, or is the last one."""
        known = self.nodes.get(key.node_id)
        if known is None or known.key != key or len(self.nodes) == 1:
            return None
        return VoterSet({node_id: node for node_id, node in self.nodes.items() if node_id != key.node_id})

    def updated(self, node: VoterNode) -> VoterSet | None:
        """Return the set with a voter's entry replaced; None if it is not a voter."""
        if not self.is_voter(node.key):
            return None
        return VoterSet({**self.nodes, node.key.node_id: node})

    def __str__(self) -> str:
        """Return `1@..., 2@...`."""
        return ", ".join(str(self.nodes[node_id].key) for node_id in sorted(self.nodes))


def listener_name(name: str) -> str:
    """Return a listener's name in the form in which Kafka compares it."""
    return name.upper()


def _node(voter: Voter) -> VoterNode:
    feature = voter.kraft_version_feature
    return VoterNode(
        key=ReplicaKey(voter.voter_id, voter.voter_directory_id),
        listeners={listener_name(each.name): Endpoint(each.host, each.port) for each in voter.endpoints},
        kraft_versions=KRaftVersionRange(feature.min_supported_version, feature.max_supported_version),
    )


def _voter(node: VoterNode) -> Voter:
    return Voter(
        voter_id=node.key.node_id,
        voter_directory_id=node.key.directory_id,
        endpoints=[
            VoterEndpoint(name=name, host=endpoint.host, port=endpoint.port)
            for name, endpoint in node.listeners.items()
        ],
        kraft_version_feature=KRaftVersionFeature(
            min_supported_version=node.kraft_versions.min_version, max_supported_version=node.kraft_versions.max_version
        ),
    )
