"""Warehouses of format 1 become Delta tables: the data files stay where they are."""

import json
from pathlib import Path

import pytest
from data_files import all_files, committed, live_files, put

from falkirk.pipeline.errors import WarehouseError
from falkirk.pipeline.warehouse.migrate import migrate
from falkirk.pipeline.warehouse.vacuum import vacuum
from falkirk.pipeline.warehouse.warehouse import Warehouse


@pytest.fixture
def old(tmp_path):
    """A warehouse as falkirk wrote it before it had Delta tables, with what a killed run left."""
    warehouse = Warehouse.make(str(tmp_path / "w"))
    for cluster, keys in (("a", ("one", "two")), ("b", ("three",))):
        pieces = {}
        for key in keys:
            piece = put(warehouse, cluster, key)
            files = [{"table": file.table, "path": file.path, "rows": file.rows} for file in piece.files]
            pieces[key] = {"key": key, "kind": "test", "source": "", "files": files}
        warehouse.replace(
            f"_falkirk/clusters/{cluster}.json",
            json.dumps({"format": 1, "cluster": cluster, "cluster_id": None, "pieces": pieces}).encode(),
        )
    warehouse.replace("_falkirk/warehouse.json", b'{"format": 1, "written_by": "falkirk 0.1"}')
    warehouse.replace("_falkirk/intents/a.json", b"[]")
    warehouse.replace("_falkirk/staging/run/topics/cluster=a/x.parquet", b"half")
    return warehouse


def test_an_old_warehouse_is_migrated_once(old):
    with pytest.raises(WarehouseError, match="written by an older falkirk; `falkirk fleet migrate` makes it current"):
        Warehouse.open(old.uri)
    before = all_files(old)
    orphan = put(old, "b", "left by a killed run").files[0].path
    assert migrate(old) == {"topics": 3}
    assert live_files(old) == before
    assert sorted(path.name for path in (Path(old.root) / "_falkirk").iterdir() if path.is_dir()) == [
        "clusters",
        "commits",
    ]
    # It held secrets, as far as anybody knows.
    with pytest.raises(WarehouseError, match="its tables hold secrets"):
        Warehouse.make(old.uri)
    assert Warehouse.open(old.uri).manifest("a").pieces["one"].files[0].size > 0
    with pytest.raises(WarehouseError, match="is current; there is nothing to migrate"):
        migrate(old)
    committed(old, "b", "four")
    vacuum(old, retention_hours=0)
    assert orphan not in all_files(old)
    assert all_files(old) == live_files(old)


def test_a_migration_that_was_killed_goes_on(old, monkeypatch):
    before = all_files(old)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Warehouse, "_put_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            migrate(old)
    with pytest.raises(WarehouseError, match="`falkirk fleet migrate` makes it current"):
        Warehouse.open(old.uri)
    assert migrate(old) == {"topics": 3}
    assert (live_files(old), Warehouse.open(old.uri).mark().number) == (before, 1)


def test_a_file_that_an_old_manifest_names_and_that_is_gone_is_named(old):
    [file] = old.manifest("b").files()
    old.filesystem.delete_file(old.path(file))
    with pytest.raises(WarehouseError, match=f"{file}: in the manifest of b, and missing"):
        migrate(old)
