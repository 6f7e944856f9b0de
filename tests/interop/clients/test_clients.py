"""Client libraries against a cluster of ours, and against real Kafka, from which the expectations come."""

import itertools
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

import pytest
from _pytest.mark import ParameterSet
from client_cluster import ACCESSES, NOBODY, ClientCluster
from client_factory import LIBRARIES, ClientFactory
from kafka_client import CODECS, EARLIEST, LATEST, Acl, Client, NotConnectedError, Record, RefusedError
from waiting import becomes

from falkirk.protocol.error_codes import ErrorCode

pytestmark = pytest.mark.interop
CLUSTERS = [("falkirk", release) for release in ("3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0")]
CLUSTERS += [("kafka", "3.7.2"), ("kafka", "4.3.1")]
# The quick ones: every library with one cluster, and an older cluster with one of them.
OLD, NEW = ("falkirk", "3.7.2"), ("falkirk", "4.3.1")
NEW_WITH_ALL = {(NEW, library) for library in LIBRARIES}
NUMBERS = itertools.count(1)
# A client that is not let in tries for so long.
REFUSED_WITHIN_S = 2
BASE_MS = 1_700_000_000_000

REFUSALS: dict[ErrorCode, Callable[[Client, str], None]] = {
    ErrorCode.TOPIC_ALREADY_EXISTS: lambda client, topic: client.create_topic(topic),
    ErrorCode.INVALID_REPLICATION_FACTOR: lambda client, _: client.create_topic("bad", replication_factor=9),
    ErrorCode.INVALID_TOPIC_EXCEPTION: lambda client, _: client.create_topic("not a name"),
    ErrorCode.INVALID_CONFIG: lambda client, _: client.create_topic("bad", configs={"no.such.config": "1"}),
    ErrorCode.INVALID_PARTITIONS: lambda client, topic: client.create_partitions(topic, 2),
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: lambda client, _: client.delete_topic("not-there"),
}


def cases(quick: Collection[tuple[tuple[str, str], str]]) -> list[ParameterSet]:
    """All clusters, each with all libraries; what is not `quick` belongs to the full matrix."""
    return [
        pytest.param(one, library, id="-".join([*one, library]), marks=marks)
        for one in CLUSTERS
        for library in LIBRARIES
        for marks in [[] if (one, library) in quick else [pytest.mark.full]]
    ]


@pytest.fixture
def client(served: ClientCluster, client_factory: ClientFactory, library: str) -> Client:
    """The library in plain text."""
    return client_factory.get(library, served.access("PLAINTEXT"))


@pytest.fixture
def topic(served: ClientCluster, client: Client) -> Iterator[str]:
    """A topic of three partitions on both brokers."""
    name = f"topic-{next(NUMBERS)}"
    client.create_topic(name, partitions=3, replication_factor=2)
    served.await_topic(name, partitions=3)
    yield name
    client.delete_topic(name)


def records(count: int, *, partitions: int = 3, salt: str = "") -> list[Record]:
    """Records of all shapes, with timestamps a second apart."""
    return [
        Record(
            partition=number % partitions,
            value=f"value {salt} {number} ".encode() * (number % 7 * 20 + 1),
            key=None if number % 5 == 0 else f"key-{number}".encode(),
            timestamp_ms=BASE_MS + number * 1000,
            headers=() if number % 4 else (("number", str(number).encode()), ("twice", b"\x00\xff"), ("twice", b"")),
        )
        for number in range(count)
    ]


def gets_in(client: Client) -> bool:
    """True if the cluster accepts the client."""
    try:
        client.describe_cluster()
    except NotConnectedError:
        return False
    return True


