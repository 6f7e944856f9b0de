"""Answers as CSV, for spreadsheets: nested values as JSON, and no cell that a spreadsheet would compute."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import parquet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

# What begins with one of these is a formula to spreadsheets; a quote in front makes it text.
_FORMULA: Final = r"^([=+\-@\t\r])"
_FORMULA_STARTS: Final = tuple("=+-@\t\r")


def write_answer_csv(answer: Path, out: Path) -> None:
    """Write all rows of an answer's Parquet files."""
    table = parquet.read_table(answer)
    columns = [_plain(column) for column in table.columns]
    arrow_csv.write_csv(pa.table(columns, names=table.column_names), out)


def write_rows_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]], out: Path) -> None:  # Any: values of columns
    """Write rows of Python values."""
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([_plain_value(value) for value in row] for row in rows)


def _plain(column: Any) -> Any:  # Any: columns of any type
    if pa.types.is_nested(column.type):
        values = column.to_pylist(maps_as_pydicts="strict")
        return pa.array([None if each is None else msgspec.json.encode(each).decode() for each in values], pa.string())
    if pa.types.is_timestamp(column.type):
        return pc.strftime(column, format="%Y-%m-%dT%H:%M:%SZ")
    if pa.types.is_string(column.type):
        return pc.replace_substring_regex(column, _FORMULA, r"'\1")
    return column


def _plain_value(value: Any) -> Any:  # Any: a value of a column
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_STARTS) else value
