"""Directories that real Kafka left, opened, used and closed by ours."""

import tarfile
from itertools import pairwise

import pytest
from data_logs import contents, opened, produce
from kraft_batches import CLUSTERS

from falkirk.protocol.record_batch import read_batches
from falkirk.storage.leader_epochs import parse_leader_epochs
from falkirk.storage.log.read import FetchIsolation
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.offset_checkpoints import parse_offset_checkpoint
from falkirk.storage.partition_directory import DirectoryState, parse_partition_directory
from falkirk.storage.producer_state import parse_producer_snapshot

pytestmark = pytest.mark.slow

RELEASES = ["3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0"]


@pytest.fixture(scope="module", params=RELEASES)
def cluster(request):
    """Return the files of all partitions but the metadata's: directory to name to content."""
    found = {}
    with tarfile.open(CLUSTERS / f"{request.param}.tar.gz") as archive:
        for member in archive:
            parts = member.name.split("/")
            if member.isfile() and len(parts) == 4 and parts[2] != "__cluster_metadata-0":
                found.setdefault("/".join(["", *parts[1:3]]), {})[parts[3]] = archive.extractfile(member).read()
            if parts[-1] == "log-start-offset-checkpoint":
                starts = parse_offset_checkpoint(archive.extractfile(member).read(), file="f").as_dict()
    current = {}
    for path, files in found.items():
        name = parse_partition_directory(path.rpartition("/")[2])
        if name.state is DirectoryState.CURRENT:
            current[path] = (files, starts.get((name.topic, name.partition), 0))
    assert len(current) > 10
    return current


def disk_of(path, files):
    disk = MemoryDisk()
    disk.make_directory(path)
    for name, content in files.items():
        disk.write(f"{path}/{name}", [content])
    return disk


def files_at(disk, path):
    return {name: disk.read(f"{path}/{name}") for name in disk.list(path)}


def opened_at(disk, path, start, *, had_clean_shutdown=True):
    # Never expired: the clusters are old.
    return opened(
        disk,
        directory=path,
        topic_id=bytes(16),
        log_start_offset=start,
        had_clean_shutdown=had_clean_shutdown,
        producer_id_expiration_ms=2**62,
    )


def test_a_closed_log_is_opened_and_closed_without_a_byte_that_changes(cluster):
    for path, (files, start) in cluster.items():
        disk = disk_of(path, files)
        log = opened_at(disk, path, start)
        assert log.recovery.scanned_segments == 0
        batches = [batch for name in sorted(files) if name.endswith(".log") for batch in read_batches(files[name])]
        assert contents(log) == b"".join(bytes(batch.data) for batch in batches if batch.end_offset > start)
        assert log.log_end_offset == max([start, *(batch.end_offset for batch in batches)])
        # An epoch in which nothing was written is forgotten at a start, by Kafka too.
        epochs = parse_leader_epochs(files["leader-epoch-checkpoint"]).entries
        assert log.leader_epochs.entries == tuple(
            entry for entry in epochs if entry.start_offset < max(log.log_end_offset, start)
        )
        snapshot = files.get(f"{log.log_end_offset:020d}.snapshot")
        if snapshot is not None:
            assert log.active_producers() == list(parse_producer_snapshot(snapshot, file="f"))
        log.close()
        left = files_at(disk, path)
        if epochs != log.leader_epochs.entries:
            left["leader-epoch-checkpoint"] = files["leader-epoch-checkpoint"]
        if snapshot is None:
            left.pop(f"{log.log_end_offset:020d}.snapshot", None)
        assert left == files


def test_a_log_of_a_broker_that_was_killed_comes_out_the_same(cluster):
    for path, (files, start) in cluster.items():
        before = opened_at(disk_of(path, files), path, start)
        kept = {name: content for name, content in files.items() if name.endswith((".log", ".metadata", "checkpoint"))}
        torn = max(name for name in kept if name.endswith(".log"))
        disk = disk_of(path, {**kept, torn: kept[torn] + b"\0" * 100})
        log = opened_at(disk, path, start, had_clean_shutdown=False)
        assert (log.log_start_offset, log.log_end_offset) == (before.log_start_offset, before.log_end_offset)
        assert log.leader_epochs == before.leader_epochs
        by_id = {entry.producer_id: entry for entry in log.active_producers()}
        assert by_id == {entry.producer_id: entry for entry in before.active_producers()}
        for ours, theirs in zip(log.segments, before.segments, strict=True):
            assert list(ours.aborted) == list(theirs.aborted)
            assert ours.largest == theirs.largest
            assert list(ours.index.offsets) == list(theirs.index.offsets)


def test_every_offset_is_found_and_transactions_are_told(cluster):
    for path, (files, start) in cluster.items():
        log = opened_at(disk_of(path, files), path, start)
        log.update_high_watermark(log.log_end_offset)
        batches = list(read_batches(contents(log)))
        for batch in batches:
            fetched = log.read(max(batch.base_offset, start), 1, FetchIsolation.LOG_END, is_one_batch_needed=True)
            assert bytes(fetched.records) == bytes(batch.data)
        for before, after in pairwise(batches):
            assert log.read(before.end_offset, 1, FetchIsolation.LOG_END, is_one_batch_needed=True).first_offset == (
                after.base_offset
            )
        if batches:
            fetched = log.read(max(batches[0].base_offset, start), 10_000_000, FetchIsolation.TXN_COMMITTED)
            has_aborted = any(name.endswith(".txnindex") and content for name, content in files.items())
            assert bool(fetched.aborted_transactions) == has_aborted
            largest = max(batch.max_timestamp for batch in batches)
            if largest >= 0 and not batches[0].is_control:
                assert log.offset_of_max_timestamp().timestamp == largest
                assert log.offset_for_timestamp(largest) == log.offset_of_max_timestamp()
                assert log.offset_for_timestamp(largest + 1) is None


def test_a_log_goes_on_where_a_real_broker_stopped(cluster):
    for path, (files, start) in cluster.items():
        disk = disk_of(path, files)
        log = opened_at(disk, path, start)
        end = log.log_end_offset
        info = produce(log, b"ours", epoch=(log.latest_epoch or 0) + 1)
        assert info.first_offset == end
        log.close()
        assert opened_at(disk, path, start).log_end_offset == end + 1
