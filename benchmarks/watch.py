"""A follower of a million partitions: its first verdict against a plan's, and what a change costs it.

Budgets: the first verdict on all older releases takes at most 1.5 times what reading the metadata for a plan of one
takes, a ratio >= 0.67; 1,000 changes a second take at most one processor, so a change takes at most 1 ms. One in a
hundred partitions loses something. Both sides begin with the same batches in memory; groups are not in it.
The memory of a follower is the image's: at most a quarter more, a ratio >= 0.8, in bytes.
"""

import gc
import multiprocessing
import random
import resource
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from falkirk.metadata.image.metadata_image import MetadataImage, Provenance
from falkirk.metadata.levels.writer import WriterOptions, assess, write_values
from falkirk.metadata.losses.locate import locate
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.metadata.records.batch import MetadataBatch
from falkirk.protocol.messages import PartitionChangeRecord
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.watch.core.cluster import ClusterState, load_ledger
from falkirk.watch.core.freshness import GROUPS, METADATA
from falkirk.watch.core.metadata_ledger import MetadataLedger, Snapshot
from falkirk.watch.core.targets import older_releases
from support.large_image import RELEASE, made_image
from support.line import print_line

TURNS = 3
CHANGES = 5_000
BATCH = 1_000


def main() -> None:
    partitions = int(sys.argv[1]) if sys.argv[1:2] and sys.argv[1].isdigit() else 1_000_000
    snapshot = snapshot_of(made_image(partitions))
    gc.collect()
    gc.freeze()
    gc.disable()  # as both sides do while they load
    ours, theirs = [], []
    for _ in range(TURNS):
        theirs.append(timed(lambda: plan(snapshot)))
        ours.append(timed(lambda: first_verdict(snapshot)))
    print_line(f"first verdict, {partitions} partitions", ours, theirs, budget=0.67, against="logdir plan's metadata")
    # As lines of time elsewhere; here both sides are bytes.
    sides = [[float(memory_of(load, snapshot))] for load in (load_watched, load_image)]
    print_line(f"memory, {partitions} partitions", *sides, budget=0.8, against="the image (bytes)")
    gc.enable()
    changes = [change_seconds(load_ledger(snapshot, [])) for _ in range(TURNS)]
    print_line(f"one change, {partitions} partitions", changes, [0.001] * TURNS, budget=1, against="1 ms")


def memory_of(load, snapshot: Snapshot) -> int:
    """Return by how many bytes a process grows that loads a snapshot; a new one, which has no free memory to reuse."""
    new = multiprocessing.get_context("spawn")
    here, there = new.Pipe(duplex=False)
    process = new.Process(target=grow, args=(load, snapshot, there))
    process.start()
    grown = here.recv()
    process.join()
    return grown


def grow(load, snapshot: Snapshot, there) -> None:
    before = resident_bytes()
    held = load(snapshot)
    gc.collect()
    there.send(resident_bytes() - before)
    assert held is not None


def load_watched(snapshot: Snapshot) -> MetadataLedger:
    return load_ledger(snapshot, [])


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def snapshot_of(image: MetadataImage) -> Snapshot:
    """Return the image as the batches of a snapshot."""
    options = WriterOptions(metadata_version=RELEASE.latest_metadata_version)
    batches, offset = [], 0
    for values in batched(write_values(image, options), BATCH):
        end = offset + len(values)
        batches.append(MetadataBatch(base_offset=offset, end_offset=end, epoch=1, timestamp=1, values=values))
        offset = end
    return Snapshot(tuple(batches), Provenance(offset, 1, 1))


def batched(values: Iterable[bytes], size: int) -> Iterator[tuple[bytes, ...]]:
    """Yield values in groups (itertools has it from Python 3.12 on)."""
    rest = iter(values)
    while found := tuple(islice(rest, size)):
        yield found


def load_image(snapshot: Snapshot) -> MetadataLoader:
    loader = MetadataLoader()
    loader.load_snapshot(snapshot.batches, snapshot.provenance)
    return loader


def plan(snapshot: Snapshot) -> None:
    """Do what a plan does with the metadata, for the release in the middle."""
    loader = MetadataLoader()
    image = loader.load_snapshot(snapshot.batches, snapshot.provenance)
    target = older_releases()[2]
    report = assess(image, WriterOptions(metadata_version=target.metadata_version, release=target.release))
    locate([*report.losses, *report.inaccessible], snapshot.batches)


def first_verdict(snapshot: Snapshot) -> None:
    """Do what a watch does until it has its first findings."""
    state = ClusterState("benchmark")
    state.begin("benchmark", {})
    state.set_metadata(load_ledger(snapshot, []), 1)
    for source in (METADATA, GROUPS):
        state.read(source, 1)
    assert len(state.findings(1).ways) == len(older_releases())


def change_seconds(ledger: MetadataLedger) -> float:
    """Return the time of one change of a partition's ISR, each a batch; every second one begins or ends a loss."""
    rng = random.Random(1)
    names = sorted(ledger.image.topics.by_name)
    batches, offset = [], ledger.end_offset
    for number in range(CHANGES):
        topic = ledger.image.topics.by_name[rng.choice(names)]
        partition_id = rng.randrange(topic.partition_count)
        partition = topic.partition(partition_id)
        assert partition is not None
        elr = partition.replicas[1:] if number % 2 else ()
        record = PartitionChangeRecord(
            partition_id, topic.topic_id, isr=partition.replicas[:1], eligible_leader_replicas=elr
        )
        value = encode_metadata_record(record, 2)
        batches.append(
            MetadataBatch(base_offset=offset, end_offset=offset + 1, epoch=1, timestamp=number, values=(value,))
        )
        offset += 1
    started = time.process_time()
    for batch in batches:
        ledger.append(batch)
    return (time.process_time() - started) / CHANGES


def timed(work) -> float:
    started = time.process_time()
    work()
    gc.collect()
    return time.process_time() - started


if __name__ == "__main__":
    main()
