"""librdkafka through confluent-kafka."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import confluent_kafka as ck
from confluent_kafka import admin as ck_admin
from kafka_client import EARLIEST, LATEST, PATIENCE_S, Access, Acl, NotConnectedError, Partition, Record, RefusedError

from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from concurrent.futures import Future

_LITERAL = ck_admin.ResourcePatternType.LITERAL
# Errors of the library itself, which stand for a cluster that did not answer.
_NOT_CONNECTED = {"_TRANSPORT", "_TIMED_OUT", "_ALL_BROKERS_DOWN", "_AUTHENTICATION", "_SSL"}


class LibrdkafkaClient:
    """A client of librdkafka, with a producer for each codec in use."""

    offers_acls = True

    def __init__(self, access: Access, *, patience_s: float = PATIENCE_S) -> None:
        self._config = _config(access)
        self._patience_s = patience_s
        self._admin = ck_admin.AdminClient(self._config)
        self._producers: dict[str, ck.Producer] = {}

    def create_topic(
        self, name: str, *, partitions: int = 1, replication_factor: int = 2, configs: Mapping[str, str] | None = None
    ) -> None:
        topic = ck_admin.NewTopic(name, partitions, replication_factor, config=dict(configs or {}))
        self._await_controller()
        self._done(self._admin.create_topics([topic], request_timeout=self._patience_s))

    def _await_controller(self) -> None:
        """Ask until a broker names a controller: one that knows no broker yet names none, and librdkafka keeps that.

        Who hears of none in time asks what it wants all the same, and sees what comes of it.
        """
        deadline_s = time.monotonic() + self._patience_s
        while time.monotonic() < deadline_s:
            # An answer without brokers is an error to librdkafka ("partial response").
            with suppress(ck.KafkaException):
                if self._admin.list_topics(timeout=self._patience_s).controller_id >= 0:
                    return
            time.sleep(0.1)

    def delete_topic(self, name: str) -> None:
        self._done(self._admin.delete_topics([name], request_timeout=self._patience_s))

    def topics(self) -> set[str]:
        return set(self._asked(self._admin.list_topics, timeout=self._patience_s).topics)

    def describe_topic(self, name: str) -> list[Partition]:
        found = self._asked(self._admin.list_topics, name, timeout=self._patience_s).topics[name]
        if found.error is not None:
            raise _refused(found.error)
        partitions = sorted(found.partitions.values(), key=lambda one: one.id)
        return [Partition(one.id, one.leader, tuple(one.replicas), frozenset(one.isrs)) for one in partitions]

    def create_partitions(self, name: str, total: int) -> None:
        new = ck_admin.NewPartitions(name, total)
        self._done(self._admin.create_partitions([new], request_timeout=self._patience_s))

    def set_topic_config(self, name: str, key: str, value: str) -> None:
        entry = ck_admin.ConfigEntry(key, value, incremental_operation=ck_admin.AlterConfigOpType.SET)
        resource = ck_admin.ConfigResource(ck_admin.ResourceType.TOPIC, name, incremental_configs=[entry])
        self._done(self._admin.incremental_alter_configs([resource], request_timeout=self._patience_s))

    def topic_config(self, name: str, key: str) -> str:
        resource = ck_admin.ConfigResource(ck_admin.ResourceType.TOPIC, name)
        value = self._done(self._admin.describe_configs([resource], request_timeout=self._patience_s))[key].value
        assert isinstance(value, str)
        return value

    def describe_cluster(self) -> tuple[str, set[int]]:
        reported = self._result(self._admin.describe_cluster(request_timeout=self._patience_s))
        return reported.cluster_id, {node.id for node in reported.nodes}

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        where = ck.TopicPartition(topic, partition, before)
        low: int = self._done(self._admin.delete_records([where], request_timeout=self._patience_s)).low_watermark
        return low

    def create_acl(self, acl: Acl) -> None:
        rule = (acl.principal, "*", ck_admin.AclOperation[acl.operation], ck_admin.AclPermissionType[acl.permission])
        made = ck_admin.AclBinding(ck_admin.ResourceType.TOPIC, acl.topic, _LITERAL, *rule)
        self._done(self._admin.create_acls([made], request_timeout=self._patience_s))

    def acls(self, topic: str) -> list[Acl]:
        found = self._result(self._admin.describe_acls(_acl_filter(topic), request_timeout=self._patience_s))
        return [Acl(one.name, one.principal, one.operation.name, one.permission_type.name) for one in found]

    def delete_acls(self, topic: str) -> None:
        self._done(self._admin.delete_acls([_acl_filter(topic)], request_timeout=self._patience_s))

    def produce(self, topic: str, records: Sequence[Record], *, codec: str = "none") -> list[int]:
        producer = self._producer(codec)
        answers: dict[int, tuple[ck.KafkaError | None, int]] = {}
        for number, record in enumerate(records):
            producer.produce(
                topic,
                record.value,
                key=record.key,
                partition=record.partition,
                timestamp=record.timestamp_ms,
                headers=list(record.headers),
                on_delivery=_note(answers, number),
            )
        producer.flush(self._patience_s)
        errors = [error for error, _ in answers.values() if error is not None]
        if errors:
            raise _refused(errors[0])
        assert len(answers) == len(records)
        return [answers[number][1] for number in range(len(records))]

    def consume(self, topic: str, partition: int, offset: int, count: int) -> list[tuple[int, Record]]:
        consumer = self._consumer()
        try:
            consumer.assign([ck.TopicPartition(topic, partition, offset)])
            found: list[tuple[int, Record]] = []
            while len(found) < count:
                messages = consumer.consume(count - len(found), timeout=self._patience_s)
                if not messages:
                    raise NotConnectedError(f"{len(found)} of {count} records came within {self._patience_s} s")
                for message in messages:
                    error = message.error()
                    if error is not None:
                        raise _refused(error)
                    found.append((message.offset(), _record(message)))
            return found
        finally:
            consumer.close()

    def offset(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        specs = {EARLIEST: ck_admin.OffsetSpec.earliest(), LATEST: ck_admin.OffsetSpec.latest()}
        spec = specs.get(timestamp_ms) or ck_admin.OffsetSpec.for_timestamp(timestamp_ms)
        where = ck.TopicPartition(topic, partition)
        offset: int = self._done(self._admin.list_offsets({where: spec}, request_timeout=self._patience_s)).offset
        return None if offset < 0 else offset

    def close(self) -> None:
        for producer in self._producers.values():
            producer.flush(1)
        self._producers.clear()

    def _producer(self, codec: str) -> ck.Producer:
        if codec not in self._producers:
            more = {"acks": "all", "enable.idempotence": True, "compression.type": codec, "linger.ms": 20}
            more["message.timeout.ms"] = int(self._patience_s * 1000)
            self._producers[codec] = ck.Producer(self._config | more)
        return self._producers[codec]

    def _consumer(self) -> ck.Consumer:
        # The library wants a group's name, though the group is never joined.
        more = {"group.id": "not-used", "enable.auto.commit": False, "auto.offset.reset": "error", "check.crcs": True}
        return ck.Consumer(self._config | more)

    def _done(self, futures: Mapping[Any, "Future[Any]"]) -> Any:  # Any: as the library
        (future,) = futures.values()
        return self._result(future)

    def _result(self, future: "Future[Any]") -> Any:  # Any: as the library
        return self._asked(future.result, timeout=self._patience_s + 5)

    def _asked(self, ask: Callable[..., Any], *arguments: Any, timeout: float) -> Any:  # Any: as the library
        try:
            return ask(*arguments, timeout=timeout)
        except ck.KafkaException as error:
            raise _refused(error.args[0]) from error


def _config(access: Access) -> dict[str, Any]:  # Any: as the library
    """Connection and credentials in the library's own configuration."""
    config = {
        "bootstrap.servers": access.servers,
        "security.protocol": access.protocol,
        "ssl.ca.location": access.ca_file,
        "ssl.certificate.location": access.certificate_file,
        "ssl.key.location": access.key_file,
        "sasl.mechanism": access.mechanism,
        "sasl.username": access.user,
        "sasl.password": access.password,
        # Its own lines on stderr are of no use to a test that passes.
        "log_level": 0,
    }
    return {key: value if isinstance(value, int) else str(value) for key, value in config.items() if value is not None}


def _acl_filter(topic: str) -> ck_admin.AclBindingFilter:
    everything = (None, None, ck_admin.AclOperation.ANY, ck_admin.AclPermissionType.ANY)
    return ck_admin.AclBindingFilter(ck_admin.ResourceType.TOPIC, topic, _LITERAL, *everything)


def _note(answers: dict[int, tuple[ck.KafkaError | None, int]], number: int) -> Callable[..., None]:
    def delivered(error: ck.KafkaError | None, message: ck.Message) -> None:
        answers[number] = (error, message.offset())

    return delivered


def _record(message: ck.Message) -> Record:
    return Record(
        partition=message.partition(),
        value=message.value(),
        key=message.key(),
        timestamp_ms=message.timestamp()[1],
        headers=tuple((name, value) for name, value in message.headers() or ()),
    )


def _refused(error: ck.KafkaError) -> Exception:
    name = error.name()
    if name in _NOT_CONNECTED:
        return NotConnectedError(f"{name}: {error.str()}")
    if name == "_UNKNOWN_PARTITION":
        return RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, error.str())
    return RefusedError(error.code(), error.str())
