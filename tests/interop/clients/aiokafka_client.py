"""aiokafka, on an event loop of its own that runs during each call."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition, errors
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from kafka_client import EARLIEST, LATEST, PATIENCE_S, Access, Acl, NotConnectedError, Partition, Record, RefusedError

T = TypeVar("T")
_VALUE_AT = 1


class AiokafkaClient:
    """A client of aiokafka."""

    offers_acls = False

    def __init__(self, access: Access, *, patience_s: float = PATIENCE_S) -> None:
        self._config = _config(access)
        self._patience_s = patience_s
        self._runner = asyncio.Runner()
        self._admin: AIOKafkaAdminClient | None = None
        self._producers: dict[str, AIOKafkaProducer] = {}

    def create_topic(
        self, name: str, *, partitions: int = 1, replication_factor: int = 2, configs: Mapping[str, str] | None = None
    ) -> None:
        topic = NewTopic(name, partitions, replication_factor, topic_configs=dict(configs or {}))
        reported = self._ask(lambda admin: admin.create_topics([topic]))
        _check(reported.topic_errors[0][1])

    def delete_topic(self, name: str) -> None:
        reported = self._ask(lambda admin: admin.delete_topics([name]))
        _check(reported.topic_error_codes[0][1])

    def topics(self) -> set[str]:
        return set(self._ask(lambda admin: admin.list_topics()))

    def describe_topic(self, name: str) -> list[Partition]:
        (topic,) = self._ask(lambda admin: admin.describe_topics([name]))
        _check(topic["error_code"])
        partitions = sorted(topic["partitions"], key=lambda one: one["partition"])
        return [
            Partition(one["partition"], one["leader"], tuple(one["replicas"]), frozenset(one["isr"]))
            for one in partitions
        ]

    def create_partitions(self, name: str, total: int) -> None:
        self._ask(lambda admin: admin.create_partitions({name: NewPartitions(total)}))

    def set_topic_config(self, name: str, key: str, value: str) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, name, {key: value})
        (reported,) = self._ask(lambda admin: admin.alter_configs([resource]))
        _check(reported.resources[0][0])

    def topic_config(self, name: str, key: str) -> str:
        resource = ConfigResource(ConfigResourceType.TOPIC, name)
        (reported,) = self._ask(lambda admin: admin.describe_configs([resource]))
        code, _, _, _, entries = reported.resources[0]
        _check(code)
        return {entry[0]: entry[_VALUE_AT] for entry in entries}[key]

    def describe_cluster(self) -> tuple[str, set[int]]:
        reported = self._ask(lambda admin: admin.describe_cluster())
        return reported["cluster_id"], {broker["node_id"] for broker in reported["brokers"]}

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        where = TopicPartition(topic, partition)
        low: int = self._ask(lambda admin: admin.delete_records({where: RecordsToDelete(before)}))[where]
        return low

    def create_acl(self, acl: Acl) -> None:
        raise NotImplementedError  # the library has no such requests; see `offers_acls`

    def acls(self, topic: str) -> list[Acl]:
        raise NotImplementedError  # the library has no such requests; see `offers_acls`

    def delete_acls(self, topic: str) -> None:
        raise NotImplementedError  # the library has no such requests; see `offers_acls`

    def produce(self, topic: str, records: Sequence[Record], *, codec: str = "none") -> list[int]:
        return self._run(self._produce(topic, records, codec))

    def consume(self, topic: str, partition: int, offset: int, count: int) -> list[tuple[int, Record]]:
        async def read(consumer: AIOKafkaConsumer) -> list[tuple[int, Record]]:
            where = TopicPartition(topic, partition)
            consumer.assign([where])
            consumer.seek(where, offset)
            found: list[tuple[int, Record]] = []
            while len(found) < count:
                one = await consumer.getone(where)
                found.append((one.offset, _record(one)))
            return found

        return self._run(self._with_consumer(read))

    def offset(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        async def look(consumer: AIOKafkaConsumer) -> int | None:
            where = TopicPartition(topic, partition)
            consumer.assign([where])
            edges = {EARLIEST: consumer.beginning_offsets, LATEST: consumer.end_offsets}
            if timestamp_ms in edges:
                edge: int = (await edges[timestamp_ms]([where]))[where]
                return edge
            found = (await consumer.offsets_for_times({where: timestamp_ms}))[where]
            return found.offset if found else None

        return self._run(self._with_consumer(look))

    def close(self) -> None:
        async def close_all() -> None:
            for producer in self._producers.values():
                await producer.stop()
            if self._admin is not None:
                await self._admin.close()

        self._runner.run(close_all())
        self._runner.close()

    async def _produce(self, topic: str, records: Sequence[Record], codec: str) -> list[int]:
        if codec not in self._producers:
            producer = AIOKafkaProducer(
                **self._config,
                acks="all",
                enable_idempotence=True,
                compression_type=None if codec == "none" else codec,
                linger_ms=20,
            )
            await _started(producer)
            self._producers[codec] = producer
        sent = [
            await self._producers[codec].send(
                topic,
                record.value,
                key=record.key,
                partition=record.partition,
                timestamp_ms=record.timestamp_ms,
                headers=list(record.headers),
            )
            for record in records
        ]
        return [(await one).offset for one in sent]

    async def _with_consumer(self, use: Callable[[AIOKafkaConsumer], Awaitable[T]]) -> T:
        consumer = AIOKafkaConsumer(**self._config, group_id=None, enable_auto_commit=False, auto_offset_reset="none")
        await _started(consumer)
        try:
            return await use(consumer)
        finally:
            await consumer.stop()

    def _ask(self, ask: Callable[[AIOKafkaAdminClient], Awaitable[Any]]) -> Any:  # Any: as the library
        async def requested() -> Any:  # Any: as the library
            if self._admin is None:
                admin = AIOKafkaAdminClient(**self._config)
                await _started(admin)
                self._admin = admin
            return await ask(self._admin)

        return self._run(requested())

    def _run(self, work: Awaitable[T]) -> T:
        async def in_time() -> T:
            return await asyncio.wait_for(work, self._patience_s)

        try:
            return self._runner.run(in_time())
        except (errors.KafkaConnectionError, errors.AuthenticationFailedError, TimeoutError) as error:
            raise NotConnectedError(str(error)) from error
        except errors.BrokerResponseError as error:
            raise RefusedError(error.errno, str(error)) from error


async def _started(starts: Any) -> None:  # Any: a client of any kind
    """Start, or clean up after a failure."""
    try:
        await starts.start()
    except BaseException:
        await (starts.close() if isinstance(starts, AIOKafkaAdminClient) else starts.stop())
        raise


def _config(access: Access) -> dict[str, Any]:  # Any: as the library
    """Connection and credentials in the library's own configuration."""
    context = None
    if access.ca_file is not None:
        context = ssl.create_default_context(cafile=str(access.ca_file))
        if access.certificate_file is not None and access.key_file is not None:
            context.load_cert_chain(str(access.certificate_file), str(access.key_file))
    config = {
        "bootstrap_servers": access.servers,
        "security_protocol": access.protocol,
        "ssl_context": context,
        "sasl_mechanism": access.mechanism,
        "sasl_plain_username": access.user,
        "sasl_plain_password": access.password,
    }
    return {key: value for key, value in config.items() if value is not None}


def _check(code: int) -> None:
    if code:
        raise RefusedError(code)


def _record(found: Any) -> Record:  # Any: as the library
    return Record(
        partition=found.partition,
        value=found.value,
        key=found.key,
        timestamp_ms=found.timestamp,
        headers=tuple((name, value) for name, value in found.headers),
    )
