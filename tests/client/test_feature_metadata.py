from hypothesis import given, settings
from hypothesis import strategies as st

from falkirk.client.feature_metadata import FeatureMetadata, SupportedVersionRange
from falkirk.client.node_versions import FinalizedVersionRange

EPOCHS = st.none() | st.integers(0, 5)


def metadata(epoch, level, highest=9):
    return FeatureMetadata(
        finalized_features={"f": FinalizedVersionRange(level, level)},
        finalized_features_epoch=epoch,
        supported_features={"f": SupportedVersionRange(1, highest)},
    )


def test_what_is_known_of_a_higher_epoch_stays_and_the_nodes_own_range_is_told():
    assert metadata(3, 1, highest=7).not_older_than(metadata(4, 2)) == metadata(4, 2, highest=7)


def test_an_epoch_of_zero_is_one():
    assert metadata(None, 1).not_older_than(metadata(0, 2)) == metadata(0, 2)
    assert metadata(1, 1).not_older_than(metadata(0, 2)) == metadata(1, 1)


@settings(max_examples=30)
@given(st.lists(EPOCHS, min_size=1, max_size=6))
def test_the_epoch_never_falls_whatever_nodes_tell(epochs):
    known, seen = None, []
    for level, epoch in enumerate(epochs):
        known = metadata(epoch, level).not_older_than(known)
        seen.append(-1 if known.finalized_features_epoch is None else known.finalized_features_epoch)
    assert seen == sorted(seen)
    assert seen[-1] == max(-1 if epoch is None else epoch for epoch in epochs)
