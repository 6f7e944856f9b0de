"""How a cluster stands: the same, from columns, as from the objects of its image."""

from collections import Counter
from datetime import date

import pytest
from fleet_clusters import fleet_cluster
from made_clusters import MadeCluster
from metadata_fleet import unpack_fleet

from falkirk.metadata.levels.minimum_version import forcing_objects
from falkirk.metadata.losses.loss_catalogue import ELR_TO_ISR
from falkirk.pipeline.state.metadata_state import metadata_state
from falkirk.versions.metadata_version import FLOOR

# 2026-11-24 in UTC.
AT_MS = 1_795_500_000_000


def rows_of(cluster, table, at_ms=AT_MS):
    state = metadata_state(cluster, tables=frozenset({table}), ingested_at_ms=at_ms)
    return [row for rows in state.tables[table] for row in rows.to_pylist()]


def costs_nothing(image, because):
    """Return whether eligible leader replicas that become in-sync are all on brokers that were stopped cleanly."""
    if because.kind != ELR_TO_ISR:
        return False
    topic_id, partition = because.key.identity
    topic = next(topic for topic in image.topics if topic.topic_id == topic_id)
    replicas = dict(topic.items())[partition].eligible_leader_replicas
    brokers = [image.cluster.brokers.get(each) for each in replicas]
    return all(broker and broker.fenced and broker.in_controlled_shutdown for broker in brokers)


def levels_of_nodes(image):
    nodes = [*image.cluster.brokers.values(), *image.cluster.controllers.values()]
    ranges = [
        (each.min_supported_version, each.max_supported_version)
        for node in nodes
        for each in node.features
        if each.name == "metadata.version"
    ]
    if not nodes or len(ranges) < len(nodes):
        return None, None
    lowest, highest = max(low for low, _ in ranges), min(high for _, high in ranges)
    return (lowest, highest) if lowest <= highest else (None, None)


@pytest.mark.slow
def test_losses_of_every_cluster_are_those_of_its_image(tmp_path):
    kinds = Counter()
    for name, cluster in unpack_fleet(tmp_path).items():
        image = cluster.image
        losses = Counter((each.level, each.kind) for each in forcing_objects(image) if not costs_nothing(image, each))
        [row], [of_cluster] = (rows_of(fleet_cluster(tmp_path / name), table) for table in ("trends", "clusters"))
        assert row["losses"] == [
            {"kind": kind, "level": level, "count": count} for (level, kind), count in sorted(losses.items())
        ], name
        assert row["lowest_level"] == max((level for level, _ in losses), default=FLOOR.level)
        assert row["metadata_version"] == image.features.metadata_version.level
        assert (row["supported_min"], row["supported_max"]) == levels_of_nodes(image)
        assert row["partitions"] == sum(len([*topic.items()]) for topic in image.topics)
        assert row["fenced_brokers"] == sum(broker.fenced for broker in image.cluster.brokers.values())
        assert (row["day"], row["end_offset"]) == (date(2026, 11, 24), of_cluster["end_offset"])
        kinds.update(kind for _, kind in losses)
    wanted = {"directory_assignment", "eligible_leader_replicas", ELR_TO_ISR, "cidr_deny_acl"}
    assert wanted - kinds.keys() == set()


def test_a_state_of_the_past_leaves_no_mark(tmp_path):
    made = MadeCluster(root=tmp_path / "c").make()
    assert rows_of(fleet_cluster(made.root, as_of=3), "trends") == []
    assert rows_of(fleet_cluster(made.root), "trends", at_ms=None) == []
