"""What heartbeats lead to, and what happens to brokers that send none."""

import itertools

import pytest
from broker_requests import heartbeat, registered, said
from controllers import Broker, controller_of, directory, make_controller, make_image, run, run_due
from hypothesis import given
from hypothesis import strategies as st

from falkirk.metadata.controller.cluster.broker_heartbeats import BrokerControlState, BrokerHeartbeats, next_state
from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    BrokerHeartbeatRequest,
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
    UnfenceBrokerRecord,
)

TOPIC = b"t" * 16
SESSION_MS = 9000


def topic(*partitions, name="topic", topic_id=TOPIC, directories=None):
    """Return the records of a topic; a partition is its ISR, all of whose members are its replicas; the first leads."""
    records = [TopicRecord(name, topic_id)]
    for index, isr in enumerate(partitions):
        places = tuple(directory(broker_id) for broker_id in isr) if directories is None else directories
        records.append(PartitionRecord(index, topic_id, isr, isr, (), (), isr[0], 0, 0, 0, places))
    return records


def names(result):
    return [type(record).__name__ for record, _ in result.records]


# --- The state machine alone.

WANTS = {
    "nothing": {"want_fence": False},
    "fence": {"want_fence": True},
    "shut down": {"want_fence": False, "want_shut_down": True},
    "both": {"want_fence": True, "want_shut_down": True},
}
FENCED, UNFENCED, LEAVING, GONE = (
    BrokerControlState.FENCED,
    BrokerControlState.UNFENCED,
    BrokerControlState.CONTROLLED_SHUTDOWN,
    BrokerControlState.SHUTDOWN_NOW,
)
# (current, wants) -> the next state for each of four situations: the broker is caught up or not, leads or not.
TABLE = {
    # caught up: yes, yes, no, no; leads: yes, no, yes, no
    (FENCED, "nothing"): (UNFENCED, UNFENCED, FENCED, FENCED),
    (FENCED, "fence"): (FENCED, FENCED, FENCED, FENCED),
    (FENCED, "shut down"): (GONE, GONE, GONE, GONE),
    (FENCED, "both"): (GONE, GONE, GONE, GONE),
    (UNFENCED, "nothing"): (UNFENCED, UNFENCED, UNFENCED, UNFENCED),
    (UNFENCED, "fence"): (FENCED, FENCED, FENCED, FENCED),
    (UNFENCED, "shut down"): (LEAVING, GONE, LEAVING, GONE),
    (UNFENCED, "both"): (GONE, GONE, GONE, GONE),
    (LEAVING, "nothing"): (LEAVING, GONE, LEAVING, GONE),
    (LEAVING, "fence"): (LEAVING, GONE, LEAVING, GONE),
    (LEAVING, "shut down"): (LEAVING, GONE, LEAVING, GONE),
    (LEAVING, "both"): (LEAVING, GONE, LEAVING, GONE),
}


@pytest.mark.parametrize(("current", "wants"), TABLE, ids=str)
def test_states_follow_each_other_as_in_kafka(current, wants):
    request = BrokerHeartbeatRequest(1, 1, 1, **WANTS[wants])
    found = tuple(
        next_state(
            current,
            request,
            is_caught_up=is_caught_up,
            has_leaderships=lambda leads=leads: leads,
            others_are_caught_up=lambda: True,
        )
        for is_caught_up, leads in itertools.product((True, False), repeat=2)
    )

    assert found == TABLE[current, wants]


