"""The parts of a node's metadata replica that checkers read after each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.config.node_config import NodeConfig
    from falkirk.node.controller.standby_indexes import StandbyIndexes
    from falkirk.protocol.level_change import LevelChange
    from falkirk.protocol.messages import VotersRecord
    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.raft.output import LeaderAndEpoch
    from falkirk.raft.voter_set import VoterNode
    from falkirk.storage.snapshot_file import Snapshot


class RaftView(Protocol):
    """The part of `raft.replica.RaftReplica` that is checked."""

    @property
    def leader(self) -> LeaderAndEpoch:
        """The leader and epoch, as the replica knows them."""
        ...

    @property
    def high_watermark(self) -> int | None:
        """The high watermark; None while unknown."""
        ...

    @property
    def is_leader(self) -> bool:
        """True if the replica leads."""
        ...

    @property
    def voters(self) -> Mapping[int, VoterNode]:
        """The voters in force, by node id."""
        ...

    @property
    def kraft_version(self) -> int:
        """The level of kraft.version in force; from 1 on voters are dynamic."""
        ...

    def voters_before(self, end_offset: int) -> tuple[int, VotersRecord | None]:
        """Return kraft.version and voters in force at an offset."""
        ...


class LogView(Protocol):
    """The part of `storage.metadata_log.MetadataLog` that is checked: what is on disk."""

    @property
    def start_offset(self) -> int:
        """The log start offset."""
        ...

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        ...

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record, or of the snapshot that the log follows."""
        ...

    @property
    def latest_snapshot(self) -> OffsetAndEpoch | None:
        """The newest complete snapshot."""
        ...

    @property
    def lowerings(self) -> Sequence[LevelChange]:
        """The batches in the log that lower metadata.version."""
        ...

    def load_snapshot(self, snapshot: OffsetAndEpoch) -> Snapshot:
        """Read a snapshot."""
        ...

    def batches(self, from_offset: int, to_offset: int) -> Iterator[RecordBatch]:
        """Return the batches in the range."""
        ...


class ReplicaView(Protocol):
    """The part of `node.node.Node` that is checked."""

    @property
    def node_id(self) -> int:
        """The node's id."""
        ...

    @property
    def config(self) -> NodeConfig:
        """The configuration at the start, which includes the release that the node runs."""
        ...

    @property
    def raft(self) -> RaftView:
        """The node's replica."""
        ...

    @property
    def log(self) -> LogView:
        """The node's metadata log."""
        ...

    @property
    def image(self) -> MetadataImage:
        """The last published image."""
        ...

    @property
    def is_active_controller(self) -> bool:
        """True if the node answers as the active controller."""
        ...

    @property
    def decided_image(self) -> MetadataImage | None:
        """The uncommitted image on which the active controller decides; None if the node is not active."""
        ...

    @property
    def standby(self) -> StandbyIndexes:
        """What the node has indexed of its image, if it is a controller."""
        ...
