"""What brokers tell of the cluster to clients: Metadata and DescribeTopicPartitions."""

from dataclasses import replace
from itertools import chain
from random import Random
from types import SimpleNamespace

import msgspec
import pytest
from controllers import CLUSTER_ID, Broker, directory, make_image
from image_answers import ask_about, view_of_image
from node_views import context_of
from topic_authorizers import topic_authorizer

from falkirk import slices
from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.image.broker_registration import Endpoint
from falkirk.node.handlers import metadata
from falkirk.node.handlers.routes import ROUTES
from falkirk.protocol import codec
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    DescribeTopicPartitionsRequest,
    MetadataRequest,
    MetadataResponse,
    PartitionRecord,
    TopicRecord,
)
from falkirk.protocol.messages.describe_topic_partitions_request import Cursor, TopicRequest
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from falkirk.protocol.schema import ZERO_UUID
from falkirk.slices import exhaust
from falkirk.versions.release import Release

NONE = -(2**31)
ALL_TOPIC_OPERATIONS = 0b1101_1111_1000
NEWEST = 13
DESCRIBE, CREATE, WRITE = AclOperation.DESCRIBE, AclOperation.CREATE, AclOperation.WRITE


def topic(name, *partitions):
    """Return the records of a topic; each partition by its replicas, the first leads; or (replicas, isr, leader)."""
    topic_id = name.encode()[-16:].ljust(16, b".")
    records = [TopicRecord(name, topic_id)]
    for index, given in enumerate(partitions):
        replicas, isr, leader = given if isinstance(given[0], tuple) else (given, given, given[0])
        records.append(
            PartitionRecord(
                index,
                topic_id,
                replicas,
                isr,
                leader=leader,
                leader_epoch=7,
                directories=tuple(directory(replica) for replica in replicas),
            )
        )
    return records


BROKERS = (Broker(broker_id=1, rack="a"), Broker(broker_id=2), Broker(broker_id=3, fenced=True))
RECORDS = (*topic("foo", (1, 2), (2, 3)), *topic("bar", (2, 1)), *topic("__consumer_offsets", (1,)))


def image(*records, brokers=BROKERS, release="4.3"):
    return make_image(release=release, brokers=brokers, records=records or RECORDS)


class Creation:
    """Remembers what was to be created."""

    is_enabled = True

    def __init__(self):
        self.created = []

    def create(self, names, _context):
        self.created += names


def named(*names, **fields):
    return MetadataRequest([MetadataRequestTopic(name=name) for name in names], **fields)


def by_id(*ids):
    return MetadataRequest([MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in ids])


def errors(response):
    return {topic.name: ErrorCode(topic.error_code).name for topic in response.topics}


# --- Brokers and controller


@pytest.mark.parametrize("version", range(NEWEST + 1))
def test_brokers_that_are_alive_are_told_in_every_version(version):
    response = ask_about(image(), named(), version)
    told = [(broker.node_id, broker.host, broker.port, broker.rack) for broker in response.brokers]
    assert told == [(1, "broker-1", 9092, "a" if version >= 1 else None), (2, "broker-2", 9092, None)]
    assert response.cluster_id == (CLUSTER_ID if version >= 2 else None)
    assert response.cluster_authorized_operations == NONE


def test_endpoints_are_those_of_the_listener_where_the_request_came_in():
    on = image()
    broker = on.cluster.brokers[1]
    points = (*broker.end_points, Endpoint("EXTERNAL", "outside", 19092, 0))
    brokers = on.cluster.brokers.set(1, msgspec.structs.replace(broker, end_points=points))
    on = msgspec.structs.replace(on, cluster=msgspec.structs.replace(on.cluster, brokers=brokers))
    response = ask_about(on, named("foo"), listener="EXTERNAL")
    assert [(broker.node_id, broker.host, broker.port) for broker in response.brokers] == [(1, "outside", 19092)]
    partitions = response.topics[0].partitions
    assert [ErrorCode(partition.error_code).name for partition in partitions] == ["NONE", "LISTENER_NOT_FOUND"]
    assert [partition.leader_id for partition in partitions] == [1, -1]
    assert [partition.offline_replicas for partition in partitions] == [(2,), (2, 3)]
    before = ask_about(on, named("foo"), 5, listener="EXTERNAL").topics[0].partitions
    assert [ErrorCode(partition.error_code).name for partition in before] == ["NONE", "LEADER_NOT_AVAILABLE"]