def test_a_broker_waits_with_its_shutdown_until_the_others_know_of_it():
    request = BrokerHeartbeatRequest(1, 1, 1, **WANTS["shut down"])

    for others, following in ((False, LEAVING), (True, GONE)):
        assert (
            next_state(
                LEAVING,
                request,
                is_caught_up=True,
                has_leaderships=lambda: False,
                others_are_caught_up=lambda others=others: others,
            )
            is following
        )


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30)), max_size=40), st.integers(0, 60))
def test_the_broker_longest_unheard_of_is_found_whatever_the_order(contacts, wait):
    heartbeats, heard, now = BrokerHeartbeats(20), {}, 0
    for broker_id, passed in contacts:
        now += passed
        heartbeats.touch(broker_id, 1, now)
        heard[broker_id] = now
    now += wait
    first = heartbeats.first_expired(now)

    assert heartbeats.next_expiry_ms == min((time + 21 for time in heard.values()), default=None)
    expired = {broker_id for broker_id, time in heard.items() if now - time > 20}
    assert (first is None) == (not expired)
    assert first is None or heard[first[0]] == min(heard.values())


# --- The controller.


@pytest.mark.parametrize("epoch_off", [-1, 1])
def test_a_heartbeat_of_another_life_is_stale(epoch_off):
    controller = make_controller(brokers=[1])
    epoch = registered(controller).broker_epoch
    stale = controller.cluster.heartbeat(BrokerHeartbeatRequest(1, epoch + epoch_off, 1), now_ms=5)
    unknown = controller.cluster.heartbeat(BrokerHeartbeatRequest(9, 1, 1), now_ms=5)

    assert stale == ApiError(
        ErrorCode.STALE_BROKER_EPOCH, f"Expected broker epoch {epoch}, but got broker epoch {epoch + epoch_off}"
    )
    assert unknown == ApiError(ErrorCode.STALE_BROKER_EPOCH, "No broker registration found for broker id 9")
    # It was no sign of life.
    assert controller.cluster.next_due_ms == SESSION_MS + 1


@pytest.mark.parametrize(
    ("given_broker", "fields", "flags"),
    [
        (Broker(broker_id=1), {}, "caught-up"),
        (Broker(broker_id=1), {"offset": 0}, ""),
        (Broker(broker_id=1, fenced=True), {"want_fence": True}, "caught-up fenced"),
        (Broker(broker_id=1, fenced=True), {"want_fence": True, "offset": 0}, "fenced"),
        (Broker(broker_id=1, fenced=True), {"offset": 0}, "fenced"),
        (Broker(broker_id=1, fenced=True), {"want_shut_down": True}, "caught-up fenced shut-down"),
        (Broker(broker_id=1), {"offline_log_dirs": (directory(7),)}, "caught-up"),
        (Broker(broker_id=1, cordoned=(0,)), {"cordoned_log_dirs": (directory(1),)}, "caught-up"),
        (Broker(broker_id=1), {"cordoned_log_dirs": ()}, "caught-up"),
    ],
)
def test_a_heartbeat_that_changes_nothing_appends_nothing(given_broker, fields, flags):
    controller = make_controller(brokers=[given_broker])

    for _ in range(2):
        result = heartbeat(controller, **fields)
        assert result.records == ()
        assert said(run(controller, result)) == flags


@pytest.mark.parametrize(
    ("at", "fence", "unfence"),
    [
        ("3.3-IV1", (FenceBrokerRecord, 0), (UnfenceBrokerRecord, 0)),
        ("3.3-IV2", (BrokerRegistrationChangeRecord, 0), (BrokerRegistrationChangeRecord, 0)),
        ("4.4-IV2", (BrokerRegistrationChangeRecord, 0), (BrokerRegistrationChangeRecord, 0)),
    ],
)
def test_fencing_is_written_as_the_metadata_version_has_it(at, fence, unfence):
    controller = make_controller(release="3.9" if at < "4" else "4.4", metadata_version=at, brokers=[1])

    fencing = heartbeat(controller, want_fence=True)
    assert said(run(controller, fencing)) == "caught-up fenced"
    assert registered(controller).fenced
    unfencing = heartbeat(controller)
    assert said(run(controller, unfencing)) == "caught-up"

    assert not registered(controller).fenced
    assert [(type(record), version) for record, version in fencing.records + unfencing.records] == [fence, unfence]


