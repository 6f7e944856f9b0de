import pytest
from storage_files import STORAGE, label

from falkirk.protocol.metadata_record import decode_metadata_record
from falkirk.protocol.record_batch import read_batches
from falkirk.storage.bootstrap_checkpoint import (
    BOOTSTRAP_SNAPSHOT,
    bootstrap_values,
    read_bootstrap_checkpoint,
    write_bootstrap_checkpoint,
    write_bootstrap_snapshot,
)
from falkirk.storage.snapshot_file import format_snapshot_name

METADATA = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
FORMATTED = STORAGE / "4.4.0-formatted/d0" / METADATA


@pytest.mark.parametrize("path", sorted(STORAGE.rglob("bootstrap.checkpoint")), ids=label)
def test_files_of_kafka_are_written_byte_for_byte(path):
    data = path.read_bytes()
    snapshot = read_bootstrap_checkpoint(data, file=path.name)
    times = [batch.max_timestamp for batch in read_batches(data)]
    assert b"".join(write_bootstrap_checkpoint(bootstrap_values(snapshot), clock=iter(times).__next__)) == data


@pytest.mark.parametrize("path", [FORMATTED, STORAGE / "4.3.1/n1" / METADATA], ids=label)
def test_snapshots_of_formatting_are_written_byte_for_byte(path):
    data = path.read_bytes()
    snapshot = read_bootstrap_checkpoint(data, file=path.name)
    times = [snapshot.last_contained_log_timestamp, *(batch.max_timestamp for batch in read_batches(data))]
    chunks = write_bootstrap_snapshot(
        bootstrap_values(snapshot),
        clock=iter(times).__next__,
        kraft_version=snapshot.kraft_version,
        voters=snapshot.voters,
    )
    assert b"".join(chunks) == data


def test_the_form_of_4_4_is_a_snapshot_with_voters():
    assert format_snapshot_name(BOOTSTRAP_SNAPSHOT) == FORMATTED.name
    snapshot = read_bootstrap_checkpoint(FORMATTED.read_bytes())
    assert (snapshot.kraft_version, len(snapshot.voters.voters)) == (1, 1)
    names = [type(decode_metadata_record(value)[0]).__name__ for value in bootstrap_values(snapshot)]
    assert names[0] == "FeatureLevelRecord"
    assert "UserScramCredentialRecord" in names


def test_the_older_form_begins_with_the_metadata_version():
    snapshot = read_bootstrap_checkpoint((STORAGE / "3.7.2-moved/d0/bootstrap.checkpoint").read_bytes())
    record, version = decode_metadata_record(bootstrap_values(snapshot)[0])
    assert (record.name, version, snapshot.kraft_version) == ("metadata.version", 0, None)