def test_the_controller_is_any_broker_that_is_alive():
    random = Random(5)
    told = {ask_about(image(), named(), random=random).controller_id for _ in range(50)}
    assert told == {1, 2}
    assert ask_about(image(brokers=[Broker(broker_id=3, fenced=True)]), named()).controller_id == -1


@pytest.mark.parametrize(("version", "told"), [(7, False), (8, True), (10, True), (11, False)])
def test_the_operations_on_the_cluster_are_told_in_three_versions(version, told):
    request = named(include_cluster_authorized_operations=told)
    response = ask_about(image(), request, version)
    assert response.cluster_authorized_operations == (0b1_1111_1010_0000 if told else NONE)
    if told:
        nobody = topic_authorizer({}, cluster=(CREATE,))
        assert ask_about(image(), request, version, authorizer=nobody).cluster_authorized_operations == 0


# --- Topics


@pytest.mark.parametrize("version", range(NEWEST + 1))
def test_partitions_are_told_in_every_version(version):
    (told,) = ask_about(image(), named("foo"), version).topics
    assert (told.error_code, told.name, told.is_internal) == (0, "foo", False)
    assert told.topic_id == (b"foo".ljust(16, b".") if version >= 10 else ZERO_UUID)
    first, second = told.partitions
    epoch = 7 if version >= 7 else -1
    assert (first.partition_index, first.leader_id, first.leader_epoch) == (0, 1, epoch)
    assert (first.replica_nodes, first.isr_nodes, first.offline_replicas) == ((1, 2), (1, 2), ())
    assert (second.partition_index, second.leader_id, second.error_code) == (1, 2, 0 if version else 9)
    assert second.replica_nodes == second.isr_nodes == ((2, 3) if version else (2,))
    assert second.offline_replicas == ((3,) if version >= 5 else ())


def test_replicas_on_a_directory_that_is_gone_are_offline():
    records = topic("foo", (1, 2))
    records[1].directories = (directory(1, 9), directory(2))
    (partition,) = ask_about(image(*records), named("foo")).topics[0].partitions
    assert partition.offline_replicas == (1,)


def test_a_partition_without_leader_says_so():
    on = image(*topic("foo", ((1,), (1,), -1), ((9,), (9,), 9), ((3,), (3,), 3)))
    partitions = ask_about(on, named("foo")).topics[0].partitions
    assert [ErrorCode(partition.error_code).name for partition in partitions] == [
        "LEADER_NOT_AVAILABLE",
        "LEADER_NOT_AVAILABLE",
        "NONE",
    ]
    assert [partition.leader_id for partition in partitions] == [-1, -1, 3]


@pytest.mark.parametrize(
    ("version", "request_", "told"),
    [
        (0, MetadataRequest([]), ["__consumer_offsets", "bar", "foo"]),
        (1, MetadataRequest([]), []),
        (1, MetadataRequest(None), ["__consumer_offsets", "bar", "foo"]),
        (NEWEST, MetadataRequest(None), ["__consumer_offsets", "bar", "foo"]),
    ],
)
def test_null_stands_for_all_topics_and_an_empty_list_for_none_but_in_version_0(version, request_, told):
    response = ask_about(image(), request_, version)
    assert [topic.name for topic in response.topics] == told
    internal = [topic.name for topic in response.topics if topic.is_internal]
    assert internal == (["__consumer_offsets"] if told and version else [])


def test_internal_topics_are_those_of_the_release():
    request = named("__share_group_state", "__transaction_state")
    told = {
        release: [
            topic.is_internal
            for topic in ask_about(image(release=release), request, 12, release=Release.parse(release)).topics
        ]
        for release in ("3.8", "3.9")
    }
    assert told == {"3.8": [False, True], "3.9": [True, True]}


