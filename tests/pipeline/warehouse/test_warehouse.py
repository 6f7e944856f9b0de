import json
import multiprocessing
from pathlib import Path

import pyarrow as pa
import pytest
from data_files import all_files, change, committed, live_files, put
from deltalake import DeltaTable
from pyarrow import parquet

from falkirk.pipeline.errors import WarehouseError
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.tables.table import Table
from falkirk.pipeline.warehouse.commit import Change
from falkirk.pipeline.warehouse.data_files import DataFileWriter
from falkirk.pipeline.warehouse.delta import data_files
from falkirk.pipeline.warehouse.manifest import FORMAT, Manifest
from falkirk.pipeline.warehouse.vacuum import vacuum
from falkirk.pipeline.warehouse.warehouse import Warehouse


@pytest.fixture
def warehouse(tmp_path):
    return Warehouse.make(str(tmp_path / "w"))


def names(warehouse, number=None):
    """Return the names in table `topics` at a commit, without Spark."""
    uri = warehouse.table_uri("topics")
    paths = data_files(uri, warehouse.mark(number).versions["topics"])
    tables = [parquet.ParquetFile(f"{warehouse.root}/topics/{path}").read(["name"]) for path in paths]
    return sorted(name for table in tables for name in table["name"].to_pylist())


def test_data_files_count_once_they_are_committed(warehouse):
    piece = put(warehouse, "a", "one", rows=3)
    [file] = piece.files
    assert (file.table, file.rows, file.size) == ("topics", 3, Path(warehouse.root, file.path).stat().st_size)
    assert (warehouse.mark().number, warehouse.manifest("a")) == (0, None)
    mark = warehouse.commit([change(warehouse, "a", one=piece)])
    assert (mark.number, mark.versions, mark.changed) == (1, {"topics": 0}, ("a",))
    assert warehouse.mark() == mark
    assert live_files(warehouse) == {file.path}
    assert names(warehouse) == ["one-0", "one-1", "one-2"]


def test_a_commit_replaces_what_it_no_longer_names_and_keeps_the_rest(warehouse):
    first = committed(warehouse, "a", "one", "two")
    made = change(warehouse, "a", one=first.pieces["one"], two=put(warehouse, "a", "two"))
    warehouse.commit([made])
    assert live_files(warehouse) == made.after.files().keys()
    assert all_files(warehouse) == made.after.files().keys() | first.files().keys()
    assert warehouse.manifest("a") == made.after


def test_every_commit_can_still_be_read_until_the_vacuum(warehouse):
    committed(warehouse, "a", "one")
    committed(warehouse, "a", "two")
    committed(warehouse, "b", "three")
    assert [names(warehouse, number) for number in (1, 2, 3, None)] == [
        ["one-0"],
        ["two-0"],
        ["three-0", "two-0"],
        ["three-0", "two-0"],
    ]
    assert [mark.number for mark in warehouse.marks()] == [1, 2, 3]
    with pytest.raises(WarehouseError, match="no commit 4 here; `falkirk fleet history` lists them"):
        warehouse.mark(4)


class Killed(BaseException):
    pass


def kill_at(monkeypatch, step):
    """Let a commit end at one of its steps: a table's commit, a manifest, a mark, or the end of the intent."""
    left = [step]

    def dying(real):
        def call(*args, **options):
            if not left[0]:
                raise Killed
            left[0] -= 1
            return real(*args, **options)

        return call

    for name in ("replace", "_commit_table", "_put_manifest"):
        monkeypatch.setattr(Warehouse, name, dying(getattr(Warehouse, name)))
    return left


