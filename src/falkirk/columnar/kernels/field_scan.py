"""Positions of the fields of many messages of one type and version."""

# ruff: noqa: PLR0917 - columns of the same rows, as many as it takes

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from falkirk.columnar.kernels import ABSENT, NULL
from falkirk.columnar.kernels.spans import window
from falkirk.columnar.kernels.varints import unsigned_varints

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from falkirk.columnar.kernels.field_plan import FieldPlan, PlannedField

    Bytes = NDArray[np.uint8]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldScan:
    """Positions of the fields of each message: plan.fields, then plan.tagged, one array per field.

    `at` is the position of the value or of the first element (ABSENT for a tagged field that is absent), `count` the
    number of elements (NULL, ABSENT); the counts of fixed-width fields mean nothing.
    """

    # False where the bytes do not parse, or hold what only the row codec handles (tagged fields that are unknown).
    sound: Flags
    at: list[Ints]
    count: list[Ints]


def scan_fields(plan: FieldPlan, data: Bytes, start: Ints, end: Ints) -> FieldScan:
    """Locate the fields of messages that must fill the bytes between `start` and `end`."""
    scan = FieldScan(sound=np.ones(len(start), np.bool_), at=[], count=[])
    no_count = np.empty(0, np.int64)
    at = start
    for field in plan.fields:
        count = no_count
        if field.form == "fixed":
            scan.at.append(at)
            at = at + field.size
        else:
            count, at = _lengths(field, data, at, end, scan.sound)
            scan.at.append(at)
            at = at + np.maximum(count, 0) * field.size
        scan.count.append(count)
    if plan.flexible:
        at = _scan_tags(plan, data, at, end, scan)
    scan.sound[at != end] = False
    return scan


def _lengths(field: PlannedField, data: Bytes, at: Ints, end: Ints, sound: Flags) -> tuple[Ints, Ints]:
    """Read a field's length: (count, position of the first element). An impossible count is refused and becomes 0."""
    if field.form == "compact":
        count, at = unsigned_varints(data, at, sound)
        count -= 1
    else:
        width = 2 if field.form == "int16" else 4
        safe = np.minimum(at, len(data) - width)
        raw = window(data, width)[safe] if len(data) >= width else np.zeros(len(at), f"V{width}")
        count = raw.view(f">i{width}").astype(np.int64)
        at = at + width
    wrong = count * field.size > end - at
    if int(count.min(initial=0)) < (NULL if field.nullable else 0):
        wrong |= count < (NULL if field.nullable else 0)
    wrong |= count > field.length_max
    if wrong.any():
        sound[wrong] = False
        count[wrong] = 0
    return count, at


def _scan_tags(plan: FieldPlan, data: Bytes, at: Ints, end: Ints, scan: FieldScan) -> Ints:
    """Locate tagged fields, in as many rounds as one row has fields; rows with unknown tags are refused."""
    rows_all = len(at)
    first = len(plan.fields)
    for _ in plan.tagged:
        scan.at.append(np.full(rows_all, ABSENT, np.int64))
        scan.count.append(np.full(rows_all, ABSENT, np.int64))
    left, at = unsigned_varints(data, at, scan.sound)
    # More fields than there are tags: one repeats, or one is unknown.
    scan.sound[left > len(plan.tagged)] = False
    rows = np.flatnonzero((left > 0) & scan.sound)
    left = left[rows]
    while len(rows):
        sound = np.ones(len(rows), np.bool_)
        tag, position = unsigned_varints(data, at[rows], sound)
        size, position = unsigned_varints(data, position, sound)
        stop = position + size
        sound &= stop <= end[rows]
        known = np.zeros(len(rows), np.bool_)
        for index, field in enumerate(plan.tagged, first):
            mine = np.flatnonzero((tag == field.tag) & sound)
            if len(mine):
                known[mine] = True
                _scan_tag(field, index, data, rows[mine], position[mine], stop[mine], scan)
        sound &= known
        scan.sound[rows[~sound]] = False
        at[rows] = stop
        left -= 1
        go_on = sound & (left > 0)
        rows, left = rows[go_on], left[go_on]
    return at


def _scan_tag(field: PlannedField, index: int, data: Bytes, rows: Ints, at: Ints, stop: Ints, scan: FieldScan) -> None:
    if field.form == "fixed":
        scan.at[index][rows] = at
        scan.sound[rows[at + field.size != stop]] = False
        return
    sound = np.ones(len(rows), np.bool_)
    count, at = _lengths(field, data, at, stop, sound)
    scan.at[index][rows] = at
    scan.count[index][rows] = count
    sound &= at + np.maximum(count, 0) * field.size == stop
    scan.sound[rows[~sound]] = False