def test_what_is_not_there_is_told_and_not_created_unless_that_is_wanted():
    creation = Creation()
    response = ask_about(image(), named("foo", "new", "b d", allow_auto_topic_creation=False), topic_creation=creation)
    assert errors(response) == {"foo": "NONE", "new": "UNKNOWN_TOPIC_OR_PARTITION", "b d": "INVALID_TOPIC_EXCEPTION"}
    assert creation.created == []


def test_topics_are_created_whose_names_are_possible():
    creation = Creation()
    response = ask_about(image(), named("new", "foo", "b d", "new"), topic_creation=creation)
    assert errors(response) == {"foo": "NONE", "new": "UNKNOWN_TOPIC_OR_PARTITION", "b d": "INVALID_TOPIC_EXCEPTION"}
    assert creation.created == ["new"]


def test_before_version_4_topics_are_created_unasked():
    creation = Creation()
    ask_about(image(), named("new"), 3, topic_creation=creation)
    assert creation.created == ["new"]


def test_topics_are_not_created_where_that_is_off():
    creation = SimpleNamespace(is_enabled=False)
    assert errors(ask_about(image(), named("new"), topic_creation=creation)) == {"new": "UNKNOWN_TOPIC_OR_PARTITION"}


# --- By id


@pytest.mark.parametrize("version", [12, 13])
def test_topics_are_asked_for_by_id(version):
    known, unknown = b"foo".ljust(16, b"."), b"?" * 16
    response = ask_about(image(), by_id(unknown, known), version)
    told = [(ErrorCode(topic.error_code).name, topic.name, topic.topic_id) for topic in response.topics]
    assert told == [("NONE", "foo", known), ("UNKNOWN_TOPIC_ID", None, unknown)]


def test_names_do_not_count_besides_an_id():
    request = MetadataRequest([MetadataRequestTopic(b"bar".ljust(16, b"."), None), MetadataRequestTopic(name="foo")])
    assert [topic.name for topic in ask_about(image(), request).topics] == ["bar"]


@pytest.mark.parametrize(
    ("version", "asked"),
    [(10, (b"?" * 16, "foo")), (11, (ZERO_UUID, None)), (11, (b"?" * 16, None)), (13, (ZERO_UUID, None))],
)
def test_what_a_version_cannot_ask_is_refused(version, asked):
    response = ask_about(image(), MetadataRequest([MetadataRequestTopic(*asked)]), version)
    assert [ErrorCode(topic.error_code).name for topic in response.topics] == ["INVALID_REQUEST"]


# --- Who may see it


def test_what_may_not_be_described_is_told_alike_whether_it_is_there_or_not():
    may = topic_authorizer({"foo": (DESCRIBE,)})
    creation = Creation()
    response = ask_about(image(), named("foo", "bar", "new"), authorizer=may, topic_creation=creation)
    refused = [(topic.error_code, topic.topic_id, topic.partitions) for topic in response.topics if topic.name != "foo"]
    assert refused == [(ErrorCode.TOPIC_AUTHORIZATION_FAILED, ZERO_UUID, [])] * 2
    assert errors(response)["foo"] == "NONE"
    assert creation.created == []
    assert [topic.name for topic in ask_about(image(), MetadataRequest(None), authorizer=may).topics] == ["foo"]


def test_who_may_not_describe_a_topic_is_not_told_the_name_behind_an_id():
    topic_id = b"bar".ljust(16, b".")
    response = ask_about(image(), by_id(topic_id), authorizer=topic_authorizer({"foo": (DESCRIBE,)}))
    told = [(ErrorCode(topic.error_code).name, topic.name, topic.topic_id) for topic in response.topics]
    assert told == [("TOPIC_AUTHORIZATION_FAILED", None, topic_id)]


