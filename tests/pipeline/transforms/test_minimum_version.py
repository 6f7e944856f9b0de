"""The lowest level that holds a cluster's data, from tables, is that of its image."""

from collections import Counter

import pyarrow as pa
import pytest

from falkirk.metadata.levels.minimum_version import minimum_version as of_image
from falkirk.metadata.levels.writer import WriterOptions, assess
from falkirk.metadata.losses.locate import locate
from falkirk.pipeline.tables.clusters import CLUSTERS
from falkirk.pipeline.tables.metadata_state import PARTITIONS
from falkirk.pipeline.transforms.minimum_version import minimum_version
from falkirk.pipeline.warehouse.cluster_rows import ClusterRows, rows_in_memory
from falkirk.versions.metadata_version import MetadataVersion


def expected(cluster):
    found = of_image(cluster.image)
    counts = Counter(item.kind for item in found.because)
    first = {item.kind: item for item in reversed(found.because)}
    because = [(kind, counts[kind], first[kind].key_text, *place_of(cluster, first[kind])) for kind in sorted(counts)]
    return found.version.level, str(found.version), found.because_count, because


def place_of(cluster, item):
    """Return the record that wrote it last, as the plan for a level below does."""
    below = WriterOptions(metadata_version=MetadataVersion.of_level(item.level - 1))
    losses = assess(cluster.image, below).losses
    [loss] = [loss for loss in losses if (loss.kind, loss.key) == (item.kind, item.key)]
    [located] = locate([loss], cluster.record_batches())
    return located.record, located.offset, located.source


@pytest.mark.slow
def test_levels_and_reasons_are_those_of_the_images(metadata_fleet, crashed_tables):
    rows = minimum_version()(crashed_tables).collect()
    found = {
        row.cluster: (row.level, row.metadata_version, row.because_count, [*map(tuple, row.because)]) for row in rows
    }
    assert found == {name: expected(cluster) for name, cluster in metadata_fleet.clusters.items()}
    assert {level for level, *_ in found.values()} >= {15, 17, 23, 30, 32}


@pytest.mark.slow
def test_replicas_that_stopped_cleanly_force_no_level(tables_of):
    partition = {
        "topic": "orders",
        "topic_id": "A",
        "isr": [],
        "last_known_elr": [],
        "replicas": [1],
        "directories": [],
    }
    tables = tables_of(
        clusters=[{"cluster": "clean", "metadata_version": 30}, {"cluster": "crashed", "metadata_version": 30}],
        brokers=[
            {"cluster": "clean", "broker_id": 1, "fenced": True, "in_controlled_shutdown": True},
            {"cluster": "crashed", "broker_id": 1, "fenced": True, "in_controlled_shutdown": False},
        ],
        partitions=[
            partition | {"cluster": name, "partition_id": 0, "eligible_leader_replicas": [1]}
            for name in ("clean", "crashed")
        ],
        controllers=[], configs=[], acls=[], scram_credentials=[],
    )  # fmt: skip
    found = {row.cluster: (row.metadata_version, row.because_count) for row in minimum_version()(tables).collect()}
    assert found == {"clean": ("3.7-IV0", 0), "crashed": ("4.0-IV1", 1)}


def test_of_a_cluster_in_parts_other_rules_may_match_in_each():
    partition = {"topic_id": "A", "topic": "orders", "replicas": [1], "isr": [1], "last_known_elr": []}
    parts = [
        partition | {"partition_id": 9, "eligible_leader_replicas": [2], "directories": []},
        partition | {"partition_id": 5, "eligible_leader_replicas": [2], "directories": ["d"]},
    ]
    clusters = pa.Table.from_batches([CLUSTERS.rows([{"metadata_version": 30}])])
    first, second = (rows_in_memory({"partitions": pa.Table.from_batches([PARTITIONS.rows([row])])}) for row in parts)
    others = rows_in_memory({"clusters": clusters})
    rows = ClusterRows(parts=lambda table: [each for of in (first, second, others) for each in of.parts(table)])
    [found] = minimum_version().work(rows).to_pylist()
    assert (found["level"], found["because_count"]) == (23, 2)
    [because] = found["because"]
    assert (because["kind"], because["key"]) == ("eligible_leader_replicas", "topic orders partition 5")