def test_a_fenced_broker_loses_its_leaderships_before_the_log_says_that_it_is_fenced():
    controller = make_controller(brokers=[1, 2], records=topic((1, 2), (2, 1)))

    result = heartbeat(controller, want_fence=True)
    run(controller, result)

    assert names(result) == ["PartitionChangeRecord", "PartitionChangeRecord", "BrokerRegistrationChangeRecord"]
    found = controller.state.image.topics.topic("topic")
    assert [(partition.leader, partition.isr) for partition in found.partitions] == [(2, (2,)), (2, (2,))]


def test_an_unfenced_broker_leads_what_waited_for_it():
    controller = make_controller(brokers=[1], records=topic((1,)))
    run(controller, heartbeat(controller, want_fence=True))
    assert controller.state.image.topics.partition("topic", 0).leader == -1

    result = heartbeat(controller)
    run(controller, result)

    assert names(result) == ["BrokerRegistrationChangeRecord", "PartitionChangeRecord"]
    assert controller.state.image.topics.partition("topic", 0).leader == 1


# --- Controlled shutdown.


@pytest.mark.parametrize(("at", "versions"), [("3.3-IV2", [0]), ("3.3-IV3", [1, 0]), ("4.4-IV2", [1, 2])])
def test_a_controlled_shutdown_is_told_where_the_metadata_version_has_words_for_it(at, versions):
    controller = make_controller(
        release="3.9" if at < "4" else "4.4", metadata_version=at, brokers=[1, 2], records=topic((1, 2))
    )

    result = heartbeat(controller, want_shut_down=True)
    run(controller, result)

    assert [version for _, version in result.records] == versions
    assert isinstance(result.records[-1].record, PartitionChangeRecord)
    assert registered(controller).in_controlled_shutdown == (len(versions) > 1)
    assert not registered(controller).fenced


def test_a_broker_shuts_down_when_it_leads_nothing_and_all_others_have_read_so():
    controller = make_controller(brokers=[1, 2, 3], records=topic((1, 2, 3)))
    run(controller, heartbeat(controller, 2))
    run(controller, heartbeat(controller, 3))

    result = heartbeat(controller, want_shut_down=True)
    assert said(run(controller, result)) == "caught-up"
    shutdown_offset = controller.state.next_offset - 1
    assert controller.state.image.topics.partition("topic", 0).leader == 2
    assert registered(controller).in_controlled_shutdown

    def asks_again():
        result = heartbeat(controller, want_shut_down=True)
        return said(run(controller, result)), names(result)

    run(controller, heartbeat(controller, 2, offset=shutdown_offset))
    run(controller, heartbeat(controller, 3, offset=shutdown_offset - 1))
    assert asks_again() == ("caught-up", [])
    run(controller, heartbeat(controller, 3, offset=shutdown_offset))
    assert asks_again() == ("caught-up fenced shut-down", ["BrokerRegistrationChangeRecord"])
    assert registered(controller).fenced
    # The answer was lost: it may go all the same, and the log need not hear of it again.
    assert asks_again() == ("caught-up fenced shut-down", [])


def test_a_broker_that_was_not_heard_of_yet_holds_a_shutdown_up_and_a_fenced_one_does_not():
    controller = make_controller(brokers=[1, 2, 3], records=topic((1, 2)))
    run(controller, heartbeat(controller, 1, want_shut_down=True))
    run(controller, heartbeat(controller, 2))

    assert not heartbeat(controller, 1, want_shut_down=True).response.should_shut_down
    run(controller, heartbeat(controller, 3, want_fence=True))
    assert heartbeat(controller, 1, want_shut_down=True).response.should_shut_down


def test_two_brokers_that_shut_down_do_not_wait_for_each_other():
    controller = make_controller(brokers=[1, 2, 3], records=topic((1, 2, 3), (2, 1, 3)))
    for broker_id in (1, 2):
        run(controller, heartbeat(controller, broker_id, offset=10, want_shut_down=True))
    run(controller, heartbeat(controller, 3))

    for broker_id in (1, 2):
        assert run(controller, heartbeat(controller, broker_id, offset=10, want_shut_down=True)).should_shut_down