@pytest.mark.parametrize(
    ("allowed", "cluster", "created"),
    [
        ({"new": (DESCRIBE,), "other": (DESCRIBE,)}, (), []),
        ({"new": (DESCRIBE, CREATE), "other": (DESCRIBE,)}, (), ["new"]),
        ({"new": (DESCRIBE,), "other": (DESCRIBE,)}, (CREATE,), ["new", "other"]),
    ],
)
def test_topics_are_created_for_who_may_create_them(allowed, cluster, created):
    creation = Creation()
    may = topic_authorizer(allowed, cluster=cluster)
    response = ask_about(image(), named("new", "other"), authorizer=may, topic_creation=creation)
    assert creation.created == created
    expected = {
        name: "UNKNOWN_TOPIC_OR_PARTITION" if name in created else "TOPIC_AUTHORIZATION_FAILED"
        for name in ("new", "other")
    }
    assert errors(response) == expected


@pytest.mark.parametrize("version", [7, 8, 13])
def test_the_operations_on_topics_are_told_on_demand(version):
    request = named("foo", "new", include_topic_authorized_operations=version >= 8)
    response = ask_about(image(), request, version)
    told = [topic.topic_authorized_operations for topic in response.topics]
    assert told == [ALL_TOPIC_OPERATIONS if version >= 8 else NONE] * 2
    may = topic_authorizer({"foo": (WRITE,), "new": (DESCRIBE,)})
    response = ask_about(image(), request, version, authorizer=may)
    told = [topic.topic_authorized_operations for topic in response.topics]
    # WRITE implies DESCRIBE.
    assert told == ([1 << WRITE | 1 << DESCRIBE, 1 << DESCRIBE] if version >= 8 else [NONE] * 2)


# --- Answers that are given again unread


def test_an_answer_is_for_everyone_only_where_everyone_may_see_the_same():
    request = named("foo")
    context = context_of(request, NEWEST, listener="PLAINTEXT")
    creating = named("new")
    view = view_of_image(image(), topic_creation=Creation())

    def is_for_all(*arguments):
        return exhaust(ROUTES[3].handler(*arguments).slices).is_for_all

    assert is_for_all(view, context, request)
    assert not is_for_all(view, replace(context, security_protocol="SASL_SSL"), request)
    assert not is_for_all(view, context, creating)
    may = replace(view, authorizer=topic_authorizer({"foo": (DESCRIBE,)}))
    assert not is_for_all(may, context, request)


def test_many_topics_are_described_over_many_steps(monkeypatch):
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 4)
    monkeypatch.setattr(metadata, "JOINED_BYTES_MAX", 1_000)
    on = image(*chain.from_iterable(topic(f"t{number:03}", *[(1,)] * 3) for number in range(100)))
    context = context_of(MetadataRequest(topics=None), NEWEST, listener="PLAINTEXT")

    def described():
        """Return the response, and in how many slices it is made."""
        work, count = ROUTES[3].handler(view_of_image(on), context, MetadataRequest(topics=None)).slices, 1
        while True:
            try:
                next(work)
            except StopIteration as end:
                return codec.decode(MetadataResponse, NEWEST, b"".join(end.value.pieces)), count
            count += 1

    response, count = described()
    assert [found.name for found in response.topics] == [f"t{number:03}" for number in range(100)]
    assert count > 90, "a topic with three partitions in each"
    again, count = described()
    assert again.topics == response.topics
    assert count < 60, "topics that are encoded already count less"


@pytest.mark.parametrize("is_named", [False, True])
def test_no_slice_asks_for_the_rights_on_very_many_topics(monkeypatch, is_named):
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 40)
    asked = []

    class Counting:
        is_configured = True

        def is_allowed(self, *arguments):
            asked.append(arguments)
            return False

    names = [f"t{number:03}" for number in range(300)]
    on = image(*chain.from_iterable(topic(name, (1,)) for name in names))
    request = named(*names) if is_named else MetadataRequest(topics=None)
    view = replace(view_of_image(on), authorizer=Counting())
    work = ROUTES[3].handler(view, context_of(request, NEWEST, listener="PLAINTEXT"), request).slices
    most = before = 0
    for _ in work:
        most, before = max(most, len(asked) - before), len(asked)
    assert len(asked) == len(names)
    assert max(most, len(asked) - before) <= 11