@pytest.mark.parametrize(("served", "library"), cases({(OLD, "librdkafka"), *NEW_WITH_ALL}), indirect=["served"])
class TestInPlainText:
    def test_records_of_every_codec_come_back_as_they_were_sent(self, client: Client, topic: str) -> None:
        sent: dict[int, list[Record]] = {0: [], 1: [], 2: []}
        for codec in CODECS:
            batch = records(60, salt=codec)
            offsets = client.produce(topic, batch, codec=codec)
            for record, offset in zip(batch, offsets, strict=True):
                assert offset == len(sent[record.partition])
                sent[record.partition].append(record)
        for partition, wanted in sent.items():
            assert client.consume(topic, partition, 0, len(wanted)) == list(enumerate(wanted))
            assert client.consume(topic, partition, 37, 25) == list(enumerate(wanted))[37:62]

    def test_large_records_come_back_as_they_were_sent(self, client: Client, topic: str) -> None:
        wanted = [Record(partition=0, value=bytes([number]) * 900_000, timestamp_ms=BASE_MS) for number in range(6)]
        assert client.produce(topic, wanted) == list(range(6))
        assert client.consume(topic, 0, 0, 6) == list(enumerate(wanted))

    def test_offsets_are_found_by_their_time(self, client: Client, topic: str) -> None:
        assert client.offset(topic, 1, EARLIEST) == client.offset(topic, 1, LATEST) == 0
        assert client.offset(topic, 1, BASE_MS) is None
        # Partition 1 has the numbers 1, 4, 7, ... each a second per number behind the base.
        client.produce(topic, records(30), codec="gzip")
        assert client.offset(topic, 1, EARLIEST) == 0
        assert client.offset(topic, 1, LATEST) == 10
        assert client.offset(topic, 1, BASE_MS) == 0
        assert client.offset(topic, 1, BASE_MS + 7000) == 2
        assert client.offset(topic, 1, BASE_MS + 7001) == 3
        assert client.offset(topic, 1, BASE_MS + 28_001) is None

    def test_deleted_records_are_gone(self, client: Client, topic: str) -> None:
        batch = records(9, partitions=1)
        client.produce(topic, batch)
        assert client.delete_records(topic, 0, 4) == 4
        assert client.offset(topic, 0, EARLIEST) == 4
        assert client.offset(topic, 0, LATEST) == 9
        assert client.consume(topic, 0, 4, 5) == list(enumerate(batch))[4:]
        with pytest.raises(RefusedError) as refused:
            client.delete_records(topic, 0, 10)
        assert refused.value.error_code is ErrorCode.OFFSET_OUT_OF_RANGE

    def test_topics_are_made_and_changed(self, client: Client, topic: str) -> None:
        assert topic in client.topics()
        partitions = client.describe_topic(topic)
        assert [partition.number for partition in partitions] == [0, 1, 2]
        assert {partition.leader for partition in partitions} == {1, 2}
        assert all(sorted(partition.replicas) == [1, 2] for partition in partitions)
        assert all(partition.in_sync == {1, 2} for partition in partitions)
        client.create_partitions(topic, 5)
        becomes(lambda: len(client.describe_topic(topic)), 5)
        client.produce(topic, [Record(partition=4, value=b"new", timestamp_ms=BASE_MS)])
        assert client.offset(topic, 4, LATEST) == 1

    def test_configs_of_topics_are_changed(self, client: Client, topic: str) -> None:
        assert client.topic_config(topic, "retention.ms") == "-1"
        client.set_topic_config(topic, "retention.ms", "86400000")
        becomes(lambda: client.topic_config(topic, "retention.ms"), "86400000")
        with pytest.raises(RefusedError) as refused:
            client.set_topic_config(topic, "retention.ms", "soon")
        assert refused.value.error_code is ErrorCode.INVALID_CONFIG

    @pytest.mark.parametrize("refusal", REFUSALS, ids=lambda one: one.name)
    def test_what_cannot_be_is_refused(self, client: Client, topic: str, refusal: ErrorCode) -> None:
        with pytest.raises(RefusedError) as refused:
            REFUSALS[refusal](client, topic)
        assert refused.value.error_code is refusal

    def test_a_deleted_topic_is_gone(self, client: Client) -> None:
        client.create_topic("short-lived")
        becomes(lambda: "short-lived" in client.topics(), wanted=True)
        client.delete_topic("short-lived")
        becomes(lambda: "short-lived" in client.topics(), wanted=False)

    def test_the_cluster_tells_who_it_is(self, client: Client, served: ClientCluster) -> None:
        assert client.describe_cluster() == (served.cluster_id, {1, 2})

    def test_acls_are_kept(self, client: Client, topic: str) -> None:
        if not client.offers_acls:
            return
        acls = {Acl(topic, "User:reader", "READ", "ALLOW"), Acl(topic, "User:reader", "WRITE", "DENY")}
        assert client.acls(topic) == []
        for acl in acls:
            client.create_acl(acl)
        becomes(lambda: set(client.acls(topic)), acls)
        client.delete_acls(topic)
        becomes(lambda: client.acls(topic), [])


@pytest.mark.parametrize(("served", "library"), cases(NEW_WITH_ALL), indirect=["served"])
class TestSecured:
    @pytest.mark.parametrize("kind", ACCESSES[1:])
    def test_records_come_back_as_they_were_sent(
        self, served: ClientCluster, client_factory: ClientFactory, library: str, kind: str
    ) -> None:
        client = client_factory.get(library, served.access(kind))
        name = f"secured-{next(NUMBERS)}"
        client.create_topic(name, partitions=2)
        served.await_topic(name, partitions=2)
        batch = records(40, partitions=2)
        client.produce(name, batch, codec="lz4")
        assert client.consume(name, 1, 0, 20) == list(enumerate(batch[1::2]))
        assert len(client.describe_topic(name)) == 2
        client.delete_topic(name)

    def test_wrong_credentials_let_nobody_in(
        self, served: ClientCluster, client_factory: ClientFactory, library: str
    ) -> None:
        wrong = [replace(served.access(kind), password=NOBODY[0]) for kind in ("PLAIN", "SCRAM-SHA-512")]
        wrong.append(replace(served.access("PLAIN"), ca_file=served.certificates.other_ca_file))
        wrong.append(replace(served.access("SSL"), certificate_file=None, key_file=None))
        for access in wrong:
            assert not gets_in(client_factory.get(library, access, patience_s=REFUSED_WITHIN_S))

    def test_who_may_do_nothing_is_refused(
        self, served: ClientCluster, client_factory: ClientFactory, library: str
    ) -> None:
        client = client_factory.get(library, served.access_of_nobody())
        with pytest.raises(RefusedError) as refused:
            client.create_topic("stolen")
        assert refused.value.error_code in {
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        }
        assert client.topics() == set()
