"""The tests of an application, on clusters of one node and of three."""

import asyncio
import time

import orders
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, KafkaProducer

CUSTOMERS = ["alice", "bob", "alice"]


def settings_of(cluster):
    return {"bootstrap.servers": cluster.bootstrap_servers, **cluster.security.client_properties}


def test_orders_are_counted(kafka_cluster):
    settings = settings_of(kafka_cluster(release="4.3"))
    orders.make_topic(settings, partitions=3, replicas=1)
    assert orders.send(settings, CUSTOMERS) == 3
    assert orders.count(settings, 3) == {"alice": 2, "bob": 1}


def test_no_order_is_lost_when_the_active_controller_dies(kafka_cluster):
    cluster = kafka_cluster(release="4.3", nodes=3)
    settings = settings_of(cluster)
    orders.make_topic(settings, partitions=3, replicas=3)
    assert orders.send(settings, CUSTOMERS) == 3
    cluster.kill(cluster.active_controller())
    assert orders.send(settings, CUSTOMERS) == 3
    assert orders.count(settings, 6) == {"alice": 4, "bob": 2}


def test_a_node_that_was_cut_off_comes_back(kafka_cluster):
    cluster = kafka_cluster(release="4.3", nodes=3)
    settings = settings_of(cluster)
    orders.make_topic(settings, partitions=3, replicas=3)
    cluster.partition(1)
    # Clients still reach node 1, which does not know better: they go to the others once these have given it up.
    others = settings | {"bootstrap.servers": cluster.servers_of(2, 3)}
    while 1 in AdminClient(others).list_topics(timeout=30).brokers:
        time.sleep(0.1)
    assert orders.send(others, CUSTOMERS) == 3
    cluster.heal()
    cluster.wait_until_in_sync()
    assert orders.count(settings, 3) == {"alice": 2, "bob": 1}


def test_orders_outlive_an_upgrade_of_the_cluster(kafka_cluster):
    cluster = kafka_cluster(release=["3.9", "3.9", "4.0"])
    settings = settings_of(cluster)
    orders.make_topic(settings, partitions=3, replicas=3)
    assert orders.send(settings, CUSTOMERS) == 3
    cluster.roll("4.3")
    assert orders.send(settings, CUSTOMERS) == 3
    assert orders.count(settings, 6) == {"alice": 4, "bob": 2}


def test_orders_are_counted_over_tls_with_a_password(kafka_cluster):
    settings = settings_of(kafka_cluster(release="4.3", security="SASL_SSL"))
    orders.make_topic(settings, partitions=1, replicas=1)
    assert orders.send(settings, CUSTOMERS) == 3
    assert orders.count(settings, 3) == {"alice": 2, "bob": 1}


def test_kafka_python_sends_and_reads(kafka_cluster):
    servers = kafka_cluster(release="3.7").bootstrap_servers
    producer = KafkaProducer(bootstrap_servers=servers)
    producer.send("letters", b"hello").get(30)
    producer.close()
    consumer = KafkaConsumer(
        "letters",
        bootstrap_servers=servers,
        group_id="readers",
        auto_offset_reset="earliest",
        consumer_timeout_ms=30_000,
    )
    assert next(consumer).value == b"hello"
    consumer.close()


def test_aiokafka_sends_and_reads(kafka_cluster):
    servers = kafka_cluster(release="4.4").bootstrap_servers

    async def exchange():
        async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
            await producer.send_and_wait("letters", b"hello")
        consumer = AIOKafkaConsumer(
            "letters", bootstrap_servers=servers, group_id="readers", auto_offset_reset="earliest"
        )
        async with consumer:
            return (await consumer.getone()).value

    assert asyncio.run(exchange()) == b"hello"