@pytest.mark.parametrize("step", range(10))
def test_a_commit_that_is_killed_is_not_begun_or_is_completed_by_the_next_writer(warehouse, monkeypatch, step):
    before = {name: committed(warehouse, name, "one") for name in ("a", "b")}
    mark = warehouse.mark()
    pieces = {"topics": put(warehouse, "a", "two"), "configs": put(warehouse, "a", "three", table="configs")}
    changes = [change(warehouse, "a", **pieces), Change("b", before["b"], None)]
    left = kill_at(monkeypatch, step)
    if step < 8:  # intent, two tables, two manifests of which one is written, two marks
        with pytest.raises(Killed):
            warehouse.commit(changes)
    else:
        warehouse.commit(changes)
    assert left[0] == max(step - 8, 0)
    monkeypatch.undo()
    after_kill = warehouse.mark()
    assert names(warehouse) == (["one-0", "one-0"] if after_kill == mark else ["two-0"])
    with warehouse.writing():
        done = step > 0
    assert warehouse.manifest("a") == (changes[0].after if done else before["a"])
    assert warehouse.manifest("b") == (None if done else before["b"])
    old = {*before["a"].files(), *before["b"].files()}
    assert live_files(warehouse) == (changes[0].after.files().keys() if done else old)
    assert warehouse.mark().number == (3 if done else 2)
    # Nothing is committed twice.
    assert DeltaTable(warehouse.table_uri("topics")).version() == (2 if done else 1)


def test_rows_that_do_not_fit_a_table_are_refused(warehouse):
    with DataFileWriter(warehouse, "a") as writer:
        writer.write_rows("topics", [{"name": "x"}])
        with pytest.raises(pa.ArrowInvalid):
            writer.write_rows("topics", [{"partitions": "many"}])
    assert [parquet.read_table(f"{warehouse.root}/{path}").num_rows for path in all_files(warehouse)] == [1]


def hold(path, held, release):
    with Warehouse.open(path).writing():
        held.set()
        release.wait(30)


@pytest.mark.slow
def test_only_one_writes_at_a_time(warehouse):
    context = multiprocessing.get_context("spawn")
    held, release = context.Event(), context.Event()
    other = context.Process(target=hold, args=(warehouse.uri, held, release))
    other.start()
    try:
        assert held.wait(30)
        with pytest.raises(WarehouseError, match="another falkirk is writing here"), warehouse.writing():
            pass
    finally:
        release.set()
        other.join()
    with warehouse.writing():
        pass


def test_a_forgotten_cluster_is_in_no_table_and_in_those_of_before(warehouse):
    kept = committed(warehouse, "kept", "one")
    before = committed(warehouse, "gone", "one", "two")
    warehouse.commit([Change("gone", before, None)])
    assert warehouse.manifest("gone") is None
    assert live_files(warehouse) == kept.files().keys()
    assert names(warehouse, 2) == ["one-0", "one-0", "two-0"]


def test_a_vacuum_removes_what_no_commit_of_the_retention_has(warehouse):
    old = committed(warehouse, "a", "one")
    new = committed(warehouse, "a", "one")
    orphan = put(warehouse, "a", "never committed").files[0].path
    assert vacuum(warehouse, retention_hours=1) == {}
    assert vacuum(warehouse, retention_hours=0, dry_run=True) == {"topics": 2}
    assert all_files(warehouse) == {*old.files(), *new.files(), orphan}
    assert vacuum(warehouse, retention_hours=0) == {"topics": 2}
    assert all_files(warehouse) == new.files().keys()
    assert [mark.number for mark in warehouse.marks()] == [2]
    assert names(warehouse) == ["one-0"]
    committed(warehouse, "b", "two")
    assert names(warehouse) == ["one-0", "two-0"]


def test_what_a_run_that_has_not_committed_yet_has_written_survives_a_vacuum(warehouse):
    committed(warehouse, "a", "one")
    piece = put(warehouse, "a", "two")
    vacuum(warehouse, retention_hours=1)
    warehouse.commit([change(warehouse, "a", two=piece)])
    assert names(warehouse) == ["two-0"]


def test_a_table_gets_the_columns_of_a_newer_falkirk(warehouse, monkeypatch):
    committed(warehouse, "a", "one")
    of_before = change(warehouse, "c", three=put(warehouse, "c", "three"))
    topics = TABLES["topics"]
    column = pa.field("later", pa.string(), metadata={"comment": "New."})
    wider = Table(name="topics", comment=topics.comment, schema=topics.schema.append(column))
    with monkeypatch.context() as patched:
        patched.setitem(TABLES, "topics", wider)
        committed(warehouse, "b", "two")
        assert "later" in [field.name for field in DeltaTable(warehouse.table_uri("topics")).schema().fields]
        assert names(warehouse) == ["one-0", "two-0"]
        other = pa.schema([pa.field("name", pa.int64(), metadata={"comment": "Other."})])
        patched.setitem(TABLES, "topics", Table(name="topics", comment="", schema=other))
        with pytest.raises(WarehouseError, match="column name of topics has another type in this falkirk"):
            warehouse.commit([of_before])
    assert warehouse.commit([of_before]).number == 3


