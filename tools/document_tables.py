"""Write docs/reference/fleet-tables.md from the table schemas; with `--check` only report whether it is fresh."""

import sys
from pathlib import Path

import pyarrow as pa

from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.tables.table import comment_of
from reference_page import write_page

FILE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "fleet-tables.md"
HEAD = """# Tables of a fleet's warehouse

Made by `tools/document_tables.py` from the schemas; `falkirk fleet tables` prints the same.
Names are those of Kafka's own fields in snake_case.
Uuids are text in Kafka's form, times are UTC.
Every table has the column `cluster`, by which its files are partitioned.
A `written` column says which record wrote the object, or that part of it, last:
its type (`record`), its `offset`, and the file (`source`).
"""


def document() -> str:
    parts = [HEAD]
    for table in TABLES.values():
        rows = [f"| `{field.name}` | {type_text(field.type)} | {comment(field)} |" for field in table.schema]
        parts.append(
            f"## `{table.name}`\n\n{table.comment}\n\n| column | type | |\n|---|---|---|\n" + "\n".join(rows) + "\n"
        )
    return "\n".join(parts)


def comment(field: pa.Field) -> str:
    return comment_of(field).replace("|", "\\|")


def type_text(type_: pa.DataType) -> str:
    if pa.types.is_list(type_):
        return f"list of {type_text(type_.value_type)}"
    if pa.types.is_struct(type_):
        return "struct of " + ", ".join(f"`{type_.field(index).name}`" for index in range(type_.num_fields))
    return {"timestamp[ms, tz=UTC]": "timestamp", "double": "float64"}.get(str(type_), str(type_))


if __name__ == "__main__":
    sys.exit(write_page(FILE, document()))
