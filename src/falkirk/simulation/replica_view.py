"""What checkers look at: one controller's replica of the metadata log, as it is after a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.config import NodeConfig
    from falkirk.protocol.level_change import LevelChange
    from falkirk.protocol.messages import VotersRecord
    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.raft.output import LeaderAndEpoch
    from falkirk.raft.voter_set import VoterNode
    from falkirk.storage.snapshot_file import Snapshot


class RaftView(Protocol):
    """As much of `raft.replica.RaftReplica` as is checked."""

    @property
    def leader(self) -> LeaderAndEpoch:
        """Who leads, as far as the replica knows."""
        ...

    @property
    def high_watermark(self) -> int | None:
        """Everything below is committed; None: not known yet."""
        ...

    @property
    def is_leader(self) -> bool:
        """Say whether it leads."""
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
        """Give kraft.version and voters as they were at an offset."""
        ...


class LogView(Protocol):
    """As much of `storage.metadata_log.MetadataLog` as is checked: what is on disk."""

    @property
    def start_offset(self) -> int:
        """First offset."""
        ...

    @property
    def end_offset(self) -> int:
        """Offset of the next record."""
        ...

    @property
    def latest_snapshot(self) -> OffsetAndEpoch | None:
        """The newest complete snapshot."""
        ...

    @property
    def lowerings(self) -> Sequence[LevelChange]:
        """The batches that the log still has that lower metadata.version."""
        ...

    def load_snapshot(self, snapshot: OffsetAndEpoch) -> Snapshot:
        """Read a snapshot."""
        ...

    def batches(self, from_offset: int, to_offset: int) -> Iterator[RecordBatch]:
        """Give the batches between."""
        ...


class ReplicaView(Protocol):
    """As much of `node.node.Node` as is checked."""

    @property
    def node_id(self) -> int:
        """Its id."""
        ...

    @property
    def config(self) -> NodeConfig:
        """What it was told when it started; this tells the release that it runs as."""
        ...

    @property
    def raft(self) -> RaftView:
        """Its replica."""
        ...

    @property
    def log(self) -> LogView:
        """Its log."""
        ...

    @property
    def image(self) -> MetadataImage:
        """The image that it last published."""
        ...

    @property
    def is_active_controller(self) -> bool:
        """Say whether it answers as the active controller."""
        ...

    @property
    def decided_image(self) -> MetadataImage | None:
        """What it decides on as the active controller; None if it is not."""
        ...
