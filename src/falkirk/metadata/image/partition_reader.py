"""Reads the PartitionRecords of a snapshot straight into partitions, several times faster than record by record.

Most partitions of a cluster share their replica lists with others, and their directories too. So a record is cut into
two pieces of lists around its leader and epochs, and a piece that was seen before is looked up instead of decoded;
equal lists become one object. Values of another shape, damaged records above all, are left to the codec.
"""

from __future__ import annotations

import functools
import struct
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from falkirk.metadata.image.partition import MIGRATING, RECOVERED, RECOVERING, Partition
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import PartitionRecord
from falkirk.protocol.metadata_record import decode_metadata_record
from falkirk.slices import SliceBudget

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.slices import Slices

PARTITION_FRAMES: Final = {b"\x01\x03\x00": 0, b"\x01\x03\x01": 1, b"\x01\x03\x02": 2}
"""First bytes of the value of a PartitionRecord (frame version, type, record version) -> its record version."""
_FRAMES: Final = {version: frame for frame, version in PARTITION_FRAMES.items()}
TOPIC_ID_AT: Final = 7
"""Position of the topic id in the value."""
HEAD_AT: Final = 23
"""Position of the four arrays before the leader: behind frame, partition number and topic id."""
NUMBERS_BYTES: Final = 12
"""Size of leader, leader epoch and partition epoch, which follow the arrays."""
ONE_BYTE_COUNT_MAX: Final = 0x7F
"""Arrays with at most this count have it in one byte."""

_Ints = tuple[int, ...]
# Replicas, ISR, removing and adding replicas.
_Head = tuple[_Ints, _Ints, _Ints, _Ints]
# Directories, recovery state, eligible leader replicas, last known ones.
_Tail = tuple[tuple[bytes, ...], int, _Ints, _Ints]


class PartitionReader:
    """Reads values of PartitionRecords; keeps decoded pieces for the next ones."""

    def __init__(self) -> None:
        # Bytes of the four arrays before the leader. They say where they end, so a key fits only where it belongs.
        self._heads: dict[bytes, _Head] = _kept()
        # By record version and number of replicas: all bytes behind the epochs.
        self._tails: dict[tuple[int, int], dict[bytes, _Tail]] = {}
        self._lists: dict[_Ints, _Ints] = _kept()
        self._directories: dict[tuple[bytes, ...], tuple[bytes, ...]] = _kept()
        self._uuids: dict[bytes, bytes] = {}
        self._numbers: dict[Any, Any] = {}  # Any: compiled code makes an int anew where it is one by its type

    def read_run(
        self, values: Sequence[bytes], at: int, version: int, topic_id: bytes, partitions: list[Partition]
    ) -> int:
        """Read values from position `at` on as long as they are the next partitions of one topic; append them.

        Returns the position of the first value that is something else, or that the codec has to read, or refuse.
        """
        find_head, number = self._heads.get, self._numbers.setdefault
        next_id, size, count = len(partitions), -1, -1
        of_version = _FRAMES[version]
        try:
            for at in range(at, len(values)):  # noqa: B020, PLR1704 (the position is the answer, whatever ends the loop)
                value = values[at]
                # A value as long as the last one most likely has lists of the same lengths.
                if len(value) != size:
                    size = len(value)
                    unpack = _unpacker(size, head_size(value))
                frame, partition_id, topic, head, leader, leader_epoch, partition_epoch, tail = unpack(value)
                lists = find_head(head)
                if lists is None:
                    unpack = _unpacker(size, head_size(value))
                    frame, partition_id, topic, head, leader, leader_epoch, partition_epoch, tail = unpack(value)
                    lists = find_head(head) or self._learn_head(head)
                if partition_id != next_id or topic != topic_id or frame != of_version:
                    return at
                replicas, isr, removing, adding = lists
                if len(replicas) != count:
                    count = len(replicas)
                    known = self._tails.setdefault((version, count), _kept())
                rest = known.get(tail)
                if rest is None:
                    rest = self._learn_tail(known, tail, value)
                directories, state, elr, last_known_elr = rest
                partitions.append(
                    Partition(
                        replicas,
                        directories,
                        isr,
                        leader,
                        number(leader_epoch, leader_epoch),
                        number(partition_epoch, partition_epoch),
                        state,
                        removing,
                        adding,
                        elr,
                        last_known_elr,
                    )
                )
                next_id += 1
        except (IndexError, ValueError, struct.error):
            return at
        return len(values)

    def forget_slices(self) -> Slices[None]:
        """Forget all pieces, in slices of bounded size: to free 100,000 at once is a long step."""
        budget = SliceBudget()
        kept: list[dict[Any, Any]] = [self._heads, self._lists, self._directories]  # Any: the pieces and their keys
        kept += self._tails.values()
        for pieces in kept:
            while pieces:
                pieces.popitem()
                if budget.spend(1):
                    yield

    def _learn_head(self, head: bytes) -> _Head:
        lists = []
        at = 0
        for _ in range(4):
            count = head[at] - 1
            if not 0 <= count < ONE_BYTE_COUNT_MAX:
                raise ValueError
            ints = struct.unpack_from(f">{count}i", head, at + 1)
            lists.append(self._lists.setdefault(ints, ints))
            at += 1 + 4 * count
        if at != len(head):
            raise ValueError
        replicas, isr, removing, adding = lists
        self._heads[head] = found = (replicas, isr, removing, adding)
        return found

    def _learn_tail(self, known: dict[bytes, _Tail], tail: bytes, value: bytes) -> _Tail:
        try:
            record, _ = decode_metadata_record(value)
        except RemoteProtocolError as error:
            raise ValueError from error
        assert isinstance(record, PartitionRecord), "the frame says what it is"
        replica_count, directories = len(record.replicas), tuple(record.directories)
        if record.unknown_tagged_fields or record.leader_recovery_state not in (RECOVERED, RECOVERING):
            raise ValueError
        if directories and len(directories) != replica_count:
            raise ValueError
        directories = tuple(self._uuids.setdefault(uuid, uuid) for uuid in directories) or (MIGRATING,) * replica_count
        elr, last_known_elr = tuple(record.eligible_leader_replicas or ()), tuple(record.last_known_elr or ())
        known[tail] = found = (
            self._directories.setdefault(directories, directories),
            record.leader_recovery_state,
            self._lists.setdefault(elr, elr),
            self._lists.setdefault(last_known_elr, last_known_elr),
        )
        return found


def _kept() -> dict[Any, Any]:  # Any: the pieces and their keys
    """Return a dictionary that a collection of garbage visits no more once it is frozen.

    One of Python's own that holds nothing but tuples of numbers would leave the collector, and be a new object to it
    with the next tuple.
    """
    return defaultdict()


def head_size(value: bytes) -> int:
    """Return the size in bytes of the four arrays before the leader; wrong counts make it wrong, never an error."""
    at = HEAD_AT + 4 * value[HEAD_AT] - 3
    at += 4 * value[at] - 3
    at += 4 * value[at] - 3
    at += 4 * value[at] - 3
    return at - HEAD_AT


@functools.lru_cache(maxsize=4096)
def _unpacker(value_size: int, head_bytes: int) -> Callable[[bytes], tuple[Any, ...]]:  # Any: bytes and int in turn
    """Compile the unpacking of values of one shape. Raises ValueError if they are too short."""
    tail_size = value_size - HEAD_AT - head_bytes - NUMBERS_BYTES
    if head_bytes < 4 or tail_size < 1:
        raise ValueError
    return struct.Struct(f">3si16s{head_bytes}siii{tail_size}s").unpack
