"""One behaviour of finalized features, wherever they are kept: in KRaft's metadata log, or in ZooKeeper (KIP-584).

A story says what is asked of a cluster and what comes of it. Each store has its own error codes for that, and says
whether it makes an update of several features as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import pytest
from feature_stores import SAFE, UNSAFE, UPGRADE, FeatureStore, KraftStore, Outcome, Update, ZooKeeperStore
from hypothesis import given
from hypothesis import strategies as st

from falkirk.protocol.error_codes import ErrorCode
from falkirk.versions.features import GROUP_VERSION as GROUP
from falkirk.versions.features import SHARE_VERSION as SHARE
from falkirk.versions.features import TRANSACTION_VERSION as TRANSACTION
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.zookeeper.finalized_features import Supported

STORES: dict[str, Callable[[Mapping[str, int]], FeatureStore]] = {
    "kraft 3.9": partial(KraftStore, "3.9"),
    "kraft 4.4": partial(KraftStore, "4.4"),
    "zookeeper": ZooKeeperStore,
}


def supporting(**levels: tuple[int, int]) -> Supported:
    return {f"{name}.version": SupportedRange(*each) for name, each in levels.items()}


ALL = supporting(transaction=(1, 2), share=(1, 2), group=(1, 1))
NO_SHARE = supporting(transaction=(1, 2), group=(1, 1))
OLD = supporting(transaction=(1, 1), share=(1, 1), group=(1, 1))
DROPPED = supporting(transaction=(2, 2), share=(1, 2), group=(1, 1))


@dataclass(frozen=True, kw_only=True)
class Story:
    """What is asked of whom, and the outcome of each."""

    asked: Mapping[Update, Outcome]
    finalized: Mapping[str, int] = field(default_factory=lambda: {TRANSACTION: 1})
    brokers: tuple[Supported, ...] = (ALL, ALL)


STORIES = {
    "a level rises": Story(asked={(TRANSACTION, 2, UPGRADE): Outcome.DONE}),
    "a feature that is not finalized is": Story(asked={(SHARE, 1, UPGRADE): Outcome.DONE}),
    "several are updated": Story(asked={(SHARE, 2, UPGRADE): Outcome.DONE, (TRANSACTION, 2, UPGRADE): Outcome.DONE}),
    "a level falls, and may": Story(finalized={TRANSACTION: 2}, asked={(TRANSACTION, 1, SAFE): Outcome.DONE}),
    "a level falls, and nobody said that it may": Story(
        finalized={TRANSACTION: 2}, asked={(TRANSACTION, 1, UPGRADE): Outcome.UNANNOUNCED_DOWNGRADE}
    ),
    "a level falls, whatever is lost": Story(
        finalized={TRANSACTION: 2}, asked={(TRANSACTION, 1, UNSAFE): Outcome.UNSAFE_DOWNGRADE}
    ),
    "a level is to fall, and would rise": Story(asked={(TRANSACTION, 2, SAFE): Outcome.RISING_DOWNGRADE}),
    "a feature that is not finalized is, though its level was to fall": Story(
        asked={(SHARE, 1, SAFE): Outcome.NEW_DOWNGRADE}
    ),
    "a level stays": Story(asked={(TRANSACTION, 1, UPGRADE): Outcome.SAME_LEVEL}),
    "a level is to fall, and would stay": Story(asked={(TRANSACTION, 1, SAFE): Outcome.SAME_LEVEL}),
    "a feature is deleted": Story(asked={(TRANSACTION, 0, SAFE): Outcome.DELETED}),
    "a feature is deleted, and nobody said that it may": Story(
        asked={(TRANSACTION, 0, UPGRADE): Outcome.UNANNOUNCED_DOWNGRADE}
    ),
    "a feature is deleted that is not finalized": Story(asked={(SHARE, 0, SAFE): Outcome.NOT_FINALIZED}),
    "one broker does not support the level": Story(
        brokers=(ALL, OLD, ALL), asked={(TRANSACTION, 2, UPGRADE): Outcome.UNSUPPORTED}
    ),
    "one broker does not know the feature": Story(
        brokers=(ALL, ALL, NO_SHARE), asked={(SHARE, 1, UPGRADE): Outcome.UNSUPPORTED}
    ),
    "one broker has dropped the level": Story(
        finalized={TRANSACTION: 2}, brokers=(ALL, DROPPED), asked={(TRANSACTION, 1, SAFE): Outcome.UNSUPPORTED}
    ),
    "a feature is deleted that a broker does not know": Story(
        finalized={}, brokers=(NO_SHARE, ALL), asked={(SHARE, 0, SAFE): Outcome.NOT_FINALIZED}
    ),
    "no broker supports the level": Story(asked={(TRANSACTION, 3, UPGRADE): Outcome.UNSUPPORTED}),
    "nobody knows the feature": Story(asked={("foo.version", 1, UPGRADE): Outcome.UNSUPPORTED}),
    "a feature has no name": Story(asked={("", 1, UPGRADE): Outcome.NO_NAME}),
    "a feature is named twice": Story(
        asked={(TRANSACTION, 2, UPGRADE): Outcome.REPEATED, (TRANSACTION, 0, SAFE): Outcome.REPEATED}
    ),
    "an upgrade type means nothing": Story(asked={(TRANSACTION, 2, 7): Outcome.UNKNOWN_TYPE}),
    "one of several is refused": Story(
        brokers=(ALL, NO_SHARE),
        asked={
            (SHARE, 1, UPGRADE): Outcome.UNSUPPORTED,
            (TRANSACTION, 2, UPGRADE): Outcome.DONE,
            (GROUP, 1, UPGRADE): Outcome.DONE,
        },
    ),
    "all of several are refused": Story(
        brokers=(ALL, OLD),
        asked={
            (SHARE, 2, UPGRADE): Outcome.UNSUPPORTED,
            (TRANSACTION, 2, SAFE): Outcome.RISING_DOWNGRADE,
            ("", 1, UPGRADE): Outcome.NO_NAME,
        },
    ),
}


def told(store: FeatureStore, story: Story) -> dict[str, ErrorCode]:
    """Return the code that a store has for each feature."""
    return {name: store.codes[outcome] for (name, _, _), outcome in story.asked.items()}


def levels_after(store: FeatureStore, story: Story) -> dict[str, int]:
    codes = told(store, story)
    levels = dict(story.finalized)
    if not (store.is_together and any(codes.values())):
        levels |= {name: level for name, level, _ in story.asked if codes[name] is ErrorCode.NONE}
    return {name: level for name, level in levels.items() if level}


def cluster(store: str, story: Story) -> FeatureStore:
    world = STORES[store](story.finalized)
    for broker_id, supported in enumerate(story.brokers, 1):
        assert world.join(broker_id, supported)
    return world


def check_answer(store: FeatureStore, story: Story, response) -> None:
    codes = told(store, story)
    if store.is_together and any(codes.values()):
        assert response.error_code in set(codes.values()) - {ErrorCode.NONE}
    else:
        assert response.error_code == ErrorCode.NONE
        assert {each.feature: each.error_code for each in response.results} == codes


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", STORIES)
def test_a_store_does_what_is_asked_or_says_what_is_wrong(name, store):
    story = STORIES[name]
    world = cluster(store, story)
    before = world.epoch
    response = world.update(*story.asked)
    check_answer(world, story, response)
    assert world.levels == levels_after(world, story)
    assert (world.epoch > before) == (world.levels != story.finalized)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", STORIES)
def test_a_dry_run_answers_the_same_and_changes_nothing(name, store):
    story = STORIES[name]
    world = cluster(store, story)
    before = world.epoch
    response = world.update(*story.asked, dry=True)
    check_answer(world, story, response)
    assert world.levels == story.finalized
    assert world.epoch == before


# A flag says whether the level may fall: what only a number can say is left out.
FLAGGED = [name for name, story in STORIES.items() if all(type_ in (UPGRADE, SAFE) for _, _, type_ in story.asked)]


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", FLAGGED)
def test_version_0_of_the_request_is_understood_alike(name, store):
    story = STORIES[name]
    world = cluster(store, story)
    check_answer(world, story, world.update(*story.asked, version=0))
    assert world.levels == levels_after(world, story)


@pytest.mark.parametrize("store", STORES)
def test_a_broker_that_does_not_support_what_is_finalized_is_refused(store):
    world = STORES[store]({TRANSACTION: 1, SHARE: 1})
    assert world.join(1, ALL)
    assert not world.join(2, NO_SHARE)
    assert world.join(3, OLD)
    assert not world.join(4, DROPPED)
    # Who was refused is in nobody's way.
    world.leave(3)
    world.update((SHARE, 2, UPGRADE), (TRANSACTION, 2, UPGRADE))
    assert world.levels == {TRANSACTION: 2, SHARE: 2}
    assert not world.join(3, OLD)
    assert world.join(4, DROPPED)


@pytest.mark.parametrize("store", STORES)
def test_a_broker_that_has_left_is_in_nobodys_way(store):
    world = STORES[store]({TRANSACTION: 1})
    assert world.join(1, ALL)
    assert world.join(2, OLD)
    world.update((TRANSACTION, 2, UPGRADE))
    assert world.levels == {TRANSACTION: 1}
    world.leave(2)
    world.update((TRANSACTION, 2, UPGRADE))
    assert world.levels == {TRANSACTION: 2}


@pytest.mark.parametrize("store", STORES)
def test_an_old_broker_may_come_back_when_the_level_was_lowered(store):
    world = STORES[store]({TRANSACTION: 2})
    assert world.join(1, ALL)
    assert not world.join(2, OLD)
    world.update((TRANSACTION, 1, SAFE))
    assert world.join(2, OLD)


@pytest.mark.parametrize("store", STORES)
def test_a_deleted_feature_binds_no_broker(store):
    world = STORES[store]({TRANSACTION: 1, SHARE: 2})
    assert world.join(1, ALL)
    assert not world.join(2, NO_SHARE)
    world.update((SHARE, 0, SAFE))
    assert world.join(2, NO_SHARE)


UPDATES = st.lists(
    st.tuples(
        st.sampled_from([TRANSACTION, SHARE, "foo.version"]), st.integers(0, 3), st.sampled_from([UPGRADE, SAFE])
    ),
    max_size=3,
    unique_by=lambda update: update[0],
)


@pytest.mark.slow
@given(st.lists(UPDATES, max_size=6), st.lists(st.sampled_from([ALL, OLD, NO_SHARE, DROPPED]), max_size=2))
def test_the_same_updates_come_to_the_same_levels(updates, brokers):
    worlds = [KraftStore("3.9", {TRANSACTION: 1}), ZooKeeperStore({TRANSACTION: 1})]
    joined = {tuple(world.join(broker_id, each) for broker_id, each in enumerate((ALL, *brokers))) for world in worlds}
    assert len(joined) == 1
    kraft, zookeeper = worlds
    for each in updates:
        # A level that falls from nothing: the stores differ, as NEW_DOWNGRADE says.
        alike = [(name, level, type_) for name, level, type_ in each if type_ != SAFE or name in kraft.levels]
        for world in worlds:
            world.update(*alike)
        assert kraft.levels == zookeeper.levels
