"""What a target keeps of features, in Arrow batches as workers get them."""

import pyarrow as pa
import pytest

from falkirk.pipeline.transforms.feature_targets import _kept_levels, kept_level
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release


def batch(*rows):
    names = ("cluster", "feature", "level")
    return pa.RecordBatch.from_pylist([dict(zip(names, row, strict=True)) for row in rows])


@pytest.mark.parametrize(
    ("feature", "level", "to", "release", "kept"),
    [
        ("transaction.version", 2, "4.0", "4.0", 2),
        ("transaction.version", 2, "3.9", "3.9", 0),
        ("share.version", 2, "4.3", "4.3", 1),
        ("kraft.version", 1, "3.8", "3.8", 0),
        ("kraft.version", 1, "3.9", "3.9", 1),
        ("of.the.future", 7, "4.4", "4.4", 0),
    ],
)
def test_a_target_keeps_what_its_release_runs(feature, level, to, release, kept):
    found, loss = kept_level(feature, level, MetadataVersion.parse(to), Release.parse(release))
    assert found == kept
    assert (loss is None) == (kept == level)


def test_rows_are_told_one_by_one_and_keep_their_columns():
    [found] = _kept_levels([batch(("a", "group.version", 1), ("b", "share.version", 2))], at=30, release="4.3.1")
    kept, lowered = found.to_pylist()
    assert kept == {
        "cluster": "a", "feature": "group.version", "level": 1, "kept_level": 1, "kind": None, "key": None,
        "key_fields": None, "record": None, "detail": None,
    }  # fmt: skip
    assert (lowered["kept_level"], lowered["kind"], lowered["key"]) == (1, "feature_lowered", "feature share.version")
    assert lowered["key_fields"] == '{"feature":"share.version"}'
    assert lowered["detail"] == "share.version 2 is lowered to 1: release 4.3.1 supports 0-1"


def test_a_batch_without_rows_gives_one_without_rows():
    empty = batch(("a", "group.version", 1)).slice(1)
    [found] = _kept_levels([empty], at=30, release="4.3.1")
    assert (found.num_rows, found.schema.names[:4]) == (0, ["cluster", "feature", "level", "kept_level"])
