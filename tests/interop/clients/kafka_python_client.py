"""kafka-python."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition, errors
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ConfigResource,
    ConfigResourceType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from kafka_client import EARLIEST, LATEST, PATIENCE_S, Access, Acl, NotConnectedError, Partition, Record, RefusedError


class KafkaPythonClient:
    """A client of kafka-python, with a producer for each codec in use."""

    offers_acls = True

    def __init__(self, access: Access, *, patience_s: float = PATIENCE_S) -> None:
        self._config = _config(access, patience_s)
        self._patience_s = patience_s
        self._opened_admin: KafkaAdminClient | None = None
        self._producers: dict[str, KafkaProducer] = {}

    def create_topic(
        self, name: str, *, partitions: int = 1, replication_factor: int = 2, configs: Mapping[str, str] | None = None
    ) -> None:
        wanted = {
            "num_partitions": partitions,
            "replication_factor": replication_factor,
            "configs": dict(configs or {}),
        }
        with _refusals():
            self._admin.create_topics({name: wanted})

    def delete_topic(self, name: str) -> None:
        with _refusals():
            self._admin.delete_topics([name])

    def topics(self) -> set[str]:
        with _refusals():
            return set(self._admin.list_topics())

    def describe_topic(self, name: str) -> list[Partition]:
        with _refusals():
            (topic,) = self._admin.describe_topics([name])
        if topic["error_code"]:
            raise RefusedError(topic["error_code"])
        partitions = sorted(topic["partitions"], key=lambda one: one["partition_index"])
        return [
            Partition(
                one["partition_index"], one["leader_id"], tuple(one["replica_nodes"]), frozenset(one["isr_nodes"])
            )
            for one in partitions
        ]

    def create_partitions(self, name: str, total: int) -> None:
        with _refusals():
            self._admin.create_partitions({name: total})

    def set_topic_config(self, name: str, key: str, value: str) -> None:
        with _refusals():
            reported = self._admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, {key: value})])
        # It tells errors of configs as text alone.
        if reported["topic"][name] != "OK":
            raise RefusedError(
                int(reported["topic"][name].partition("]")[0].removeprefix("[Error ")), reported["topic"][name]
            )

    def topic_config(self, name: str, key: str) -> str:
        resource = ConfigResource(ConfigResourceType.TOPIC, name)
        with _refusals():
            value = self._admin.describe_configs([resource], config_filter="all")["topic"][name][key]["value"]
        assert isinstance(value, str)
        return value

    def describe_cluster(self) -> tuple[str, set[int]]:
        with _refusals():
            reported = self._admin.describe_cluster()
        return reported["cluster_id"], {broker["broker_id"] for broker in reported["brokers"]}

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        where = TopicPartition(topic, partition)
        with _refusals():
            low: int = self._admin.delete_records({where: before})[where]["low_watermark"]
        return low

    def create_acl(self, acl: Acl) -> None:
        made = ACL(
            acl.principal,
            "*",
            ACLOperation[acl.operation],
            ACLPermissionType[acl.permission],
            ResourcePattern(ResourceType.TOPIC, acl.topic),
        )
        with _refusals():
            reported = self._admin.create_acls([made])
        assert not reported["failed"]

    def acls(self, topic: str) -> list[Acl]:
        with _refusals():
            found, _ = self._admin.describe_acls(_acl_filter(topic))
        return [
            Acl(one.resource_pattern.resource_name, one.principal, one.operation.name, one.permission_type.name)
            for one in found
        ]

    def delete_acls(self, topic: str) -> None:
        with _refusals():
            self._admin.delete_acls([_acl_filter(topic)])

    def produce(self, topic: str, records: Sequence[Record], *, codec: str = "none") -> list[int]:
        with _refusals():
            producer = self._producer(codec)
            sent = [
                producer.send(
                    topic,
                    record.value,
                    key=record.key,
                    partition=record.partition,
                    timestamp_ms=record.timestamp_ms,
                    headers=list(record.headers),
                )
                for record in records
            ]
            return [one.get(self._patience_s).offset for one in sent]

    def consume(self, topic: str, partition: int, offset: int, count: int) -> list[tuple[int, Record]]:
        with self._consumer() as consumer:
            where = TopicPartition(topic, partition)
            consumer.assign([where])
            consumer.seek(where, offset)
            found: list[tuple[int, Record]] = []
            while len(found) < count:
                polled = consumer.poll(timeout_ms=int(self._patience_s * 1000), max_records=count - len(found))
                if not polled:
                    raise NotConnectedError(f"{len(found)} of {count} records came within {self._patience_s} s")
                found += [(one.offset, _record(one)) for one in polled[where]]
            return found

    def offset(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        where = TopicPartition(topic, partition)
        with self._consumer() as consumer:
            if timestamp_ms in {EARLIEST, LATEST}:
                ask: Callable[..., Any] = (
                    consumer.beginning_offsets if timestamp_ms == EARLIEST else consumer.end_offsets
                )
                edge: int = ask([where])[where]
                return edge
            found = consumer.offsets_for_times({where: timestamp_ms})[where]
            return found.offset if found else None

    def close(self) -> None:
        for producer in self._producers.values():
            producer.close(timeout=1)
        self._producers.clear()
        if self._opened_admin is not None:
            self._opened_admin.close()
            self._opened_admin = None

    @property
    def _admin(self) -> KafkaAdminClient:
        if self._opened_admin is None:
            with _refusals():
                self._opened_admin = KafkaAdminClient(**self._config)
        return self._opened_admin

    def _producer(self, codec: str) -> KafkaProducer:
        if codec not in self._producers:
            self._producers[codec] = KafkaProducer(
                **self._config,
                acks="all",
                enable_idempotence=True,
                compression_type=None if codec == "none" else codec,
                linger_ms=20,
            )
        return self._producers[codec]

    @contextmanager
    def _consumer(self) -> Iterator[KafkaConsumer]:
        with _refusals():
            consumer = KafkaConsumer(**self._config, group_id=None, enable_auto_commit=False, auto_offset_reset="none")
            try:
                yield consumer
            finally:
                consumer.close()


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except (errors.KafkaConnectionError, errors.KafkaTimeoutError) as error:
        raise NotConnectedError(str(error)) from error
    except (errors.SaslAuthenticationFailedError, errors.BrokerNotAvailableError) as error:
        raise NotConnectedError(str(error)) from error
    except errors.BrokerResponseError as error:
        raise RefusedError(error.errno, str(error)) from error


def _config(access: Access, patience_s: float) -> dict[str, Any]:  # Any: as the library
    """Connection and credentials in the library's own configuration."""
    config = {
        "bootstrap_servers": access.servers.split(","),
        "security_protocol": access.protocol,
        "ssl_cafile": access.ca_file and str(access.ca_file),
        "ssl_certfile": access.certificate_file and str(access.certificate_file),
        "ssl_keyfile": access.key_file and str(access.key_file),
        "sasl_mechanism": access.mechanism,
        "sasl_plain_username": access.user,
        "sasl_plain_password": access.password,
        "bootstrap_timeout_ms": int(patience_s * 1000),
    }
    return {key: value for key, value in config.items() if value is not None}


def _acl_filter(topic: str) -> ACLFilter:
    pattern = ResourcePatternFilter(ResourceType.TOPIC, topic, ACLResourcePatternType.LITERAL)
    return ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, pattern)


def _record(found: Any) -> Record:  # Any: as the library
    return Record(
        partition=found.partition,
        value=found.value,
        key=found.key,
        timestamp_ms=found.timestamp,
        headers=tuple((name, value) for name, value in found.headers),
    )
