"""A warehouse of format 1, whose manifests said which data files count, becomes one of Delta tables. No file moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from pyarrow import fs

from falkirk.pipeline.errors import WarehouseError
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.warehouse.commit import Change

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.pipeline.warehouse.manifest import DataFile, Manifest
    from falkirk.pipeline.warehouse.warehouse import Warehouse

_OLD_FORMAT: Final = 1
_OLD_FOLDERS: Final = ("_falkirk/intents", "_falkirk/staging")


def migrate(warehouse: Warehouse) -> dict[str, int]:
    """Commit the data files of all manifests as Delta tables; return the rows of each.

    A run that was killed is completed by the next. Raises WarehouseError for a warehouse of another format.
    """
    warehouse.check_format(_OLD_FORMAT)
    with warehouse.writing():
        manifests = warehouse.manifests()
        if not warehouse.mark().number:
            sizes = {path: size for table in TABLES for path, size in _sizes(warehouse, table).items()}
            changes = [Change(old.cluster, None, _with_sizes(old, sizes)) for old in manifests]
            warehouse.commit(changes)
        for folder in _OLD_FOLDERS:
            warehouse.remove_tree(folder)
        warehouse.mark_format(keeps_secrets=warehouse.keeps_secrets())
    rows: dict[str, int] = {}
    for manifest in manifests:
        for table, count in manifest.rows().items():
            rows[table] = rows.get(table, 0) + count
    return dict(sorted(rows.items()))


def _sizes(warehouse: Warehouse, table: str) -> dict[str, int]:
    """Return the bytes of all files of a table by path, from one listing."""
    selector = fs.FileSelector(warehouse.path(table), recursive=True, allow_not_found=True)
    prefix = f"{warehouse.root}/"
    return {
        info.path.removeprefix(prefix): info.size
        for info in warehouse.filesystem.get_file_info(selector)
        if info.type == fs.FileType.File
    }


def _with_sizes(manifest: Manifest, sizes: Mapping[str, int]) -> Manifest:
    def sized(file: DataFile) -> DataFile:
        if file.path not in sizes:
            raise WarehouseError(f"{file.path}: in the manifest of {manifest.cluster}, and missing")
        return msgspec.structs.replace(file, size=sizes[file.path])

    pieces = {
        key: msgspec.structs.replace(piece, files=tuple(map(sized, piece.files)))
        for key, piece in manifest.pieces.items()
    }
    return msgspec.structs.replace(manifest, pieces=pieces)
