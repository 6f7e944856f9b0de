"""Kafka's own clients of a release: `java/ClientCommands.java`, or the like, as a process that answers line by line."""

import base64
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from kafka_client import PATIENCE_S, Access, Acl, NotConnectedError, Partition, Record, RefusedError
from kafka_java import jvm_command, program_jar
from kafka_node import dies_with_parent

_PROGRAM = "ClientCommands"
# Errors that Java's clients raise by themselves when nobody answers, or not as they should.
_NOT_CONNECTED = {"SaslAuthenticationException", "SslAuthenticationException", "TimeoutException"}


class JavaPrograms:
    """One JVM for each release of the clients, shared by all users; `program`: its main class."""

    def __init__(self, folder: Path, program: str = _PROGRAM) -> None:
        self._folder = folder
        self._program = program
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._errors: list[IO[bytes]] = []

    def ask(self, release: str, command: Mapping[str, Any]) -> Any:  # Any: a JSON document
        process = self._running.get(release) or self._start(release)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(command) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise AssertionError(f"{self._program} has ended: {self._errors_file(release).read_text()[-4000:]}")
        reported = json.loads(line)
        if "error" not in reported:
            return reported["result"]
        if reported["class"] in _NOT_CONNECTED:
            raise NotConnectedError(reported["message"])
        raise RefusedError(reported["error"], reported["message"])

    def close(self) -> None:
        """End all JVMs."""
        for process in self._running.values():
            assert process.stdin is not None
            assert process.stdout is not None
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
        for file in self._errors:
            file.close()
        self._running.clear()

    def _start(self, release: str) -> subprocess.Popen[str]:
        jars = [program_jar(self._program, release)]
        command = jvm_command(release, self._program, [], heap_mb=256, log_level="error", jars=jars)
        errors = self._errors_file(release).open("wb")
        self._errors.append(errors)
        process = subprocess.Popen(
            [*dies_with_parent(), *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        self._running[release] = process
        return process

    def _errors_file(self, release: str) -> Path:
        return self._folder / f"java-client-{release}.txt"


class JavaClient:
    """A client of a release of Kafka, with a producer for each codec in use."""

    offers_acls = True

    def __init__(self, access: Access, *, release: str, programs: JavaPrograms, patience_s: float = PATIENCE_S) -> None:
        self._release = release
        self._programs = programs
        self._config = _config(access)
        self._patience_s = patience_s

    def create_topic(
        self, name: str, *, partitions: int = 1, replication_factor: int = 2, configs: Mapping[str, str] | None = None
    ) -> None:
        wanted = {"partitions": partitions, "replicas": replication_factor, "configs": dict(configs or {})}
        self._ask("create_topic", name=name, **wanted)

    def delete_topic(self, name: str) -> None:
        self._ask("delete_topic", name=name)

    def topics(self) -> set[str]:
        return set(self._ask("topics"))

    def describe_topic(self, name: str) -> list[Partition]:
        return [
            Partition(one["partition"], one["leader"], tuple(one["replicas"]), frozenset(one["isr"]))
            for one in self._ask("describe_topic", name=name)
        ]

    def create_partitions(self, name: str, total: int) -> None:
        self._ask("create_partitions", name=name, total=total)

    def set_topic_config(self, name: str, key: str, value: str) -> None:
        self._ask("set_topic_config", name=name, key=key, value=value)

    def topic_config(self, name: str, key: str) -> str:
        value = self._ask("topic_config", name=name, key=key)
        assert isinstance(value, str)
        return value

    def describe_cluster(self) -> tuple[str, set[int]]:
        reported = self._ask("describe_cluster")
        return reported["cluster_id"], set(reported["nodes"])

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        low: int = self._ask("delete_records", topic=topic, partition=partition, before=before)
        return low

    def create_acl(self, acl: Acl) -> None:
        rule = {"principal": acl.principal, "operation": acl.operation, "permission": acl.permission}
        self._ask("create_acl", topic=acl.topic, **rule)

    def acls(self, topic: str) -> list[Acl]:
        found = self._ask("acls", topic=topic)
        return [Acl(topic, one["principal"], one["operation"], one["permission"]) for one in found]

    def delete_acls(self, topic: str) -> None:
        self._ask("delete_acls", topic=topic)

    def produce(self, topic: str, records: Sequence[Record], *, codec: str = "none") -> list[int]:
        offsets = self._ask("produce", topic=topic, codec=codec, records=[_sent(record) for record in records])
        assert isinstance(offsets, list)
        return offsets

    def consume(self, topic: str, partition: int, offset: int, count: int) -> list[tuple[int, Record]]:
        found = self._ask("consume", topic=topic, partition=partition, offset=offset, count=count)
        return [(one["offset"], _received(one, partition)) for one in found]

    def offset(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        found: int = self._ask("offset", topic=topic, partition=partition, timestamp=timestamp_ms)
        return None if found < 0 else found

    def close(self) -> None:
        self._ask("close")

    def _ask(self, command: str, **fields: Any) -> Any:  # Any: JSON values
        # What a client is made of names it: the program keeps one for each.
        common = {"command": command, "config": self._config, "patience_ms": int(self._patience_s * 1000)}
        return self._programs.ask(self._release, common | fields)


def _config(access: Access) -> dict[str, str]:
    """Connection and credentials in the library's own configuration."""
    config = {"bootstrap.servers": access.servers, "security.protocol": access.protocol}
    if access.ca_file is not None:
        config |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(access.ca_file)}
    if access.certificate_file is not None and access.key_file is not None:
        config |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": access.certificate_file.read_text(),
            "ssl.keystore.key": access.key_file.read_text(),
        }
    if access.mechanism is not None:
        module = "plain.Plain" if access.mechanism == "PLAIN" else "scram.Scram"
        config["sasl.mechanism"] = access.mechanism
        config["sasl.jaas.config"] = (
            f"org.apache.kafka.common.security.{module}LoginModule required "
            f'username="{access.user}" password="{access.password}";'
        )
    return config


def _sent(record: Record) -> dict[str, Any]:  # Any: JSON values
    return {
        "partition": record.partition,
        "timestamp": record.timestamp_ms,
        "key": _text(record.key),
        "value": _text(record.value),
        "headers": [[name, _text(value)] for name, value in record.headers],
    }


def _received(found: Mapping[str, Any], partition: int) -> Record:
    return Record(
        partition=partition,
        value=_bytes(found["value"]),
        key=_bytes(found["key"]),
        timestamp_ms=found["timestamp"],
        headers=tuple((name, _bytes(value)) for name, value in found["headers"]),
    )


def _text(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
