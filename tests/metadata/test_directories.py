"""Directories of real clusters: log, snapshots, Kafka's decoders and the cluster's own answers tell the same."""

import re
from collections import Counter

import pytest
from admin_answers import COMPARED, answers, expected, partition_answer, partition_of_text
from metadata_files import CLUSTERS, canonical, canonical_json, directories, json_file, load_log

from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.metadata.levels.writer import WriterOptions, write_image
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.storage.snapshot_file import parse_snapshot_name

ARCHIVES = [*(f"cluster-{release}" for release in CLUSTERS), "elr-4.3.1", "mv-moves-3.7.2", "mv-moves-4.3.1"]
DIRECTORIES = [(name, node) for name in ARCHIVES for node in directories(f"{name}.tar.gz")]
SNAPSHOTS = [
    (name, node, file)
    for name, node in DIRECTORIES
    for file in directories(f"{name}.tar.gz")[node].snapshots
    if parse_snapshot_name(file).id.end_offset > 0
]


def test_the_directories_have_snapshots():
    assert len(SNAPSHOTS) == 26


@pytest.mark.parametrize(("name", "node", "file"), SNAPSHOTS)
def test_the_log_up_to_a_snapshot_gives_the_image_of_the_snapshot(name, node, file):
    directory = directories(f"{name}.tar.gz")[node]
    end_offset = parse_snapshot_name(file).id.end_offset

    image = load_log(batch for batch in directory.log_batches() if batch.end_offset <= end_offset)

    assert image == directory.snapshot(file)
    assert image.provenance.end_offset == end_offset


@pytest.mark.parametrize(("name", "node", "file"), SNAPSHOTS)
def test_a_snapshot_and_the_log_behind_it_give_the_image_of_the_whole_log(name, node, file):
    directory = directories(f"{name}.tar.gz")[node]
    snapshot = directory.snapshot(file)

    loader = MetadataLoader(image=snapshot)
    loader.load_log(batch for batch in directory.log_batches() if batch.base_offset >= snapshot.provenance.end_offset)

    assert loader.image == load_log(directory.log_batches())


@pytest.mark.parametrize(("name", "node"), DIRECTORIES)
def test_how_a_log_is_cut_into_loads_does_not_matter(name, node):
    directory = directories(f"{name}.tar.gz")[node]
    one_by_one = MetadataLoader()
    for batch in directory.log_batches():
        one_by_one.load_log([batch])

    assert one_by_one.image == load_log(directory.log_batches())
    assert one_by_one.open_transaction is None


@pytest.mark.parametrize("release", CLUSTERS)
def test_an_image_writes_the_records_that_kafka_wrote_of_it(release):
    directory = directories(f"cluster-{release}.tar.gz")["."]
    decoded = json_file(f"cluster-{release}.decoded.json.gz")
    for file, lines in decoded.items():
        kafka = Counter(canonical_json(*line) for line in lines)
        # Kafka 3 writes the state of a migration even if there never was one.
        kafka -= Counter([("ZkMigrationStateRecord", 0, '{"zkMigrationState": 0}')])
        image = directory.snapshot(file)
        if image == EMPTY or image.features.metadata_version is None:
            assert not kafka
            continue
        options = WriterOptions(metadata_version=image.features.metadata_version)

        assert Counter(canonical(*record) for record in write_image(image, options)) == kafka, file


@pytest.mark.parametrize("release", CLUSTERS)
def test_an_image_answers_like_the_cluster(release):
    written = json_file(f"cluster-{release}.expected.json.gz")
    # The answers were given when the broker had read up to here.
    epoch = written["finalizedFeaturesEpoch"]
    log = directories(f"cluster-{release}.tar.gz")["."].log_batches()

    image = load_log(batch for batch in log if batch.base_offset <= epoch)

    ours = answers(image, kraft_version=written["finalizedFeatures"].get("kraft.version", 0))
    theirs = expected(written)
    if release < "4.1":
        # Before, an Admin client could not list which clients and groups have configs.
        listed = {name: value for name, value in ours["dynamicConfigs"].items() if name.startswith(("TOPIC", "BROKER"))}
        assert set(ours["dynamicConfigs"]) - set(listed)
        ours["dynamicConfigs"] = listed
    assert {name: ours[name] for name in COMPARED} == theirs


@pytest.mark.parametrize("stage", ["-a", "-b", ""])
def test_an_image_knows_isr_elr_and_fencing_like_the_cluster(stage):
    written = json_file(f"elr-4.3.1.expected{stage}.json.gz")
    high_watermark = int(re.search(r"highWatermark=(\d+)", written["quorum"])[1])
    log = directories("elr-4.3.1.tar.gz")["data/n1"].log_batches()

    image = load_log(batch for batch in log if batch.end_offset <= high_watermark)

    theirs = {name: dict(map(partition_of_text, texts)) for name, texts in written["topics"].items()}
    ours = {topic.name: {number: partition_answer(item) for number, item in topic.items()} for topic in image.topics}
    assert ours == theirs
    fenced = re.findall(r"\(id: (\d+) rack: null isFenced: (\w+)\)", written["nodes"])
    assert {node: broker.fenced for node, broker in image.cluster.brokers.items()} == {
        int(node): text == "true" for node, text in fenced
    }
