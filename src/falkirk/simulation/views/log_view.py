"""The parts of a broker's partitions that checkers read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.simulation.history.data_history import PartitionKey


class LogView(Protocol):
    """The log of one partition on one broker."""

    @property
    def key(self) -> PartitionKey:
        """The partition."""
        ...

    @property
    def log_start_offset(self) -> int:
        """The first readable offset."""
        ...

    @property
    def log_end_offset(self) -> int:
        """The offset of the next record."""
        ...

    @property
    def high_watermark(self) -> int:
        """The high watermark as the broker knows it."""
        ...

    @property
    def last_stable_offset(self) -> int:
        """Where READ_COMMITTED ends."""
        ...

    @property
    def led_epoch(self) -> int | None:
        """The epoch in which the broker leads the partition; None if it does not."""
        ...

    @property
    def epochs(self) -> Sequence[OffsetAndEpoch]:
        """The start offsets of leader epochs in the broker's own cache."""
        ...

    def batches(self, from_offset: int, to_offset: int) -> Iterator[RecordBatch]:
        """Return the batches in the range, from the one that contains `from_offset`."""
        ...


class BrokerView(Protocol):
    """A running broker."""

    @property
    def node_id(self) -> int:
        """The broker's id."""
        ...

    @property
    def logs(self) -> Sequence[LogView]:
        """The broker's logs, without those on their way to another log directory."""
        ...
