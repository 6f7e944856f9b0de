"""A lowering that is worked out while the image moves on: the same as if it were worked out at once at the end."""

from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from live_bundles import live_bundle_bytes
from metadata_histories import HistoryMaker

from falkirk import slices as slices_module
from falkirk.metadata.controller.features import lowering_work
from falkirk.metadata.controller.features.lowering_work import LoweringPlan, LoweringWork
from falkirk.metadata.controller.state.controller_indexes import ControllerIndexes
from falkirk.metadata.controller.state.controller_state import ControllerState
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, Provenance
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.metadata.undo.live_bundle import LiveBundle
from falkirk.metadata.undo.undo_bundle import parse_bundle
from falkirk.protocol.messages import FeatureLevelRecord
from falkirk.slices import exhaust
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION as ELR
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

HIGH = 33


class World:
    """The state of a controller that goes on with a random history."""

    def __init__(self, seed, batches):
        self.maker = HistoryMaker(Random(seed), HIGH)
        delta = MetadataDelta(EMPTY)
        for batch in [self.maker.first_batch(), *(self.maker.batch() for _ in range(batches))]:
            for record, _ in batch:
                delta.replay(record)
        delta.replay(FeatureLevelRecord(ELR, 1))
        image = delta.apply(Provenance(1, 1, 1))
        self.state = ControllerState(image, ControllerIndexes.of(image))

    def change(self):
        # Levels do not change: other updates of features are refused meanwhile.
        made = [VersionedRecord(*each) for each in self.maker.batch()]
        records = [each for each in made if not isinstance(each.record, FeatureLevelRecord)]
        self.state.replay(records, end_offset=self.state.next_offset + len(records), epoch=1, now_ms=1)


def plan_of(state, *, scrubs_elr, level):
    others = dict(state.image.features.finalized)
    if scrubs_elr:
        others[ELR] = 0
    to = None if level is None else MetadataVersion.of_level(level)
    return LoweringPlan(scrubs_elr=scrubs_elr, to=to, others=others)


def plain(assessed):
    reports = [assessed.elr_losses, assessed.report.losses, assessed.report.inaccessible]
    reports.append(assessed.report.dropped_features)
    losses = [[(loss.kind, loss.key, loss.before, loss.after, loss.topic_name) for loss in found] for found in reports]
    return losses, assessed.records


def at_once(plan, state):
    work = LoweringWork(plan, state)
    exhaust(work.settle())
    return work.assessed()


def records_of(plan, assessed):
    records = list(assessed.records)
    if plan.scrubs_elr:
        records.append(VersionedRecord(FeatureLevelRecord(ELR, 0), 0))
    if plan.to is not None:
        records.append(VersionedRecord(FeatureLevelRecord(METADATA_VERSION, plan.to.level), 0))
    return records


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32),
    size=st.integers(1, 6),
    changes=st.lists(st.booleans(), max_size=30),
    scrubs_elr=st.booleans(),
    level=st.none() | st.integers(15, HIGH - 1),
)
def test_what_changes_meanwhile_is_judged_as_it_is_at_the_end(seed, size, changes, scrubs_elr, level):
    world = World(seed, batches=15)
    state = world.state
    plan = plan_of(state, scrubs_elr=scrubs_elr, level=level)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices_module, "VISITS_PER_SLICE", size)
        patch.setattr(lowering_work, "VISITS_PER_SLICE", size)
        work = LoweringWork(plan, state)
        left = list(changes)
        for _ in work.settle():
            if left and left.pop():
                world.change()
        assert work.is_settled
        assessed = work.assessed()
    expected = at_once(plan, state)
    assert plain(assessed) == plain(expected)

    records = records_of(plan, assessed)
    replayed, prepared = (ControllerState(state.image, state.indexes) for _ in range(2))
    replayed.replay(records, end_offset=99_999, epoch=1, now_ms=1)
    prepared.replay(records, end_offset=99_999, epoch=1, now_ms=1, prepared=assessed.prepared)
    assert prepared.image == replayed.image
    assert prepared.indexes == replayed.indexes


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32),
    changes=st.lists(st.booleans(), max_size=30),
    scrubs_elr=st.booleans(),
    level=st.none() | st.integers(15, HIGH - 1),
)
@example(seed=1300691, changes=[True, True, True], scrubs_elr=False, level=15)
def test_a_bundle_that_is_written_meanwhile_has_what_is_there_at_the_end(seed, changes, scrubs_elr, level):
    world = World(seed, batches=15)
    state = world.state
    levels = ({ELR: 0} if scrubs_elr else {}) | ({} if level is None else {METADATA_VERSION: level})
    left = list(changes)
    bundle, data = LiveBundle(state.image, levels), b""
    while True:
        image = state.image
        if not bundle.holds_for(image, levels):
            bundle, data = LiveBundle(image, levels), b""
        missing = bundle.missing(image)
        for name, topic in missing:
            for added, _ in bundle.add(image, name, topic):
                data += added
                if left and left.pop():
                    world.change()
        # The whole image: brokers' log dirs decide on partitions too.
        if image is state.image:
            break
    data += bundle.finish(state.image, cluster_id="c", kraft_version=0, voters=None, offset=7)
    written, expected = parse_bundle(data), parse_bundle(live_bundle_bytes(state.image, levels))

    assert sorted(written.objects, key=repr) == sorted(expected.objects, key=repr)
    assert written.features_before == expected.features_before


def test_a_prepared_lowering_of_another_image_is_not_used():
    world = World(7, batches=10)
    plan = plan_of(world.state, scrubs_elr=False, level=16)
    assessed = at_once(plan, world.state)
    for _ in range(5):
        world.change()
    records = records_of(plan, assessed)
    other = ControllerState(world.state.image, world.state.indexes)
    other.replay(records, end_offset=99_999, epoch=1, now_ms=1)
    world.state.replay(records, end_offset=99_999, epoch=1, now_ms=1, prepared=assessed.prepared)

    assert world.state.image == other.image
    assert world.state.indexes == other.indexes
