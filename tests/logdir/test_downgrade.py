import json
from pathlib import Path

import pytest
from stopped_clusters import DISK, cluster_at, hashes, plan_for

from falkirk.logdir import write_tree as write_tree_module
from falkirk.logdir.bundle import BundleError, read_bundle
from falkirk.logdir.downgrade import BlockedError, DataWouldBeLostError, downgrade, downgrade_in_place
from falkirk.logdir.errors import OutputError
from falkirk.logdir.locate import find_nodes
from falkirk.logdir.undo import undo
from falkirk.logdir.verify import verify
from falkirk.metadata.image.difference import differences
from falkirk.metadata.levels.writer import write_image
from falkirk.protocol.messages import FeatureLevelRecord
from falkirk.protocol.metadata_record import decode_metadata_record
from falkirk.storage.bootstrap_checkpoint import bootstrap_values, read_bootstrap_checkpoint
from falkirk.storage.partition_log import read_segments
from falkirk.storage.quorum_state import parse_quorum_state
from falkirk.storage.snapshot_file import read_snapshot
from falkirk.versions.release import Release

# The results of real clusters are made once and shared.
MOVES = [
    ("4.4.0", "4.0"),
    ("4.4.0", "3.7"),
    ("4.3.1", "3.9"),
    ("3.7.2", "3.7-IV1"),
    ("3.9.1", "3.7-IV0"),
    ("elr-4.3.1", "3.9"),
    *(
        pytest.param(name, to, marks=pytest.mark.full)
        for name, to in [
            ("4.4.0", "4.3"),
            ("4.4.0", "3.9"),
            ("4.3.1", "4.0-IV0"),
            ("4.3.1", "3.7-IV0"),
            ("4.3.1", "4.2"),
            ("4.3.1", "3.8"),
            ("4.0.0", "3.9"),
            ("4.0.0", "3.7-IV2"),
            ("3.9.1", "3.7"),
            ("moved-4.3.1", "3.7"),
        ]
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "to"), MOVES)
def test_a_result_holds_the_metadata_at_its_level_and_passes_every_check(downgraded, name, to):
    done = downgraded(name, to)
    assert hashes(done.source) == done.hashes_before

    plan, result = done.result.plan, cluster_at(done.out)
    expected = [record for record, _ in write_image(plan.cluster.image, plan.options, on_loss=lambda _: None)]
    found = [decode_metadata_record(value)[0] for batch in result.log.snapshot.data_batches for value in batch.values()]
    assert found == expected
    assert (result.end_offset, result.epoch) == (plan.cluster.end_offset, plan.cluster.epoch)
    assert result.kraft_version == plan.kraft.after
    checked = verify(DISK, result, plan.target.release)
    assert checked.problems == []
    assert checked.data_bytes > 0 or name in ("elr-4.3.1", "moved-4.3.1")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "to"), MOVES)
def test_undo_gives_all_of_it_back(downgraded, tmp_path, name, to):
    done = downgraded(name, to)
    back = undo(DISK, cluster_at(done.out), done.result.bundle, tmp_path / "back")
    assert back.conflicts == ()
    before, restored = done.result.plan.cluster, cluster_at(tmp_path / "back")
    assert list(differences(before.image, restored.image)) == []
    assert restored.kraft_version == before.kraft_version
    assert verify(DISK, restored, Release.parse("4.4")).problems == []
    for node in before.nodes:  # the records of groups too, byte for byte, or at least record for record
        for log_dir in node.log_dirs:
            place = tmp_path / "back" / f"node-{node.node_id}" / log_dir.path.name
            for partition in log_dir.path.glob("__consumer_offsets-*"):
                assert records_of(partition) == records_of(place / partition.name)


def records_of(partition):
    return [
        (record.offset, record.timestamp, record.key, record.value)
        for reader in read_segments(DISK, str(partition))
        for batch in reader
        for record in batch.records()
    ]


