"""Clusters that were formatted and never ran: all their metadata is what formatting wrote."""

import pytest
from made_clusters import METADATA, NOW_MS
from stopped_clusters import DISK, cluster_at, hashes, plan_for

from falkirk.logdir.downgrade import downgrade
from falkirk.logdir.undo import undo
from falkirk.metadata.image.difference import differences
from falkirk.metadata.levels.writer import write_image
from falkirk.protocol.messages import FeatureLevelRecord, UserScramCredentialRecord
from falkirk.protocol.metadata_record import decode_metadata_record, encode_metadata_record
from falkirk.storage.bootstrap_checkpoint import (
    BOOTSTRAP_SNAPSHOT,
    bootstrap_values,
    read_bootstrap_checkpoint,
    write_bootstrap_snapshot,
)
from falkirk.storage.snapshot_file import format_snapshot_name

SNAPSHOT = format_snapshot_name(BOOTSTRAP_SNAPSHOT)
MOVES = [
    ("4.4.0-formatted", "4.4-IV0"),
    ("4.4.0-formatted", "4.3"),
    ("4.4.0-formatted", "3.9"),
    ("4.4.0-formatted", "3.7"),
    ("4.3.1-formatted", "3.7"),
    ("4.0.0-formatted", "3.9"),
    ("3.9.1-formatted", "3.7"),
]


@pytest.mark.parametrize(("name", "to"), MOVES)
def test_users_and_voters_come_down_and_all_of_it_back_up(kafka_directory, tmp_path, name, to):
    source = kafka_directory(name)
    before, plan = hashes(source), plan_for(to, source)
    result = downgrade(DISK, plan, tmp_path / "out", unsafe=True)
    assert hashes(source) == before
    lowered = cluster_at(tmp_path / "out")
    assert lowered.image.scram == plan.cluster.image.scram
    assert lowered.image.configs == plan.cluster.image.configs
    assert lowered.kraft_version == plan.kraft.after

    expected = {record for record, _ in told(write_image(plan.cluster.image, plan.options, on_loss=lambda _: None))}
    for file in (tmp_path / "out").glob("node-1/*/bootstrap.checkpoint"):
        values = bootstrap_values(read_bootstrap_checkpoint(file.read_bytes()))
        assert {record for record, _ in told(decode_metadata_record(value) for value in values)} == expected

    undo(DISK, lowered, result.bundle, tmp_path / "back")
    restored = cluster_at(tmp_path / "back")
    assert list(differences(plan.cluster.image, restored.image)) == []
    assert restored.kraft_version == plan.cluster.kraft_version
    if plan.cluster.kraft_version:
        assert restored.log.voters == plan.cluster.log.voters


def told(records):
    return [(repr(record), version) for record, version in records]


def test_the_form_of_4_4_stays_where_4_4_reads_it(kafka_directory, tmp_path):
    downgrade(DISK, plan_for("4.4-IV0", kafka_directory("4.4.0-formatted")), tmp_path / "out", unsafe=True)
    files = {
        path.relative_to(tmp_path / "out" / "node-1").as_posix() for path in (tmp_path / "out").rglob("*.checkpoint")
    }
    assert files == {f"d0/{METADATA}/{SNAPSHOT}"}


@pytest.mark.parametrize("to", ["4.4-IV0", "4.3", "3.7"])
@pytest.mark.parametrize("voted", [False, True])
def test_a_node_of_4_4_with_static_voters_keeps_what_it_was_formatted_with(made_cluster, tmp_path, to, voted):
    made = made_cluster(level=33, kraft_version=0)
    state = (made.metadata(1) / "quorum-state").read_bytes()
    if not voted:
        (made.metadata(1) / "quorum-state").unlink()
    (made.log_dir(1) / "bootstrap.checkpoint").unlink()
    for file in made.metadata(1).glob("*.log"):
        file.unlink()
    records = [FeatureLevelRecord("metadata.version", 33), UserScramCredentialRecord("u", 1, b"a", b"b", b"c", 4096)]
    values = [encode_metadata_record(record, 0) for record in records]
    chunks = write_bootstrap_snapshot(values, clock=lambda: NOW_MS, kraft_version=0, voters=None)
    (made.metadata(1) / SNAPSHOT).write_bytes(b"".join(chunks))
    result = downgrade(DISK, plan_for(to, made.root), tmp_path / "out")
    assert cluster_at(tmp_path / "out").image.counts()["scram_credentials"] == 1
    undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    assert list(differences(cluster_at(made.root).image, cluster_at(tmp_path / "back").image)) == []
    states = [file.read_bytes() for place in ("out", "back") for file in (tmp_path / place).rglob("quorum-state")]
    assert states == ([state, state] if voted else [])
