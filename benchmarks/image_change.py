"""One change to an image of a million partitions, and one lookup in it, against Kafka's delta and image.

Budgets: a change applied and published in <= 10 us, whatever the size, where Kafka's MetadataDelta.apply takes 7 to 12;
a lookup in <= 500 ns, where Kafka takes 190 to 275. Machines differ, so what must hold is the ratio: 1 and 0.5.
A change is a new delta, one PartitionChangeRecord and the new image; ours is also published. All of it warm, medians of
single changes and of groups of lookups. Another line shows that the cost does not grow with the image.
"""

import gc
import random
import statistics
import time
from pathlib import Path

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import MetadataImage
from falkirk.protocol.messages import PartitionChangeRecord
from support.kafka_peer import Peer, measure_against_kafka, snapshot
from support.line import print_line
from support.load_image import load_image

TURNS = 3
CHANGES = 5_000
LOOKUPS = 200_000
GROUP = 1_000
SMALL_TOPICS = 100


class Publisher:
    """Keeps the last published image."""

    image: MetadataImage | None = None

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        assert delta.image is not image
        self.image = image


def measure(kafka: Peer) -> None:
    path = snapshot(kafka)
    small = load_image(snapshot(kafka, topics=SMALL_TOPICS))
    large = load_image(path)
    gc.collect()
    gc.freeze()  # as a node does once it has loaded: the image is not garbage
    ours: dict[str, list[float]] = {"large": [], "small": [], "lookup": []}
    theirs: dict[str, list[float]] = {"change": [], "lookup": []}
    for _ in range(TURNS):
        measured = run_peer(kafka, path)
        theirs["change"].append(measured["change_ns"] / 1e9)
        theirs["lookup"].append(measured["lookup_ns"] / 1e9)
        ours["large"].append(change_seconds(large))
        ours["small"].append(change_seconds(small))
        ours["lookup"].append(lookup_seconds(large))
    print_line("one change applied and published, 1M partitions", ours["large"], theirs["change"], budget=1)
    print_line("one change, 1M partitions", ours["large"], ours["small"], against="falkirk with 10k", budget=0.7)
    print_line("one lookup, 1M partitions", ours["lookup"], theirs["lookup"], budget=0.5)


def run_peer(kafka: Peer, path: Path) -> dict[str, int]:
    found: dict[str, int] = kafka.run("ChangeImage", path, CHANGES, LOOKUPS)[0]
    return found


def change_seconds(image: MetadataImage) -> float:
    rng = random.Random(1)
    names = sorted(image.topics.by_name)
    publisher = Publisher()
    spent = []
    clock = time.perf_counter
    for _ in range(CHANGES):
        topic = image.topics.by_name[rng.choice(names)]
        partition_id = rng.randrange(len(topic.partitions))
        leader = topic.partitions[partition_id].replicas[0]
        record = PartitionChangeRecord(partition_id=partition_id, topic_id=topic.topic_id, leader=leader)
        start = clock()
        delta = MetadataDelta(image)
        delta.replay(record)
        image = delta.apply(image.provenance)
        publisher.on_metadata(delta, image)
        spent.append(clock() - start)
    return statistics.median(spent)


def lookup_seconds(image: MetadataImage) -> float:
    rng = random.Random(1)
    names = sorted(image.topics.by_name)
    spent = []
    for _ in range(LOOKUPS // GROUP):
        chosen = [rng.choice(names) for _ in range(GROUP)]
        asked = [(name, rng.randrange(len(image.topics.by_name[name].partitions))) for name in chosen]
        start = time.perf_counter()
        for name, partition_id in asked:
            assert image.topics.partition(name, partition_id) is not None
        spent.append((time.perf_counter() - start) / GROUP)
    return statistics.median(spent)


if __name__ == "__main__":
    measure_against_kafka("image_change", measure)
