"""An application: orders come by a topic, and each is counted once."""

from collections import Counter
from collections.abc import Mapping

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

TOPIC = "orders"


def make_topic(settings: Mapping[str, str], *, partitions: int, replicas: int) -> None:
    """Make the topic."""
    topic = NewTopic(TOPIC, num_partitions=partitions, replication_factor=replicas)
    admin = AdminClient(dict(settings))
    for made in admin.create_topics([topic]).values():
        made.result(30)


def send(settings: Mapping[str, str], customers: list[str]) -> int:
    """Send an order of each customer; return how many were acknowledged by all in-sync replicas."""
    acked: list[str] = []
    # A leader that is cut off answers when this time is over; the order is then sent to the next one.
    producer = Producer({**settings, "acks": "all", "enable.idempotence": True, "request.timeout.ms": 3000})
    for customer in customers:
        producer.produce(TOPIC, customer, on_delivery=lambda error, message: error or acked.append(message.value()))
    producer.flush(60)
    return len(acked)


def count(settings: Mapping[str, str], expected: int) -> Counter[str]:
    """Read so many orders, and count them by customer."""
    consumer = Consumer({**settings, "group.id": "counting", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    counts: Counter[str] = Counter()
    for _ in range(600):
        if counts.total() >= expected:
            break
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            counts[message.value().decode()] += 1
    consumer.commit(asynchronous=False)
    consumer.close()
    return counts
