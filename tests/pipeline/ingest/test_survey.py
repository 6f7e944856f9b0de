from fleet_clusters import fleet_cluster
from made_clusters import MadeCluster

from falkirk.pipeline.ingest.survey import IngestOptions, survey_cluster
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.warehouse.warehouse import Warehouse
from falkirk.storage.posix_disk import PosixDisk


def survey(root, warehouse):
    Warehouse.make(str(warehouse))
    options = IngestOptions(warehouse=str(warehouse), run="r", tables=frozenset(TABLES), split_bytes=1 << 20)
    return survey_cluster(fleet_cluster(root), [], options)


def test_a_directory_that_cannot_be_listed_is_a_problem_and_the_rest_is_read(tmp_path, monkeypatch):
    made = MadeCluster(root=tmp_path / "c", partitions={"__consumer_offsets-0": []}).make()
    denied = str(made.metadata(1))
    real = PosixDisk.list

    def deny(disk, directory):
        if directory == denied:
            raise PermissionError(13, "Permission denied", directory)
        return real(disk, directory)

    monkeypatch.setattr(PosixDisk, "list", deny)
    found = survey(made.root, tmp_path / "w")
    assert [piece.key for piece in found.pieces] == ["unreadable"]
    assert [(unit.kind, unit.partition) for unit in found.units] == [("group_state", 0)]


def test_everything_of_a_new_cluster_is_work(tmp_path):
    made = MadeCluster(root=tmp_path / "c").make()
    found = survey(made.root, tmp_path / "w")
    assert [piece.key for piece in found.pieces] == ["log_dirs", "metadata"]
    assert {unit.kind for unit in found.units} == {"metadata_records"}
    assert found.before is None


def test_directories_in_the_place_of_files_hide_nothing_else(tmp_path):
    made = MadeCluster(root=tmp_path / "c", partitions={"__consumer_offsets-0": []}).make()
    for folder in (made.metadata(1), made.log_dir(1) / "__consumer_offsets-0"):
        (folder / f"{99:020}.log").mkdir()
        (folder / f"{99:020}-{1:010}.checkpoint").mkdir()
    found = survey(made.root, tmp_path / "w")
    assert [piece.key for piece in found.pieces] == ["log_dirs", "metadata"]
    assert {unit.kind for unit in found.units} == {"metadata_records", "group_state"}
