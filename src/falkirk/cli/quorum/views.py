"""The quorum in the form of kafka-metadata-quorum 4.3.1, and by fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.uuid import uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from falkirk.client.quorum_description import ReplicaState
    from falkirk.operations.quorum_status import QuorumStatus
    from falkirk.operations.voter_changes import QuorumMember
    from falkirk.protocol.endpoint import Endpoint

_COLUMNS: Final = (
    "NodeId",
    "DirectoryId",
    "LogEndOffset",
    "Lag",
    "LastFetchTimestamp",
    "LastCaughtUpTimestamp",
    "Status",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumView:
    """A `Result`: the status of the quorum, or with `replication` a table of its replicas.

    Differs from Kafka: `human_readable` times are relative to the leader's clock, whose times they are, not to ours.
    """

    status: QuorumStatus
    replication: bool = False
    human_readable: bool = False

    def text(self) -> Iterator[str]:
        """Yield the lines of `describe --status` or `--replication`."""
        yield from (self._table() if self.replication else self._summary())

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return both by fields; times in ms, null where there is none, directory ids null where they are unknown."""
        status = self.status
        return {
            "cluster_id": status.cluster_id,
            "kraft_version": status.kraft_version,
            "leader_id": status.quorum.leader_id,
            "leader_epoch": status.quorum.leader_epoch,
            "high_watermark": status.quorum.high_watermark,
            "max_follower_lag": status.max_follower_lag,
            "max_follower_lag_time_ms": status.max_follower_lag_time_ms,
            "voters": [self._document(each) for each in status.quorum.voter_states],
            "observers": [self._document(each) for each in status.quorum.observer_states],
            "ghosts": [ghost.document() for ghost in status.ghosts],
        }

    def _summary(self) -> Iterator[str]:
        status, quorum = self.status, self.status.quorum
        values = {
            "ClusterId": status.cluster_id,
            "LeaderId": quorum.leader_id,
            "LeaderEpoch": quorum.leader_epoch,
            "HighWatermark": quorum.high_watermark,
            "MaxFollowerLag": status.max_follower_lag,
            "MaxFollowerLagTimeMs": status.max_follower_lag_time_ms,
            "CurrentVoters": _members(quorum.voter_states, quorum.voter_listeners),
            "CurrentObservers": _members(quorum.observer_states, {}),
        }
        for name, value in values.items():
            yield f"{name + ':':<23} {value}"

    def _table(self) -> Iterator[str]:
        quorum, leader = self.status.quorum, self.status.leader
        followers = [each for each in quorum.voter_states if each is not leader]
        observers = [each for each in quorum.observer_states if each is not leader]
        rows = [
            _COLUMNS,
            self._row(leader, "Leader"),
            *(self._row(each, "Follower") for each in followers),
            *(self._row(each, "Observer") for each in observers),
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            yield "".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True))

    def _row(self, state: ReplicaState, kind: str) -> tuple[str, ...]:
        leader = self.status.leader
        return (
            str(state.node_id),
            uuid_text(state.directory_id),
            str(state.log_end_offset),
            str(leader.log_end_offset - state.log_end_offset),
            self._time(state.last_fetch_timestamp),
            self._time(state.last_caught_up_timestamp),
            kind,
        )

    def _time(self, timestamp: int | None) -> str:
        now = self.status.leader.last_fetch_timestamp
        if timestamp is None:
            return "-1"
        return str(timestamp) if not self.human_readable or now is None else f"{now - timestamp} ms ago"

    def _document(self, state: ReplicaState) -> dict[str, Any]:  # Any: a JSON document
        listeners = self.status.quorum.voter_listeners.get(state.node_id, {})
        return {
            "node_id": state.node_id,
            "directory_id": None if state.directory_id == ZERO_UUID else uuid_text(state.directory_id),
            "endpoints": {name: str(endpoint) for name, endpoint in listeners.items()},
            "log_end_offset": state.log_end_offset,
            "lag": self.status.leader.log_end_offset - state.log_end_offset,
            "last_fetch_timestamp": state.last_fetch_timestamp,
            "last_caught_up_timestamp": state.last_caught_up_timestamp,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterChangeView:
    """A `Result`: a voter was added or removed, or would be."""

    member: QuorumMember
    is_addition: bool
    is_dry_run: bool

    def text(self) -> Iterator[str]:
        """Yield kafka-metadata-quorum's line, its two blanks included."""
        member, directory = self.member, uuid_text(self.member.directory_id)
        if self.is_addition:
            verb = "DRY RUN of adding" if self.is_dry_run else "Added"
            endpoints = member.endpoints_text
            yield f"{verb} controller {member.node_id} with directory id {directory} and endpoints: {endpoints}"
        else:
            verb = "DRY RUN of removing " if self.is_dry_run else "Removed "
            yield f"{verb} KRaft controller {member.node_id} with directory id {directory}"

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the same by fields."""
        return {
            "change": "add" if self.is_addition else "remove",
            "dry_run": self.is_dry_run,
            "node_id": self.member.node_id,
            "directory_id": uuid_text(self.member.directory_id),
            "endpoints": {name: str(endpoint) for name, endpoint in self.member.listeners.items()},
        }


def _members(states: Sequence[ReplicaState], listeners: Mapping[int, Mapping[str, Endpoint]]) -> str:
    return f"[{', '.join(_member(each, listeners.get(each.node_id, {})) for each in states)}]"


def _member(state: ReplicaState, listeners: Mapping[str, Endpoint]) -> str:
    parts = [f'"id": {state.node_id}']
    if state.directory_id != ZERO_UUID:
        parts.append(f'"directoryId": "{uuid_text(state.directory_id)}"')
    if listeners:
        endpoints = ", ".join(f'"{name}://{endpoint}"' for name, endpoint in listeners.items())
        parts.append(f'"endpoints": [{endpoints}]')
    return "{" + ", ".join(parts) + "}"
