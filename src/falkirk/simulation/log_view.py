"""What checkers look at of a broker's partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.simulation.workload.data_history import PartitionKey


class LogView(Protocol):
    """The log of one partition on one broker."""

    @property
    def key(self) -> PartitionKey:
        """Which partition it is of."""
        ...

    @property
    def log_start_offset(self) -> int:
        """First offset that may be read."""
        ...

    @property
    def log_end_offset(self) -> int:
        """Offset of the next record."""
        ...

    @property
    def high_watermark(self) -> int:
        """What is before is committed, as far as the broker knows."""
        ...

    @property
    def led_epoch(self) -> int | None:
        """In which epoch the broker leads the partition; None if it does not."""
        ...

    @property
    def epochs(self) -> Sequence[OffsetAndEpoch]:
        """Where leader epochs begin, as the broker has it by itself."""
        ...

    def batches(self, from_offset: int, to_offset: int) -> Iterator[RecordBatch]:
        """Give the batches between, from the one that holds `from_offset` on."""
        ...


class BrokerView(Protocol):
    """A broker that runs."""

    @property
    def node_id(self) -> int:
        """Its id."""
        ...

    @property
    def logs(self) -> Sequence[LogView]:
        """Its logs, but those that are on their way to another log directory."""
        ...