def test_a_partition_that_nobody_else_has_goes_down_with_its_broker():
    controller = make_controller(brokers=[1, 2], records=topic((1,)))
    assert said(run(controller, heartbeat(controller, want_shut_down=True))) == "caught-up"
    run(controller, heartbeat(controller, 2))

    assert run(controller, heartbeat(controller, want_shut_down=True)).should_shut_down
    partition = controller.state.image.topics.partition("topic", 0)
    assert (partition.leader, partition.isr) == (-1, (1,))


def test_a_new_controller_takes_a_shutdown_up_where_the_log_tells_of_it():
    image = make_image(
        brokers=[Broker(broker_id=1, in_controlled_shutdown=True), Broker(broker_id=2)], records=topic((1, 2))
    )
    controller = controller_of(image)

    result = heartbeat(controller, want_shut_down=True)
    run(controller, result)

    # The leadership is moved, and what is known is not said again.
    assert names(result) == ["PartitionChangeRecord"]
    run(controller, heartbeat(controller, 2))
    assert heartbeat(controller, want_shut_down=True).response.should_shut_down


def test_a_fenced_broker_has_left_its_controlled_shutdown():
    controller = make_controller(brokers=[1, 2], records=topic((1, 2), (1,)))
    run(controller, heartbeat(controller, 1, want_shut_down=True))
    run(controller, heartbeat(controller, 2, now_ms=SESSION_MS))
    run_due(controller, SESSION_MS + 1)
    assert registered(controller, 1).fenced

    assert said(run(controller, heartbeat(controller, 1, now_ms=SESSION_MS + 2))) == "caught-up"
    assert not registered(controller, 1).fenced
    assert said(heartbeat(controller, 1, now_ms=SESSION_MS + 3).response) == "caught-up"


# --- Log directories.


def test_replicas_in_a_failed_directory_leave_isrs_and_the_registration_says_what_is_left():
    controller = make_controller(
        brokers=[Broker(broker_id=1, directory_count=3), Broker(broker_id=2)],
        records=[
            *topic((1, 2), directories=(directory(1, 1), directory(2))),
            *topic((1, 2), name="other", topic_id=b"o" * 16, directories=(directory(1, 2), directory(2))),
        ],
    )

    result = heartbeat(controller, offline_log_dirs=(directory(1, 1), directory(9)))
    assert said(run(controller, result)) == "caught-up"

    assert [(type(record).__name__, version) for record, version in result.records] == [
        ("PartitionChangeRecord", 2),
        ("BrokerRegistrationChangeRecord", 2),
    ]
    topics = controller.state.image.topics
    assert (topics.partition("topic", 0).leader, topics.partition("other", 0).leader) == (2, 1)
    assert registered(controller).log_dirs == (directory(1, 0), directory(1, 2))
    assert heartbeat(controller, offline_log_dirs=(directory(1, 1), directory(9))).records == ()


def test_a_broker_that_lost_its_last_directory_leads_nothing_and_the_log_cannot_say_more():
    controller = make_controller(brokers=[1, 2], records=topic((1, 2)))

    result = heartbeat(controller, offline_log_dirs=(directory(1),))
    run(controller, result)

    assert names(result) == ["PartitionChangeRecord"]
    assert heartbeat(controller, offline_log_dirs=(directory(1),)).records == ()


def test_a_broker_is_not_unfenced_by_the_heartbeat_that_tells_of_a_failed_directory():
    controller = make_controller(
        brokers=[Broker(broker_id=1, directory_count=2)],
        records=topic((1,), directories=(directory(1, 1),)),
    )
    run(controller, heartbeat(controller, want_fence=True))

    for flags in ("caught-up fenced", "caught-up"):
        assert said(run(controller, heartbeat(controller, offline_log_dirs=(directory(1, 1),)))) == flags

    assert controller.state.image.topics.partition("topic", 0).leader == -1


