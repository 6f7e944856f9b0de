"""The partitions of a broker node as checkers read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.protocol.record_batch import read_batches
from falkirk.simulation.history.data_history import PartitionKey
from falkirk.storage.log.read import FetchIsolation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.node.broker.replication.hosted_partition import HostedPartition
    from falkirk.node.broker.replication.replica_manager import ReplicaManager
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.storage.log.unified_log import UnifiedLog

_READ_BYTES: int = 1 << 20


class NodeLog:
    """Implements `LogView` for a partition that has a log."""

    def __init__(self, partition: HostedPartition, log: UnifiedLog) -> None:
        self._partition = partition
        self._log = log
        self.key = PartitionKey(partition.topic_id, partition.topic_partition.partition)

    @property
    def log_start_offset(self) -> int:
        """The first readable offset."""
        return self._log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        """The offset of the next record."""
        return self._log.log_end_offset

    @property
    def high_watermark(self) -> int:
        """The high watermark as the broker knows it."""
        return self._log.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """Where READ_COMMITTED ends."""
        return self._log.last_stable_offset

    @property
    def led_epoch(self) -> int | None:
        """The epoch in which the broker leads; None if it does not."""
        return self._partition.leader_epoch if self._partition.is_leader else None

    @property
    def epochs(self) -> Sequence[OffsetAndEpoch]:
        """The start offsets of leader epochs."""
        return [OffsetAndEpoch(entry.start_offset, entry.epoch) for entry in self._log.leader_epochs.entries]

    def batches(self, from_offset: int, to_offset: int) -> Iterator[RecordBatch]:
        """Read batches from the files, as for a follower."""
        offset = max(from_offset, self._log.log_start_offset)
        while offset < to_offset:
            found = self._log.read(offset, _READ_BYTES, FetchIsolation.LOG_END, is_one_batch_needed=True)
            before = offset
            for batch in read_batches(found.records):
                if batch.base_offset >= to_offset:
                    return
                yield batch
                offset = batch.end_offset
            if offset == before:
                return


class NodeLogs:
    """Implements `BrokerView` for a broker node's replicas."""

    def __init__(self, node_id: int, replicas: ReplicaManager) -> None:
        self.node_id = node_id
        self._replicas = replicas
        self._known: dict[int, tuple[UnifiedLog, NodeLog]] = {}

    @property
    def logs(self) -> Sequence[NodeLog]:
        """The logs that are online."""
        logs = []
        for partition in self._replicas.partitions:
            log = partition.log
            if log is not None:
                known = self._known.get(id(partition))
                if known is None or known[0] is not log:
                    known = self._known[id(partition)] = log, NodeLog(partition, log)
                logs.append(known[1])
        return logs