# --- DescribeTopicPartitions


def page(*names, limit=2000, cursor=None):
    return DescribeTopicPartitionsRequest([TopicRequest(name) for name in names], limit, cursor and Cursor(*cursor))


def told_page(response):
    cursor = response.next_cursor
    topics = {topic.name: [partition.partition_index for partition in topic.partitions] for topic in response.topics}
    return topics, None if cursor is None else (cursor.topic_name, cursor.partition_index)


def test_topics_are_told_in_the_order_of_their_names_page_by_page():
    on = image(*topic("b", *[(1,)] * 3), *topic("a", *[(1,)] * 2), *topic("c", (1,)))
    assert told_page(ask_about(on, page(), 0)) == ({"a": [0, 1], "b": [0, 1, 2], "c": [0]}, None)
    assert told_page(ask_about(on, page("c", "a"), 0)) == ({"a": [0, 1], "c": [0]}, None)
    cursor, pages = None, []
    while True:
        told, cursor = told_page(ask_about(on, page(limit=2, cursor=cursor), 0))
        pages.append(told)
        if cursor is None:
            break
    assert pages == [{"a": [0, 1]}, {"b": [0, 1]}, {"b": [2], "c": [0]}]


def test_a_page_is_as_long_as_the_broker_allows_and_never_empty():
    on = image(*topic("a", *[(1,)] * 3))
    limited = {"static_configs": {"max.request.partition.size.limit": "2"}}
    assert told_page(ask_about(on, page(), 0, **limited)) == ({"a": [0, 1]}, ("a", 2))
    assert told_page(ask_about(on, page(limit=-5), 0, **limited)) == ({"a": [0]}, ("a", 1))


def test_a_cursor_may_name_a_topic_that_is_gone():
    on = image(*topic("b", (1,)))
    assert told_page(ask_about(on, page(cursor=("a", 5)), 0)) == ({"b": [0]}, None)
    response = ask_about(on, page("a", "b", cursor=("a", 5)), 0)
    assert errors(response) == {"a": "UNKNOWN_TOPIC_OR_PARTITION", "b": "NONE"}


@pytest.mark.parametrize("request_", [page("a", cursor=("b", 0)), page("a", cursor=("a", -1)), page(cursor=("a", -1))])
def test_a_cursor_that_cannot_be_is_refused(request_):
    response = ask_about(image(*topic("a", (1,))), request_, 0)
    assert all(ErrorCode(topic.error_code).name == "INVALID_REQUEST" for topic in response.topics)
    assert len(response.topics) == len(request_.topics)


def test_partitions_are_told_with_eligible_leaders_and_without_errors():
    records = topic("a", ((1, 2, 3), (1,), -1))
    records[1].eligible_leader_replicas, records[1].last_known_elr = [2], [3]
    response = ask_about(
        make_image(features={"eligible.leader.replicas.version": 1}, brokers=BROKERS, records=records), page("a"), 0
    )
    (told,) = response.topics
    (partition,) = told.partitions
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (0, -1, 7)
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ((2,), (3,))
    assert partition.offline_replicas == (3,)
    assert told.topic_authorized_operations == ALL_TOPIC_OPERATIONS


def test_a_page_has_what_may_be_described():
    on = image(*topic("a", (1,)), *topic("b", (1,)))
    may = topic_authorizer({"b": (DESCRIBE,)})
    assert told_page(ask_about(on, page(), 0, authorizer=may)) == ({"b": [0]}, None)
    response = ask_about(
        on, page("a", "b", "c", "d e"), 0, authorizer=topic_authorizer({"b": (DESCRIBE,), "d e": (DESCRIBE,)})
    )
    assert errors(response) == {
        "b": "NONE",
        "d e": "INVALID_TOPIC_EXCEPTION",
        "a": "TOPIC_AUTHORIZATION_FAILED",
        "c": "TOPIC_AUTHORIZATION_FAILED",
    }
    assert {topic.topic_id for topic in response.topics if topic.name != "b"} == {ZERO_UUID}