def test_data_files_are_copied_as_they_are(downgraded):
    done = downgraded("4.3.1", "3.9")
    for name in ("d0", "d1"):
        old, new = hashes(done.source / name), hashes(done.out / "node-1" / name)
        changed = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
        assert all(path.startswith("__cluster_metadata-0/") or path == "bootstrap.checkpoint" for path in changed)


def test_no_file_of_the_result_is_the_sources_own(downgraded):
    done = downgraded("4.3.1", "3.9")
    inodes = {path.stat().st_ino for path in done.source.rglob("*") if path.is_file()}
    assert not inodes & {path.stat().st_ino for path in done.out.rglob("*") if path.is_file()}
    assert all(path.stat().st_nlink == 1 for path in done.out.rglob("*") if path.is_file())


def test_all_nodes_get_the_same_snapshot_and_nothing_newer(downgraded):
    folders = sorted(downgraded("elr-4.3.1", "3.9").out.glob("node-*/*/__cluster_metadata-0"))
    assert [folder.parent.parent.name for folder in folders] == ["node-1", "node-2", "node-3"]
    contents = [(folder / "00000000000000000453-0000000001.checkpoint").read_bytes() for folder in folders]
    assert len(set(contents)) == 1
    for folder in folders:
        assert {path.name for path in folder.iterdir()} == {
            "00000000000000000453-0000000001.checkpoint", "partition.metadata", "quorum-state",
        }  # fmt: skip


@pytest.mark.slow
def test_the_same_downgrade_gives_the_same_bytes(downgraded, tmp_path):
    done = downgraded("4.3.1", "3.9")
    downgrade(DISK, plan_for("3.9", done.source), tmp_path / "again", unsafe=True)
    assert hashes(tmp_path / "again" / "node-1") == hashes(done.out / "node-1")


@pytest.mark.parametrize(("name", "to", "kraft_version"), [("4.3.1", "3.9", 1), ("4.4.0", "3.7", 0)])
def test_releases_before_3_9_get_static_voters(downgraded, name, to, kraft_version):
    done = downgraded(name, to)
    [metadata] = done.out.glob("node-1/*/__cluster_metadata-0")
    state = parse_quorum_state((metadata / "quorum-state").read_bytes())
    assert state.data_version == kraft_version
    [snapshot_file] = metadata.glob("*.checkpoint")
    snapshot = read_snapshot(snapshot_file.read_bytes(), file="snapshot")
    assert (snapshot.kraft_version or 0, snapshot.voters is None) == (kraft_version, kraft_version == 0)
    told = done.result.as_json()["nodes"][0].get("controller.quorum.voters")
    if kraft_version:
        assert told is None
    else:
        endpoint = done.result.plan.cluster.voters.endpoints[1]
        assert told == f"1@127.0.0.1:{endpoint.port}"
        assert state.current_voters == (1,)


def test_every_log_directory_starts_from_a_bootstrap_file_of_the_target(downgraded):
    done = downgraded("4.4.0", "3.7")  # 4.4 has none itself
    files = sorted(done.out.glob("node-1/*/bootstrap.checkpoint"))
    assert len(files) == len(list(done.source.iterdir())) == 2
    for file in files:
        records = [decode_metadata_record(v)[0] for v in bootstrap_values(read_bootstrap_checkpoint(file.read_bytes()))]
        assert records[0] == FeatureLevelRecord(name="metadata.version", feature_level=19)
        assert not any(isinstance(record, FeatureLevelRecord) for record in records[1:])


