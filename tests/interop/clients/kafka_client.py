"""The seam between tests and client libraries: all libraries are called, and judged, alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from falkirk.protocol.error_codes import ErrorCode

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
EARLIEST = -2
LATEST = -1
# How long a client may take for one thing before the test fails: the machine may be busy.
PATIENCE_S = 40


class RefusedError(Exception):
    """The cluster has answered with an error, or the client anticipated it."""

    def __init__(self, code: int, message: str = "") -> None:
        self.error_code = ErrorCode(code)
        super().__init__(f"{self.error_code.name}: {message}")


class NotConnectedError(Exception):
    """The client could not connect: no connection, a bad certificate, or wrong credentials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Where and as whom a client connects. PEM files; `user` is for SASL."""

    servers: str
    protocol: str = "PLAINTEXT"
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None
    mechanism: str | None = None
    user: str | None = None
    password: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record as it is sent to a partition, and as it is consumed."""

    partition: int
    value: bytes | None
    key: bytes | None = None
    timestamp_ms: int
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Partition:
    """The leader and replicas of a partition."""

    number: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: frozenset[int]


@dataclass(frozen=True, slots=True)
class Acl:
    """An ACL of a topic, from every host."""

    topic: str
    principal: str
    operation: str
    permission: str


class Client(Protocol):
    """A client library as one user of one cluster. Each method raises RefusedError, or NotConnectedError."""

    offers_acls: bool

    def create_topic(
        self, name: str, *, partitions: int = 1, replication_factor: int = 2, configs: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic."""

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""

    def topics(self) -> set[str]:
        """The names of all topics that the user may describe."""

    def describe_topic(self, name: str) -> list[Partition]:
        """The partitions of a topic, by number."""

    def create_partitions(self, name: str, total: int) -> None:
        """Increase the number of partitions to `count`."""

    def set_topic_config(self, name: str, key: str, value: str) -> None:
        """Change a config of a topic."""

    def topic_config(self, name: str, key: str) -> str:
        """The value of a topic's config, whatever its source."""

    def describe_cluster(self) -> tuple[str, set[int]]:
        """The cluster id and the broker ids."""

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        """Delete the records before an offset; return the new log start offset."""

    def create_acl(self, acl: Acl) -> None:
        """Add an ACL."""

    def acls(self, topic: str) -> list[Acl]:
        """The ACLs of a topic."""

    def delete_acls(self, topic: str) -> None:
        """Remove the ACLs of a topic."""

    def produce(self, topic: str, records: Sequence[Record], *, codec: str = "none") -> list[int]:
        """Produce with acks=all and idempotence; return each record's offset."""

    def consume(self, topic: str, partition: int, offset: int, count: int) -> list[tuple[int, Record]]:
        """Read this many records from an offset on, with their offsets; without a group."""

    def offset(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        """The first offset with at least this timestamp, or of EARLIEST or LATEST; None if there is none."""

    def close(self) -> None:
        """Close all connections."""
