import json
import multiprocessing

import pyarrow as pa
import pytest
from pyarrow import parquet

from falkirk.pipeline.errors import WarehouseError
from falkirk.pipeline.warehouse.data_files import DataFileWriter
from falkirk.pipeline.warehouse.manifest import FORMAT, Manifest, Piece
from falkirk.pipeline.warehouse.warehouse import Warehouse


def put(warehouse, run, cluster, key, *, rows=1):
    with DataFileWriter(warehouse, run, cluster, key) as writer:
        writer.write_rows("topics", [{"name": f"{key}-{number}"} for number in range(rows)])
        return Piece(key=key, kind="test", source="", files=writer.close())


def committed(warehouse, run, cluster, *keys):
    before = warehouse.manifest(cluster)
    manifest = Manifest(cluster=cluster, pieces={key: put(warehouse, run, cluster, key) for key in keys})
    warehouse.commit(manifest, run, before)
    return manifest


def files(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*.parquet"))


def test_data_files_count_once_their_manifest_names_them(tmp_path):
    warehouse = Warehouse.make(str(tmp_path / "w"))
    piece = put(warehouse, "run1", "a", "one", rows=3)
    [file] = piece.files
    assert (file.table, file.rows) == ("topics", 3)
    assert files(tmp_path / "w") == [f"_falkirk/staging/run1/{file.path}"]
    warehouse.commit(Manifest(cluster="a", pieces={"one": piece}), "run1", None)
    assert files(tmp_path / "w") == [file.path]
    assert warehouse.manifest("a").files("topics") == [file]
    assert parquet.read_table(tmp_path / "w" / file.path)["name"].to_pylist() == ["one-0", "one-1", "one-2"]


def test_a_commit_replaces_what_it_no_longer_names_and_keeps_the_rest(tmp_path):
    warehouse = Warehouse.make(str(tmp_path / "w"))
    first = committed(warehouse, "run1", "a", "one", "two")
    second = put(warehouse, "run2", "a", "two")
    manifest = Manifest(cluster="a", pieces={"one": first.pieces["one"], "two": second})
    warehouse.commit(manifest, "run2", first)
    assert files(tmp_path / "w") == sorted(manifest.paths())
    assert first.pieces["two"].files[0].path not in manifest.paths()


@pytest.mark.parametrize("moves", [0, 1, 2])
def test_a_commit_that_is_killed_leaves_the_tables_as_they_were(tmp_path, monkeypatch, moves):
    warehouse = Warehouse.make(str(tmp_path / "w"))
    before = committed(warehouse, "run1", "a", "one")
    pieces = {key: put(warehouse, "run2", "a", key) for key in ("one", "two")}

    class Killed(BaseException):
        pass

    real = warehouse.filesystem

    class Dying:
        left = moves + 1  # the intent comes first

        def __getattr__(self, name):
            return getattr(real, name)

        def move(self, source, target):
            if not self.left:
                raise Killed
            self.left -= 1
            real.move(source, target)

    monkeypatch.setattr(warehouse, "filesystem", Dying())
    with pytest.raises(Killed):
        warehouse.commit(Manifest(cluster="a", pieces=pieces), "run2", before)
    monkeypatch.undo()
    assert warehouse.manifest("a") == before
    assert set(files(tmp_path / "w")) >= before.paths()
    with warehouse.writing():
        assert files(tmp_path / "w") == sorted(before.paths())


def test_a_commit_that_is_killed_behind_its_manifest_is_tidied_up(tmp_path, monkeypatch):
    warehouse = Warehouse.make(str(tmp_path / "w"))
    before = committed(warehouse, "run1", "a", "one")

    def killed(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(warehouse, "_remove", killed)
    manifest = Manifest(cluster="a", pieces={"two": put(warehouse, "run2", "a", "two")})
    with pytest.raises(KeyboardInterrupt):
        warehouse.commit(manifest, "run2", before)
    monkeypatch.undo()
    assert warehouse.manifest("a") == manifest
    with warehouse.writing():
        assert files(tmp_path / "w") == sorted(manifest.paths())


def test_rows_that_do_not_fit_a_table_are_refused(tmp_path):
    warehouse = Warehouse.make(str(tmp_path / "w"))
    with DataFileWriter(warehouse, "run1", "a", "k") as writer:
        writer.write_rows("topics", [{"name": "x"}])
        with pytest.raises(pa.ArrowInvalid):
            writer.write_rows("topics", [{"partitions": "many"}])
    assert [parquet.read_table(tmp_path / "w" / path).num_rows for path in files(tmp_path / "w")] == [1]


def hold(path, held, release):
    with Warehouse.open(path).writing():
        held.set()
        release.wait(30)


@pytest.mark.slow
def test_only_one_writes_at_a_time(tmp_path):
    warehouse = Warehouse.make(str(tmp_path / "w"))
    context = multiprocessing.get_context("spawn")
    held, release = context.Event(), context.Event()
    other = context.Process(target=hold, args=(str(tmp_path / "w"), held, release))
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


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4])
def test_a_cluster_is_forgotten_whole_or_not_at_all(tmp_path, monkeypatch, steps):
    warehouse = Warehouse.make(str(tmp_path / "w"))
    kept = committed(warehouse, "run1", "kept", "one")
    before = committed(warehouse, "run2", "gone", "one", "two")
    remove, removed = warehouse._remove, []

    def killed(path):
        if len(removed) == steps:
            raise KeyboardInterrupt
        removed.append(path)
        remove(path)

    monkeypatch.setattr(warehouse, "_remove", killed)
    if steps < 4:
        with pytest.raises(KeyboardInterrupt):
            warehouse.forget("gone")
    else:
        assert warehouse.forget("gone").rows() == {"topics": 2}
    monkeypatch.undo()
    with warehouse.writing():
        pass
    assert warehouse.manifest("gone") == (None if steps else before)
    assert files(tmp_path / "w") == sorted(kept.paths() | (before.paths() if not steps else set()))


