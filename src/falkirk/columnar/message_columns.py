"""Many messages of one version as Arrow arrays, one per field.

The kernels locate all fields of all messages; here they are copied out, field by field. Messages that the kernels
refuse go to the row codec one by one: it reports why the bytes do not parse, or reads what columns do not hold (tagged
fields that the schema does not know, which are rare and need objects anyway).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from falkirk.columnar.arrow_arrays import constant_array, fixed_array, list_array, numbers_dtype, text_array
from falkirk.columnar.kernels import ABSENT
from falkirk.columnar.kernels.field_scan import FieldScan, scan_fields
from falkirk.columnar.kernels.spans import gather_fixed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from falkirk.columnar.kernels.field_plan import FieldPlan, PlannedField
    from falkirk.protocol.schema import WireMessage

    Arrays = dict[str, pa.Array[Any]]  # Any: of the field's own type

UNKNOWN_TAGS: Final = "unknown_tagged_fields"
UNKNOWN_TAGS_TYPE: Final = pa.list_(pa.struct([pa.field("tag", pa.int64()), pa.field("data", pa.binary())]))


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageColumns:
    """The messages that parse: one array for each attribute of the class, in row order."""

    # False for the rows that `by_row` could not read either; they are not in the arrays.
    kept: NDArray[np.bool_]
    arrays: Arrays


def message_columns(
    plan: FieldPlan,
    types: dict[str, pa.DataType],
    *,
    data: NDArray[np.uint8],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    by_row: Callable[[int], WireMessage | None],
) -> MessageColumns:
    """Decode the messages between `start` and `end`; `types` maps the wanted attributes to their Arrow types.

    `by_row` decodes the message of one row by the row codec; it returns None if it has reported a problem.
    """
    scan = scan_fields(plan, data, start, end)
    while True:
        rows = np.flatnonzero(scan.sound)
        arrays = _Columns(plan, types, data=data, scan=scan, rows=rows).arrays()
        if arrays is not None:
            break
    if len(rows) == len(start):
        return MessageColumns(kept=scan.sound, arrays=arrays)
    return _with_rows(arrays, types, scan.sound, rows, by_row)


def _with_rows(
    arrays: Arrays,
    types: dict[str, pa.DataType],
    sound: NDArray[np.bool_],
    rows: NDArray[np.int64],
    by_row: Callable[[int], WireMessage | None],
) -> MessageColumns:
    """Merge the messages that the row codec reads into the arrays, in row order."""
    read = {int(row): by_row(int(row)) for row in np.flatnonzero(~sound)}
    messages = {row: message for row, message in read.items() if message is not None}
    if not messages:
        return MessageColumns(kept=sound, arrays=arrays)
    order = np.argsort(np.concatenate([rows, np.fromiter(messages, np.int64)]), kind="stable")
    merged: Arrays = {}
    for name, type_ in types.items():
        values = [_python_value(message, name) for message in messages.values()]
        merged[name] = pa.concat_arrays([arrays[name], pa.array(values, type_)]).take(order)
    kept = sound.copy()
    kept[list(messages)] = True
    return MessageColumns(kept=kept, arrays=merged)


def _python_value(message: WireMessage, name: str) -> Any:  # Any: of the field's own type
    value = getattr(message, name)
    if name == UNKNOWN_TAGS:
        return [{"tag": tag, "data": payload} for tag, payload in value] or None
    return value


class _Columns:
    """Builds the arrays of some rows of a scan."""

    def __init__(
        self,
        plan: FieldPlan,
        types: dict[str, pa.DataType],
        *,
        data: NDArray[np.uint8],
        scan: FieldScan,
        rows: NDArray[np.int64],
    ) -> None:
        self._plan = plan
        self._types = types
        self._data = data
        self._scan = scan
        self._rows = rows
        self._all = len(rows) == len(scan.sound)

    def arrays(self) -> Arrays | None:
        """Return the arrays; None if strings are not UTF-8, with their rows now unsound."""
        found: Arrays = {}
        fields = self._plan.fields
        index = 0
        while index < len(fields):
            run = _fixed_run(fields, index)
            if run:
                found |= self._fixed(fields[index : index + run], self._at(index))
                index += run
                continue
            array = self._counted(fields[index], index)
            if array is None:
                return None
            found[fields[index].attribute] = array
            index += 1
        for index, field in enumerate(self._plan.tagged, len(fields)):
            array = self._tagged_fixed(field, index) if field.form == "fixed" else self._counted(field, index)
            if array is None:
                return None
            found[field.attribute] = array
        for absent in self._plan.absent:
            if absent.attribute in self._types:
                found[absent.attribute] = self._constant(absent.attribute, absent.default)
        if UNKNOWN_TAGS in self._types:
            found[UNKNOWN_TAGS] = constant_array(None, len(self._rows), UNKNOWN_TAGS_TYPE)
        return found

    def _at(self, index: int) -> NDArray[np.int64]:
        return self._scan.at[index] if self._all else self._scan.at[index][self._rows]

    def _fixed(self, run: tuple[PlannedField, ...], at: NDArray[np.int64]) -> Arrays:
        """Copy adjacent fixed-width fields in one go, then split them."""
        dtype = np.dtype([(field.attribute, numbers_dtype(field.type)) for field in run])
        values = gather_fixed(self._data, at, dtype)
        return {field.attribute: fixed_array(values[field.attribute], self._types[field.attribute]) for field in run}

    def _tagged_fixed(self, field: PlannedField, index: int) -> pa.Array[Any]:  # Any: of the field's own type
        at = self._at(index)
        there = np.flatnonzero(at != ABSENT)
        dtype = numbers_dtype(field.type)
        if field.type == "uuid":
            values = np.zeros(len(at), dtype)
            values[:] = np.frombuffer(field.default, dtype)[0]
        else:
            values = np.full(len(at), field.default, dtype)
        if len(there):
            values[there] = gather_fixed(self._data, at[there], dtype)
        return fixed_array(values, self._types[field.attribute])

    def _counted(self, field: PlannedField, index: int) -> pa.Array[Any] | None:  # Any: of the field's own type
        count = self._scan.count[index] if self._all else self._scan.count[index][self._rows]
        if field.default is ... or field.default is not None:
            # An absent array or text is empty, or null where that is the schema's default.
            count = np.where(count == ABSENT, 0, count)
        type_ = self._types[field.attribute]
        if field.is_array:
            assert isinstance(type_, pa.ListType)
            return list_array(self._data, self._at(index), count, wire_type=field.type, type_=type_)
        array, broken = text_array(self._data, self._at(index), count, type_)
        if broken is not None:
            self._scan.sound[self._rows[broken]] = False
        return array

    def _constant(self, name: str, default: Any) -> pa.Array[Any]:  # Any: of the field's own type
        return constant_array([] if default is ... else default, len(self._rows), self._types[name])


def _fixed_run(fields: tuple[PlannedField, ...], index: int) -> int:
    """Count the adjacent fixed-width fields from `index` on."""
    run = 0
    while index + run < len(fields) and fields[index + run].form == "fixed":
        run += 1
    return run