def test_a_warehouse_has_secrets_everywhere_or_nowhere(tmp_path):
    Warehouse.make(str(tmp_path / "without"))
    Warehouse.make(str(tmp_path / "without"))
    with pytest.raises(WarehouseError, match="its tables hold no secrets: name another directory for --keep-secrets"):
        Warehouse.make(str(tmp_path / "without"), keep_secrets=True)
    Warehouse.make(str(tmp_path / "with"), keep_secrets=True)
    assert Warehouse.make(str(tmp_path / "with"), keep_secrets=True).keeps_secrets()
    with pytest.raises(WarehouseError, match=r"its tables hold secrets \(--keep-secrets, or an older falkirk\)"):
        Warehouse.make(str(tmp_path / "with"))


@pytest.mark.parametrize("name", ["../../evil", "..", "", "a/b", "a\\b", ".a"])
def test_a_name_that_leads_out_of_the_warehouse_is_refused(warehouse, tmp_path, name):
    with pytest.raises(WarehouseError, match="is no name for a cluster"):
        warehouse.commit([Change(name, None, Manifest(cluster=name))])
    with pytest.raises(WarehouseError, match="is no name for a cluster"):
        put(warehouse, name, "one")
    assert all_files(warehouse) == set()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w"]
    assert [path.name for path in (tmp_path / "w" / "_falkirk").iterdir()] == ["warehouse.json"]


def test_a_place_that_is_no_warehouse_is_refused(tmp_path):
    with pytest.raises(WarehouseError, match="no warehouse here; `falkirk fleet ingest` makes one"):
        Warehouse.open(str(tmp_path / "w"))
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "mine.txt").write_text("x")
    with pytest.raises(WarehouseError, match="w: not empty, and no warehouse; name a new or empty directory"):
        Warehouse.make(str(tmp_path / "w"))
    with pytest.raises(WarehouseError, match=r"mine.txt: a file; name a new or empty directory"):
        Warehouse.make(str(tmp_path / "w" / "mine.txt"))
    assert [path.name for path in (tmp_path / "w").iterdir()] == ["mine.txt"]
    with pytest.raises(WarehouseError, match="a path with %"):
        Warehouse.make(str(tmp_path / "a%41"))
    assert not (tmp_path / "a%41").exists()


def test_a_warehouse_in_a_place_with_an_odd_name_works(tmp_path):
    warehouse = Warehouse.make(str(tmp_path / "a b#c?[x]"))
    committed(warehouse, "(unknown)", "one")
    committed(warehouse, "(unknown)", "two")
    assert names(warehouse) == ["two-0"]


def test_a_warehouse_of_a_newer_falkirk_is_refused(warehouse, tmp_path):
    path = tmp_path / "w" / "_falkirk" / "warehouse.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": FORMAT + 1}))
    with pytest.raises(WarehouseError, match=f"in format {FORMAT + 1}.*reads up to format {FORMAT}"):
        Warehouse.open(str(tmp_path / "w"))


@pytest.mark.parametrize("name", ["clusters/a.json", "current.json"])
def test_a_damaged_file_is_named(warehouse, tmp_path, name):
    committed(warehouse, "a", "one")
    (tmp_path / "w" / "_falkirk" / name).write_text("{")
    with pytest.raises(WarehouseError, match=rf"_falkirk/{name}: damaged: "):
        warehouse.manifests(), warehouse.mark()


def test_a_worker_that_does_not_see_the_warehouse_writes_none_of_its_own(tmp_path):
    Warehouse.make(str(tmp_path / "w"))
    (tmp_path / "w").rename(tmp_path / "elsewhere")
    with pytest.raises(WarehouseError, match=r"/w: not seen by Spark's worker on .*: name a directory"):
        DataFileWriter(Warehouse(str(tmp_path / "w")), "a")
    assert not (tmp_path / "w").exists()