def test_a_warehouse_has_secrets_everywhere_or_nowhere(tmp_path):
    Warehouse.make(str(tmp_path / "without"))
    Warehouse.make(str(tmp_path / "without"))
    with pytest.raises(WarehouseError, match="its tables hold no secrets: name another directory for --keep-secrets"):
        Warehouse.make(str(tmp_path / "without"), keep_secrets=True)
    Warehouse.make(str(tmp_path / "with"), keep_secrets=True)
    assert Warehouse.make(str(tmp_path / "with"), keep_secrets=True).keeps_secrets()
    with pytest.raises(WarehouseError, match=r"its tables hold secrets \(--keep-secrets, or an older falkirk\)"):
        Warehouse.make(str(tmp_path / "with"))


def test_a_warehouse_of_an_older_falkirk_counts_as_one_with_secrets(tmp_path):
    Warehouse.make(str(tmp_path / "w"))
    about = tmp_path / "w" / "_falkirk" / "warehouse.json"
    about.write_text('{"format": 1, "written_by": "falkirk 0.1"}')
    with pytest.raises(WarehouseError, match="its tables hold secrets"):
        Warehouse.make(str(tmp_path / "w"))
    Warehouse.make(str(tmp_path / "w"), keep_secrets=True)


@pytest.mark.parametrize("name", ["../../evil", "..", "", "a/b", "a\\b", ".a"])
def test_a_name_that_leads_out_of_the_warehouse_is_refused(tmp_path, name):
    warehouse = Warehouse.make(str(tmp_path / "w"))
    with pytest.raises(WarehouseError, match="is no name for a cluster"):
        warehouse.commit(Manifest(cluster=name), "run1", None)
    with pytest.raises(WarehouseError, match="is no name for a cluster"):
        put(warehouse, "run1", name, "one")
    assert files(tmp_path) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w"]


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


@pytest.mark.parametrize("name", ["warehouse.json", "clusters/a.json"])
def test_a_warehouse_of_a_newer_falkirk_is_refused(tmp_path, name):
    warehouse = Warehouse.make(str(tmp_path / "w"))
    committed(warehouse, "run1", "a", "one")
    path = tmp_path / "w" / "_falkirk" / name
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": FORMAT + 1}))
    with pytest.raises(WarehouseError, match=f"in format {FORMAT + 1}.*reads up to format {FORMAT}"):
        Warehouse.open(str(tmp_path / "w")).manifests()


def test_a_damaged_manifest_is_named(tmp_path):
    warehouse = Warehouse.make(str(tmp_path / "w"))
    committed(warehouse, "run1", "a", "one")
    (tmp_path / "w" / "_falkirk" / "clusters" / "a.json").write_text("{")
    with pytest.raises(WarehouseError, match=r"_falkirk/clusters/a.json: damaged: "):
        warehouse.manifests()