def test_directories_are_not_looked_at_where_the_log_does_not_tell_them():
    controller = make_controller(release="3.9", metadata_version="3.7-IV1", brokers=[1])

    assert heartbeat(controller, offline_log_dirs=(directory(1),)).records == ()


@pytest.mark.parametrize(
    ("at", "cordoned", "reported", "written"),
    [
        ("4.3-IV0", (), (0,), (directory(1, 0),)),
        ("4.3-IV0", (0,), (), ()),
        ("4.3-IV0", (0,), (1, 0), (directory(1, 1), directory(1, 0))),
        ("4.3-IV0", (0, 1), (1, 0), None),
        ("4.2-IV1", (), (0,), None),
    ],
)
def test_cordoned_directories_are_written_when_they_are_others_than_before(at, cordoned, reported, written):
    broker = Broker(broker_id=1, directory_count=2, cordoned=cordoned)
    controller = make_controller(metadata_version=at, brokers=[broker])

    result = heartbeat(controller, cordoned_log_dirs=tuple(directory(1, index) for index in reported))
    run(controller, result)

    if written is None:
        assert result.records == ()
    else:
        ((_, version),) = result.records
        assert (version, registered(controller).cordoned_log_dirs) == (3, written)


# --- Time.


def test_brokers_that_are_silent_for_longer_than_a_session_are_fenced_one_by_one():
    controller = make_controller(brokers=[1, 2, 3], records=topic((1, 2, 3)))
    run(controller, heartbeat(controller, 3, now_ms=100))
    assert controller.cluster.next_due_ms == SESSION_MS + 1
    assert run_due(controller, SESSION_MS) == []

    results = []
    for result in controller.cluster.due(SESSION_MS + 1):
        run(controller, result)
        results.append(result)

    # The second one is decided upon with the first one gone.
    assert [names(result) for result in results] == [["PartitionChangeRecord", "BrokerRegistrationChangeRecord"]] * 2
    partition = controller.state.image.topics.partition("topic", 0)
    assert (partition.leader, partition.isr) == (3, (3,))
    assert [registered(controller, broker_id).fenced for broker_id in (1, 2, 3)] == [True, True, False]
    assert controller.cluster.next_due_ms == 100 + SESSION_MS + 1
    assert run_due(controller, SESSION_MS + 1) == []


def test_what_was_not_appended_is_due_again():
    controller = make_controller(brokers=[1])

    first = next(controller.cluster.due(SESSION_MS + 1))
    again = next(controller.cluster.due(SESSION_MS + 1))

    assert first == again
    run(controller, again)
    assert run_due(controller, SESSION_MS + 1) == []
    assert controller.cluster.next_due_ms is None


def test_a_new_controller_gives_all_brokers_the_time_of_a_session():
    controller = make_controller(brokers=[1, Broker(broker_id=2, fenced=True)], now_ms=1000)

    assert run_due(controller, 1000 + SESSION_MS) == []
    assert len(run_due(controller, 1001 + SESSION_MS)) == 1


def test_the_session_time_is_the_configured_one():
    controller = make_controller(brokers=[1], broker_session_timeout_ms=50)

    assert controller.cluster.next_due_ms == 51


def test_time_does_nothing_to_brokers_that_are_gone_or_fenced():
    controller = make_controller(brokers=[1, 2])
    run(controller, controller.cluster.unregister_broker(1))
    run(controller, heartbeat(controller, 2, want_fence=True))

    assert run_due(controller, 10 * SESSION_MS) == []
    assert controller.cluster.next_due_ms is None


def test_when_brokers_were_heard_of_is_known_after_their_sessions_too():
    heartbeats = BrokerHeartbeats(1000)
    heartbeats.touch(1, 7, 100)
    session = heartbeats.touch(2, 8, 200)
    heartbeats.drop(2, session)
    assert heartbeats.last_contact_ms == {1: 100, 2: 200}
    heartbeats.touch(2, 9, 900)
    assert heartbeats.last_contact_ms == {1: 100, 2: 900}
