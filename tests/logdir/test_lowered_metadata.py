"""Stopped nodes whose log still holds a lowered metadata.version (KIP-1155), as when they stopped before the snapshot.

Whatever reads them must come to what a node's snapshot behind it holds.
"""

import pytest
from lowered_partitions import LOW, lowered_partition, with_snapshot
from metadata_partitions import CLUSTER_ID, METADATA
from stopped_clusters import DISK, cluster_at, plan_for

from falkirk.logdir.downgrade import downgrade
from falkirk.logdir.verify import verify
from falkirk.metadata.image.difference import differences
from falkirk.metadata.levels.minimum_version import minimum_version
from falkirk.storage.meta_properties import format_meta_properties, make_meta_properties
from falkirk.versions.release import Release


@pytest.fixture(params=["with the lowering", "with a snapshot"])
def either(request, tmp_path):
    return on_disk(tmp_path / "either", lowered_partition(), is_cleaned=request.param == "with a snapshot")


def on_disk(folder, made, *, is_cleaned, node_id=1):
    (folder / METADATA).mkdir(parents=True)
    for name, data in (with_snapshot(made) if is_cleaned else made).files().items():
        (folder / METADATA / name).write_bytes(data)
    meta = make_meta_properties(cluster_id=CLUSTER_ID, node_id=node_id, directory_id=None, now_ms=0)
    (folder / "meta.properties").write_bytes(format_meta_properties(meta))
    return folder


def both(tmp_path):
    made = lowered_partition()
    return [cluster_at(on_disk(tmp_path / str(cleaned), made, is_cleaned=cleaned)) for cleaned in (False, True)]


def test_the_image_is_that_of_the_snapshot_and_nothing_differs(tmp_path):
    log, snapshot = both(tmp_path)
    assert log.image.has_same_content(snapshot.image)
    assert list(differences(log.image, snapshot.image)) == []
    assert log.image.features.levels() == {"metadata.version": LOW.level}
    assert log.image.topics.partition("orders", 2).isr == (3,)


def test_both_can_go_down_to_the_same_level(tmp_path):
    log, snapshot = (minimum_version(cluster.image) for cluster in both(tmp_path))
    assert log == snapshot


def test_a_node_with_the_lowering_has_the_same_metadata_as_one_with_the_snapshot(tmp_path):
    made = lowered_partition()
    folders = [on_disk(tmp_path / f"d{at}", made, is_cleaned=bool(at), node_id=at + 1) for at in (0, 1)]
    found = verify(DISK, cluster_at(*folders), Release.parse("4.3"))
    # No note: both end at the same offset, so that their images were compared.
    assert ([problem for problem in found.problems if problem.kind == "image"], found.notes) == ([], [])


def test_nothing_that_the_lowering_took_is_lost_once_more(either):
    plan = plan_for("3.7-IV0", either)
    assert (plan.losses, plan.blockers) == ([], ())


def test_what_is_written_from_it_is_sound_and_the_same(either, tmp_path):
    downgrade(DISK, plan_for("3.7-IV0", either), tmp_path / "out")
    written = cluster_at(tmp_path / "out")
    expected = cluster_at(on_disk(tmp_path / "expected", lowered_partition(), is_cleaned=True))
    assert list(differences(written.image, expected.image)) == []