def test_safe_refuses_what_would_be_lost_and_writes_nothing(kafka_directory, tmp_path):
    plan = plan_for("3.7-IV0", kafka_directory("4.3.1"))
    with pytest.raises(DataWouldBeLostError, match=r"would be lost on the way to 3\.7-IV0"):
        downgrade(DISK, plan, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert {loss.kind for loss in plan.losses} >= {"broker_log_dirs", "directory_assignment"}


def test_safe_goes_on_where_nothing_is_lost(made_cluster, tmp_path):
    plan = plan_for("3.7", made_cluster(level=21).root)
    assert plan.is_lossless
    downgrade(DISK, plan, tmp_path / "out")
    assert cluster_at(tmp_path / "out").image.features.metadata_version.level == 19


def test_every_loss_says_where_it_was_written(kafka_directory):
    plan = plan_for("3.7-IV0", kafka_directory("4.3.1"))
    for loss in plan.report.losses:
        assert loss.source is not None
        assert loss.offset is not None


def test_going_up_is_blocked(kafka_directory, tmp_path):
    plan = plan_for("4.0", kafka_directory("3.9.1"))
    with pytest.raises(BlockedError, match=r"metadata\.version is 3\.9-IV0, and 4\.0-IV3 is above it"):
        downgrade(DISK, plan, tmp_path / "out", unsafe=True)


def test_a_place_that_is_taken_is_refused(made_cluster, tmp_path):
    plan = plan_for("3.9", made_cluster().root)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(OutputError, match="out: not empty"):
        downgrade(DISK, plan, tmp_path / "out", unsafe=True)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="file: not a directory"):
        downgrade(DISK, plan, tmp_path / "file", unsafe=True)
    (tmp_path / "empty").mkdir()
    downgrade(DISK, plan, tmp_path / "empty", unsafe=True)


def test_what_fails_half_way_leaves_nothing(made_cluster, tmp_path, monkeypatch):
    calls = []

    def fail(*arguments, **options):
        calls.append(arguments)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write_tree_module, "write_changed_files", fail)
    with pytest.raises(OutputError, match=r"out: No space left on device; nothing is left there"):
        downgrade(DISK, plan_for("3.9", made_cluster("source").root), tmp_path / "out")
    assert calls
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_the_ledger_repeats_the_plan_and_the_bundle_names_every_object(downgraded):
    result = downgraded("elr-4.3.1", "3.9").result
    ledger = json.loads(result.ledger.read_text())
    assert ledger == json.loads(json.dumps(result.as_json()))
    assert ledger["losses"] == json.loads(json.dumps([loss.as_json() for loss in result.plan.losses]))
    assert len(ledger["losses"]) == 34
    bundle = read_bundle(result.bundle)
    assert bundle.level_before == 30
    assert {change.key for change in bundle.objects} >= {loss.key_text for loss in result.plan.report.losses}


@pytest.mark.slow
def test_in_place_the_directories_become_the_result_and_a_backup_stays(own_directory, downgraded):
    directory, done = own_directory("4.3.1"), downgraded("4.3.1", "3.9")
    result = downgrade_in_place(DISK, plan_for("3.9", directory), unsafe=True)
    for name in ("d0", "d1"):
        assert hashes(directory / name) == hashes(done.out / "node-1" / name)
        backup = hashes(directory / f"{name}.falkirk-backup")
        assert backup
        assert all(done.hashes_before[f"{name}/{path}"] == value for path, value in backup.items())
    assert result.bundle.parent == directory / "d0.falkirk-undo"
    assert read_bundle(result.bundle) == read_bundle(done.result.bundle)


def test_another_clusters_bundle_is_refused(kafka_directory, made_cluster, tmp_path):
    result = downgrade(DISK, plan_for("3.7", made_cluster().root), tmp_path / "out")
    with pytest.raises(BundleError, match="of cluster hfgjSfLshYrZXYqfd36Qxg, the directories are of"):
        undo(DISK, cluster_at(kafka_directory("3.7.2-formatted")), result.bundle, tmp_path / "back")


def test_a_node_whose_directories_are_missing_is_named(kafka_directory):
    directory = kafka_directory("elr-4.3.1")
    plan = plan_for("3.9", directory / "n1")
    assert [
        warning for warning in plan.warnings if warning.text.startswith("node 2 belongs to the cluster and is not here")
    ]
    assert len(find_nodes([directory / "n1"])) == 1
    assert isinstance(directory, Path)
