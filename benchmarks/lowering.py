"""An image of 100,000 partitions lowered in place, against what KIP-1155 has nodes do: reload the snapshot.

Budgets: 4 where 1 % of the partitions have something to lose, and 0.8 where each of them has (below 3.7-IV2 no
replica's directory is known). The peer is our own loader on the values of that snapshot, up to the delta that
publishers get: they are in memory already, so it has no snapshot to write, no file to read and no CRC to check. Another
line shows the active controller, which updates its indexes where it would rebuild them. All of it in processor time.
Both deltas hold the changed partitions and no others; that is checked, and their number printed.
"""

import gc
import time
from collections.abc import Callable, Iterator

from falkirk.metadata.controller.state.controller_indexes import ControllerIndexes
from falkirk.metadata.controller.state.controller_state import ControllerState
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, MetadataImage, Provenance
from falkirk.metadata.levels.lowering import lower, lowering_options
from falkirk.metadata.levels.writer import write_values
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.metadata.records.batch import MetadataBatch, VersionedRecord
from falkirk.protocol.messages import FeatureLevelRecord, PartitionRecord, RegisterBrokerRecord, TopicRecord
from falkirk.protocol.schema import WireMessage
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion
from support.line import print_line

TURNS = 7
TOPICS, PARTITIONS = 10_000, 10
BROKERS = 12
EACH_HAS_ELR = 100
BEHIND = Provenance(1_000_000, 7, 0)


class Publisher:
    """Counts the partitions of the last published delta."""

    def __init__(self) -> None:
        self.partitions = 0

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        assert image is not delta.image
        self.partitions = partitions_in(delta)


def measure() -> None:
    image = made_image()
    gc.collect()
    gc.freeze()  # as a node does once it has loaded: the image is not garbage
    for level, words, budget in (("3.9-IV0", "1 % change", 4), ("3.7-IV0", "all change", 0.8)):
        to = MetadataVersion.parse(level)
        batch = snapshot_batch(image, to)
        held, ours, theirs = 0, [], []
        for _ in range(TURNS):
            spent, held = lower_seconds(image, to)
            ours.append(spent)
            spent, loaded = load_seconds(image, batch)
            theirs.append(spent)
            assert loaded == held
        name = f"lowering 100k partitions to {level}, {words}, {held:,} in the delta"
        print_line(name, ours, theirs, budget=budget, against="loading the snapshot")
    measure_controller(image)


def measure_controller(image: MetadataImage) -> None:
    to = MetadataVersion.parse("3.9-IV0")
    lowered = lower(image, to, BEHIND).image
    records = [VersionedRecord(FeatureLevelRecord(METADATA_VERSION, to.level), 0)]
    ours, theirs = [], []
    for _ in range(TURNS):
        state = ControllerState(image, ControllerIndexes.of(image))
        ours.append(seconds(lambda state=state: state.replay(records, end_offset=1_000_000, epoch=7, now_ms=0)))
        theirs.append(seconds(lambda: ControllerState(lowered, ControllerIndexes.of(lowered))))
    print_line(
        "a controller follows it, 100k partitions, 1 % change",
        ours,
        theirs,
        budget=None,
        against="its indexes made anew",
    )


def lower_seconds(image: MetadataImage, to: MetadataVersion) -> tuple[float, int]:
    start = time.process_time()
    lowering = lower(image, to, BEHIND)
    spent = time.process_time() - start
    return spent, partitions_in(lowering.delta)


def load_seconds(image: MetadataImage, batch: MetadataBatch) -> tuple[float, int]:
    publisher = Publisher()
    loader = MetadataLoader([publisher], image)
    return seconds(lambda: loader.load_snapshot([batch], BEHIND)), publisher.partitions


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def partitions_in(delta: MetadataDelta) -> int:
    return 0 if delta.topics is None else sum(len(topic.partitions) for topic in delta.topics.changed.values())


def snapshot_batch(image: MetadataImage, to: MetadataVersion) -> MetadataBatch:
    values = list(write_values(image, lowering_options(to)))
    return MetadataBatch(base_offset=0, end_offset=len(values), epoch=7, timestamp=0, values=values)


def made_image() -> MetadataImage:
    delta = MetadataDelta(EMPTY)
    for record in made_records():
        delta.replay(record)
    return delta.apply(Provenance(999_999, 7, 0))


def made_records() -> Iterator[WireMessage]:
    yield FeatureLevelRecord(METADATA_VERSION, MetadataVersion.parse("4.3-IV0").level)
    yield FeatureLevelRecord(ELIGIBLE_LEADER_REPLICAS_VERSION, 1)
    for broker_id in range(BROKERS):
        yield RegisterBrokerRecord(broker_id=broker_id, broker_epoch=broker_id, log_dirs=(directory(broker_id),))
    for number in range(TOPICS):
        topic_id = (number + 1).to_bytes(16, "big")
        yield TopicRecord(f"topic-{number:05}", topic_id)
        for partition_id in range(PARTITIONS):
            index = number * PARTITIONS + partition_id
            replicas = tuple((index + each) % BROKERS for each in range(3))
            has_elr = index % EACH_HAS_ELR == 0
            yield PartitionRecord(
                partition_id=partition_id,
                topic_id=topic_id,
                replicas=replicas,
                isr=replicas[:2] if has_elr else replicas,
                leader=replicas[0],
                leader_epoch=5,
                partition_epoch=9,
                directories=tuple(directory(replica) for replica in replicas),
                eligible_leader_replicas=replicas[2:] if has_elr else None,
            )


def directory(broker_id: int) -> bytes:
    return bytes([0xD1, broker_id]) * 8


if __name__ == "__main__":
    measure()
