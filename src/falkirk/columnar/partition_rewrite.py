"""PartitionRecords of one version written at a lower one, all at once.

A lower version's untagged fields are the first ones of a higher version, so its body is the beginning of the other
body, with the tagged fields written anew behind it. Version 1 lacks the eligible leader replicas (tags 1 and 2),
version 0 the directories as well.

Where eligible leader replicas go and a partition has no ISR, they become the ISR (in a cluster that was stopped that is
every partition of the last broker). Both lists have the same form on the wire, so one is put in the place of the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from falkirk.columnar.field_plan import field_plan
from falkirk.columnar.kernels import ABSENT
from falkirk.protocol.messages import PartitionRecord

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from falkirk.columnar.field_plan import FieldPlan
    from falkirk.columnar.kernels import FieldScan, Kernels

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

PARTITION_RECORD: Final = 3
ELR_VERSION: Final = 2
"""The first version with eligible leader replicas."""
FRAME_BYTES: Final = 3
"""Frame version, type and version of a PartitionRecord as Kafka writes them; the version is the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPartitions:
    """What to write for some PartitionRecords; one row each."""

    # False: only the row codec can write it (see `cut_partitions`).
    can_cut: Flags
    # False: the record is already as it should be, byte for byte.
    changes: Flags
    # Where the bytes that stay begin, frame included, and how many they are: in `data`, or in `spliced`.
    source_at: Ints
    kept_bytes: Ints
    is_spliced: Flags
    spliced: NDArray[np.uint8]
    # The leader recovery state that follows as a tagged field; 0 needs none.
    recovery_state: NDArray[np.int8]


def cut_partitions(
    kernels: Kernels,
    data: NDArray[np.uint8],
    value_at: Ints,
    value_end: Ints,
    *,
    version: int,
    target_version: int,
    keeps_elr: bool,
) -> CutPartitions:
    """Say how to write PartitionRecords of `version` at `target_version`, which is not higher.

    Left to the row codec: bytes that do not parse, unknown tagged fields, and partitions without ISR of which only the
    last known leader is left.
    """
    plan = field_plan(PartitionRecord, version)
    kept = field_plan(PartitionRecord, target_version)
    assert kept.fields == plan.fields[: len(kept.fields)], "a lower version is the beginning of a higher one"
    fields = _Fields(plan, kernels.scan_fields(plan, data, value_at + FRAME_BYTES, value_end))
    state_at = fields.at("leader_recovery_state")
    state = np.where(state_at == ABSENT, 0, data.take(state_at, mode="clip").view(np.int8)).astype(np.int8)

    changes = np.full(len(value_at), version != target_version)
    can_cut = fields.scan.sound.copy()
    is_spliced = np.zeros(len(value_at), np.bool_)
    if version >= ELR_VERSION and not keeps_elr:
        elr, last_known = fields.count("eligible_leader_replicas"), fields.count("last_known_elr")
        changes |= (elr != ABSENT) | (last_known != ABSENT)
        no_isr = can_cut & (fields.count("isr") == 0)
        is_spliced = no_isr & (elr > 0)
        can_cut &= ~(no_isr & (elr <= 0) & (last_known > 0))
        can_cut &= ~is_spliced | fields.has_short_lists(data)
        is_spliced &= can_cut

    source_at, kept_bytes = value_at.copy(), fields.end(len(kept.fields) - 1) - value_at
    spliced = np.empty(0, np.uint8)
    rows = np.flatnonzero(is_spliced)
    if len(rows):
        spliced, source_at[rows] = _spliced(
            kernels, data, fields, rows=rows, value_at=value_at[rows], kept_bytes=kept_bytes[rows]
        )
        kept_bytes[rows] += fields.count("eligible_leader_replicas")[rows] * _REPLICA_BYTES
    return CutPartitions(
        can_cut=can_cut,
        changes=changes,
        source_at=source_at,
        kept_bytes=kept_bytes,
        is_spliced=is_spliced,
        spliced=spliced,
        recovery_state=state,
    )


_REPLICA_BYTES: Final = 4
_COUNT_BYTE_MAX: Final = 0x7F


class _Fields:
    """A scan by the names of the fields."""

    def __init__(self, plan: FieldPlan, scan: FieldScan) -> None:
        self.scan = scan
        self._plan = plan
        self._index = {each.attribute: index for index, each in enumerate((*plan.fields, *plan.tagged))}

    def at(self, name: str) -> Ints:
        """Give where a field's value, or its first element, stands."""
        return self.scan.at[self._index[name]].astype(np.int64)

    def count(self, name: str) -> Ints:
        """Give how many elements a list has; ABSENT where it is not there."""
        return self.scan.count[self._index[name]].astype(np.int64)

    def end(self, index: int) -> Ints:
        """Give where an untagged field ends."""
        field, at = self._plan.fields[index], self.scan.at[index].astype(np.int64)
        return at + (field.size if field.form == "fixed" else self.scan.count[index] * field.size)

    def has_short_lists(self, data: NDArray[np.uint8]) -> Flags:
        """Say where an empty ISR and the eligible leader replicas have counts of one byte."""
        elr = self.count("eligible_leader_replicas")
        isr_count = data.take(self.at("isr") - 1, mode="clip")
        elr_count = data.take(self.at("eligible_leader_replicas") - 1, mode="clip")
        short: Flags = (isr_count == 1) & (elr < _COUNT_BYTE_MAX) & (elr_count == elr + 1)
        return short


def _spliced(
    kernels: Kernels, data: NDArray[np.uint8], fields: _Fields, *, rows: Ints, value_at: Ints, kept_bytes: Ints
) -> tuple[NDArray[np.uint8], Ints]:
    """Write values anew with the eligible leader replicas in place of the empty ISR, and without a leader."""
    isr_at, elr_at = fields.at("isr")[rows], fields.at("eligible_leader_replicas")[rows]
    elr_bytes = fields.count("eligible_leader_replicas")[rows] * _REPLICA_BYTES
    size = kept_bytes + elr_bytes
    at = np.cumsum(size) - size
    out = np.empty(int(size.sum()), np.uint8)
    # Up to the ISR's count; the other list with its count; what follows the ISR.
    head = isr_at - 1 - value_at
    kernels.copy_spans(data, value_at, out, at, head)
    kernels.copy_spans(data, elr_at - 1, out, at + head, elr_bytes + 1)
    kernels.copy_spans(data, isr_at, out, at + head + 1 + elr_bytes, kept_bytes - head - 1)
    leader_at = at + (fields.at("leader")[rows] - value_at) + elr_bytes
    for byte in range(_REPLICA_BYTES):
        out[leader_at + byte] = 0xFF  # no leader is -1
    return out, at
