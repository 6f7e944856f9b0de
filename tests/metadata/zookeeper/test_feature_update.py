"""What a ZooKeeper controller answers to UpdateFeatures, and what it writes."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zookeeper_features import LEVELS, NAMES, SUPPORTED, finalized, ranges

from falkirk.metadata.requests.api_error import ApiError
from falkirk.metadata.zookeeper.feature_deprecation import raise_minimums
from falkirk.metadata.zookeeper.feature_update import decide_update, refused
from falkirk.metadata.zookeeper.finalized_features import DISABLED, incompatibilities
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import UpdateFeaturesRequest
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType

UPGRADE, SAFE, UNSAFE = UpgradeType
STATE = finalized(a=(2, 3), b=(1, 2))
BROKERS = {1: ranges(a=(1, 4), b=(1, 4), c=(2, 3)), 2: ranges(a=(2, 5), b=(1, 4), c=(1, 3))}
INCOMPATIBLE = (
    "Could not apply finalized feature update because brokers were found to have incompatible versions for the feature."
)


def request(*updates, dry=False):
    """Updates are (name, level, type)."""
    keys = [FeatureUpdateKey(name, level, upgrade_type=type_) for name, level, type_ in updates]
    return UpdateFeaturesRequest(feature_updates=keys, validate_only=dry)


def decide(*updates, state=STATE, brokers=BROKERS, version=1, dry=False):
    return decide_update(request(*updates, dry=dry), version, state, brokers)


def results(response):
    return [(each.feature, ErrorCode(each.error_code), each.error_message) for each in response.results]


@pytest.mark.parametrize(
    ("update", "levels"),
    [
        pytest.param(("a", 4, UPGRADE), {"a": (2, 4), "b": (1, 2)}, id="upgrade"),
        pytest.param(("a", 2, SAFE), {"a": (2, 2), "b": (1, 2)}, id="downgrade"),
        pytest.param(("c", 3, UPGRADE), {"a": (2, 3), "b": (1, 2), "c": (2, 3)}, id="a feature that is new"),
        pytest.param(("c", 2, SAFE), {"a": (2, 3), "b": (1, 2), "c": (2, 2)}, id="new, and asked for as a downgrade"),
        pytest.param(("b", 0, SAFE), {"a": (2, 3)}, id="deletion"),
        pytest.param(("b", -7, SAFE), {"a": (2, 3)}, id="deletion by any level below 1"),
        pytest.param(("b", 0, UNSAFE), {"a": (2, 3)}, id="unsafe deletion"),
    ],
)
def test_what_can_be_is_done(update, levels):
    decision = decide(update)
    assert decision.needs_write
    assert decision.state == finalized(**levels)
    response = decision.response()
    assert (response.error_code, response.error_message) == (ErrorCode.NONE, None)
    assert results(response) == [(update[0], ErrorCode.NONE, None)]


@pytest.mark.parametrize(
    ("update", "message"),
    [
        (("", 1, UPGRADE), "Feature name can not be empty."),
        (("a", 4, 0), "Received unknown upgrade type."),
        (("a", 0, 9), "Received unknown upgrade type."),
        (("c", 0, SAFE), "Can not delete non-existing finalized feature."),
        (
            ("a", 0, UPGRADE),
            "Can not provide versionLevel: 0 less than 1 without setting the SAFE downgradeType in the request.",
        ),
        (
            ("c", -1, UPGRADE),
            "Can not provide versionLevel: -1 less than 1 without setting the SAFE downgradeType in the request.",
        ),
        (("a", 3, UPGRADE), "Can not upgrade a finalized feature from existing versionLevel:3 to the same value."),
        (("a", 3, SAFE), "Can not downgrade a finalized feature from existing versionLevel:3 to the same value."),
        (
            ("a", 2, UPGRADE),
            (
                "Can not downgrade finalized feature from existing versionLevel:3 to provided versionLevel:2 without "
                "setting the downgradeType to SAFE in the request."
            ),
        ),
        (
            ("a", 2, UNSAFE),
            (
                "Can not downgrade finalized feature from existing versionLevel:3 to provided versionLevel:2 without "
                "setting the downgradeType to SAFE in the request."
            ),
        ),
        (
            ("a", 4, SAFE),
            (
                "When the downgradeType is set to SAFE in the request, the provided versionLevel:4 can not be greater "
                "than existing versionLevel:3."
            ),
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_in_kafkas_words(update, message):
    decision = decide(update)
    assert not decision.needs_write
    assert results(decision.response()) == [(update[0], ErrorCode.INVALID_REQUEST, message)]


@pytest.mark.parametrize(
    ("update", "brokers", "message"),
    [
        (("a", 5, UPGRADE), BROKERS, f"{INCOMPATIBLE} Broker 1 only supports versions 1-4."),
        (
            ("d", 1, UPGRADE),
            {10: {}, **BROKERS},
            (
                f"{INCOMPATIBLE} Broker 1 does not support this feature. Broker 2 does not support this feature. "
                "Broker 10 does not support this feature."
            ),
        ),
        (("c", 1, UPGRADE), BROKERS, f"{INCOMPATIBLE} Broker 1 only supports versions 2-3."),
        (("b", 1, SAFE), {1: ranges(b=(2, 2))}, f"{INCOMPATIBLE} Broker 1 only supports versions 2."),
        (
            ("a", 1, SAFE),
            BROKERS,
            (
                "Could not apply finalized feature update because the provided versionLevel:1 is lower than the "
                "finalized minVersionLevel:2."
            ),
        ),
        (("a", 4, UPGRADE), {}, "Could not apply finalized feature update because no broker is live."),
    ],
)
def test_what_cannot_be_now_is_refused_and_all_brokers_in_its_way_are_named(update, brokers, message):
    decision = decide(update, brokers=brokers)
    assert not decision.needs_write
    assert results(decision.response()) == [(update[0], ErrorCode.FEATURE_UPDATE_FAILED, message)]


@pytest.mark.parametrize("update", [("a", 4, UPGRADE), ("a", 2, SAFE)])
def test_an_update_does_not_move_a_min_level_though_all_brokers_support_lower_ones(update):
    assert decide(update, brokers={1: ranges(a=(1, 4))}).state.features["a"].min_level == 2


def test_many_brokers_are_counted():
    brokers = {broker_id: {} for broker_id in range(1000)}
    ((_, _, message),) = results(decide(("a", 4, UPGRADE), brokers=brokers).response())
    assert len(message) < 4300
    assert message.endswith(" more.")


def test_a_deletion_looks_at_no_broker():
    assert decide(("a", 0, SAFE), brokers={}).state == finalized(b=(1, 2))


def test_what_is_valid_is_done_though_something_else_is_not():
    decision = decide(("b", 9, UPGRADE), ("c", 3, UPGRADE), ("a", 3, UPGRADE))
    assert decision.state == finalized(a=(2, 3), b=(1, 2), c=(2, 3))
    assert results(decision.response()) == [
        ("b", ErrorCode.FEATURE_UPDATE_FAILED, decision.errors["b"].message),
        ("c", ErrorCode.NONE, None),
        ("a", ErrorCode.INVALID_REQUEST, decision.errors["a"].message),
    ]


def test_a_feature_that_is_named_twice_is_refused_once():
    decision = decide(("a", 4, UPGRADE), ("b", 3, UPGRADE), ("a", 2, SAFE))
    assert decision.state == finalized(a=(2, 3), b=(1, 3))
    assert results(decision.response()) == [
        ("a", ErrorCode.INVALID_REQUEST, "The request updates a more than once."),
        ("b", ErrorCode.NONE, None),
    ]


def test_a_dry_run_tells_what_would_be_and_needs_no_write():
    decision = decide(("a", 4, UPGRADE), ("b", 2, UPGRADE), dry=True)
    assert decision.is_validate_only
    assert not decision.needs_write
    assert decision.state == finalized(a=(2, 4), b=(1, 2))
    assert [code for _, code, _ in results(decision.response())] == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]


def test_a_write_that_failed_is_the_error_of_what_it_would_have_changed():
    decision = decide(("a", 4, UPGRADE), ("b", 2, UPGRADE))
    response = decision.failed(ApiError(ErrorCode.FEATURE_UPDATE_FAILED, "no quorum"))
    assert response.error_code == ErrorCode.NONE
    assert results(response) == [
        ("a", ErrorCode.FEATURE_UPDATE_FAILED, "no quorum"),
        ("b", ErrorCode.INVALID_REQUEST, decision.errors["b"].message),
    ]


def test_nothing_is_updated_while_features_are_disabled():
    decision = decide(("a", 1, UPGRADE), state=DISABLED)
    assert not decision.needs_write
    response = decision.response()
    assert (response.error_code, response.error_message, response.results) == (
        ErrorCode.INVALID_REQUEST,
        "Feature versioning system is disabled.",
        [],
    )


def test_version_2_does_all_or_nothing_and_tells_the_first_error():
    decision = decide(("c", 3, UPGRADE), ("b", 9, UPGRADE), ("a", 3, UPGRADE), version=2)
    assert not decision.needs_write
    response = decision.response()
    assert (response.error_code, response.error_message, response.results) == (
        ErrorCode.FEATURE_UPDATE_FAILED,
        decision.errors["b"].message,
        [],
    )
    done = decide(("c", 3, UPGRADE), version=2)
    assert done.state == finalized(a=(2, 3), b=(1, 2), c=(2, 3))
    assert done.response() == refused(ApiError(ErrorCode.NONE))


def test_version_0_lowers_and_deletes_by_a_flag():
    keys = [FeatureUpdateKey("a", 2, allow_downgrade=True), FeatureUpdateKey("b", 0, allow_downgrade=True)]
    decision = decide_update(UpdateFeaturesRequest(feature_updates=keys), 0, STATE, BROKERS)
    assert decision.state == finalized(a=(2, 2))


def test_an_error_of_the_whole_has_no_result_for_any_feature():
    response = refused(ApiError(ErrorCode.NOT_CONTROLLER, "not here"))
    assert (response.error_code, response.error_message, response.results) == (
        ErrorCode.NOT_CONTROLLER,
        "not here",
        [],
    )


class Join(NamedTuple):
    broker_id: int
    supported: object


class Leave(NamedTuple):
    broker_id: int


class Update(NamedTuple):
    updates: list
    version: int


UPDATES = st.tuples(st.sampled_from(NAMES), st.integers(-1, 5), st.integers(0, 3))
ACTIONS = st.one_of(
    st.builds(Join, st.integers(0, 3), SUPPORTED),
    st.builds(Leave, st.integers(0, 3)),
    st.builds(Update, st.lists(UPDATES, max_size=3), st.integers(1, 2)),
)


@given(SUPPORTED, st.lists(ACTIONS, max_size=20))
def test_whatever_is_asked_and_whoever_comes_and_goes_live_brokers_can_run_with_what_is_finalized(own, actions):
    live = {9: own}
    state = finalized(**{name: (levels.lowest, levels.highest) for name, levels in own.items()})
    for action in actions:
        before = state
        match action:
            case Join(broker_id, supported):
                live.pop(broker_id, None)
                if not incompatibilities(supported, state):
                    live[broker_id] = supported
            case Leave(broker_id):
                live.pop(broker_id, None)
            case Update(updates, version):
                state = decide(*updates, state=state, brokers=live, version=version).state
                assert_minimums_are_left_alone(before, state)
        deprecated = raise_minimums(state, live)
        assert all(levels.min_level <= deprecated.features[name].min_level for name, levels in state.features.items())
        state = deprecated
        for supported in live.values():
            assert incompatibilities(supported, state) == ()
            assert all(supported[name].lowest <= levels.min_level for name, levels in state.features.items())


def assert_minimums_are_left_alone(before, after):
    """The API changes no min level of a feature that is finalized already (KIP-584)."""
    for name in before.features.keys() & after.features.keys():
        assert before.features[name].min_level == after.features[name].min_level


@given(SUPPORTED, st.lists(UPDATES, max_size=4), st.dictionaries(st.sampled_from(NAMES), st.tuples(LEVELS, LEVELS)))
def test_results_say_which_features_have_the_level_that_was_asked_for(supported, updates, pairs):
    state = finalized(**{name: tuple(sorted(pair)) for name, pair in pairs.items()})
    decision = decide(*updates, state=state, brokers={1: supported})
    told = {name: code for name, code, _ in results(decision.response())}
    assert told.keys() == {name for name, _, _ in updates}
    for name, level, _ in updates:
        if told[name] is ErrorCode.NONE:
            after = decision.state.features.get(name)
            assert (0 if after is None else after.max_level) == max(level, 0)
            assert after != state.features.get(name)
        else:
            assert decision.state.features.get(name) == state.features.get(name)
    untouched = state.features.keys() - told.keys()
    assert all(decision.state.features[name] == state.features[name] for name in untouched)
