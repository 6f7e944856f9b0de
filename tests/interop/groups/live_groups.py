"""Groups of both protocols on a running cluster, with and without members, made with librdkafka."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import confluent_kafka as ck
import confluent_kafka.admin as ck_admin
from waiting import becomes

ORDERS = "orders"
LONG_TOPIC = "a-topic-whose-name-has-more-than-24-characters"
_RECORDS = 10
_PATIENCE_S = 60


class Members:
    """Consumers of one group that are polled until all have an assignment."""

    def __init__(self, servers: str, group: str, configs: Sequence[dict[str, str]], topics: Sequence[str]) -> None:
        common = {"bootstrap.servers": servers, "group.id": group, "enable.auto.commit": False, "log_level": 0}
        common["max.poll.interval.ms"] = 3_600_000
        self._consumers = [ck.Consumer(common | {"auto.offset.reset": "earliest"} | config) for config in configs]
        for consumer in self._consumers:
            consumer.subscribe(list(topics))

    def await_assignment(self, partitions: int) -> None:
        """Poll until the members have this many partitions among them, and each has one."""

        def owned() -> bool:
            for consumer in self._consumers:
                consumer.poll(0.1)
            counts = [len(consumer.assignment()) for consumer in self._consumers]
            return sum(counts) == partitions and all(counts)

        becomes(owned, wanted=True)

    def commit(self, offsets: Sequence[tuple[str, int, int]]) -> None:
        """Commit offsets through the member that has the partitions."""
        for topic, partition, offset in offsets:
            [owner] = [
                consumer
                for consumer in self._consumers
                if (topic, partition) in {(each.topic, each.partition) for each in consumer.assignment()}
            ]
            owner.commit(offsets=[ck.TopicPartition(topic, partition, offset)], asynchronous=False)

    def poll(self, seconds: float) -> None:
        """Poll for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for consumer in self._consumers:
                consumer.poll(0.05)

    def close(self) -> None:
        """Leave the group."""
        for consumer in self._consumers:
            consumer.close()


def make_topics(servers: str) -> None:
    """Create the topics, with records of known timestamps."""
    admin = ck_admin.AdminClient({"bootstrap.servers": servers, "log_level": 0})
    made = admin.create_topics([ck_admin.NewTopic(ORDERS, 3, 1), ck_admin.NewTopic(LONG_TOPIC, 1, 1)])
    for done in made.values():
        done.result(_PATIENCE_S)
    producer = ck.Producer({"bootstrap.servers": servers, "log_level": 0})
    for topic, partitions in ((ORDERS, 2), (LONG_TOPIC, 1)):
        for partition in range(partitions):
            for number in range(_RECORDS):
                producer.produce(topic, b"value", partition=partition, timestamp=1_700_000_000_000 + number * 1000)
    assert producer.flush(_PATIENCE_S) == 0


def commit_without_members(servers: str, group: str, offsets: Sequence[tuple[str, int, int]]) -> None:
    """Make a group that has offsets only."""
    config = {"bootstrap.servers": servers, "group.id": group, "log_level": 0}
    consumer = ck.Consumer(config)
    try:
        consumer.commit(offsets=[ck.TopicPartition(*one) for one in offsets], asynchronous=False)
    finally:
        consumer.close()


CLASSIC = {"partition.assignment.strategy": "range"}
MODERN = {"group.protocol": "consumer"}
# A static member leaves without a word, and is to stay in its group for the length of a test.
STATIC = {"group.instance.id": "instance-1", "session.timeout.ms": "600000"}


@contextmanager
def live_groups(servers: str) -> Iterator[None]:
    """Run groups with members during the block: `classic-live`, `modern-live`, `static-live`."""
    with ExitStack() as stack:
        for group, configs in (
            ("classic-live", [CLASSIC | {"client.id": "c1"}, CLASSIC | {"client.id": "c2"}]),
            ("modern-live", [MODERN | {"client.id": "m1"}, MODERN | {"client.id": "m2"}]),
            ("static-live", [CLASSIC | STATIC]),
        ):
            members = Members(servers, group, configs, [ORDERS])
            stack.callback(members.close)
            members.await_assignment(3)
            members.commit([(ORDERS, 0, 4), (ORDERS, 1, 10)])
        yield


def leave_groups(servers: str, *names: str) -> None:
    """Make groups with offsets that members of both protocols have left; `modern...` are of the new protocol."""
    for name in names:
        config = MODERN if name.startswith("modern") else CLASSIC
        members = Members(servers, name, [config], [ORDERS])
        members.await_assignment(3)
        members.commit([(ORDERS, 0, 4), (ORDERS, 1, 10)])
        members.close()
