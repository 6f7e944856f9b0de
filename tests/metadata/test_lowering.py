import pytest
from hypothesis import given
from hypothesis import strategies as st
from metadata_images import random_image, written

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import Provenance
from falkirk.metadata.lowering import lower
from falkirk.versions.metadata_version import MetadataVersion

BEHIND = Provenance(1000, 7, 99)


def lowered(image, level):
    return lower(image, MetadataVersion.of_level(level), BEHIND)


def as_read_back(image, level):
    """Write the image at the level, and read what was written."""
    return written(image, level, bootstrap_levels_bind=False, bumps_partition_epochs=True)


def contents(delta):
    """Give what a delta holds, by area; the image that it is about does not count."""
    skipped = {"image", "base", "before", "_created_ids"}

    def plain(value):
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        names = getattr(value, "__slots__", None) or getattr(value, "__dict__", None)
        if not type(value).__name__.endswith("Delta") or names is None:
            return value
        return {name: plain(getattr(value, name)) for name in names if name not in skipped}

    return plain(delta)


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), levels=st.lists(st.integers(4, 33), min_size=2, max_size=2, unique=True).map(sorted))
def test_lowering_gives_what_reading_the_written_image_back_would(seed, levels):
    target, level = levels
    image = random_image(seed, level, batches=30)
    expected, report = as_read_back(image, target)
    lowering = lowered(image, target)

    assert lowering.image.provenance == BEHIND
    assert lowering.image.has_same_content(expected)
    assert [loss.as_json() for loss in lowering.report.losses] == [loss.as_json() for loss in report.losses]
    assert contents(lowering.delta) == contents(MetadataDelta.between(image, expected))
