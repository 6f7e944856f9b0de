"""`pytest-falkirk`: the fixture `kafka_cluster`. pytest finds it by the entry point `pytest11`."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from falkirk.testing.kafka_cluster import KafkaCluster


class StartCluster(Protocol):
    """Starts a cluster that is stopped when the test is over."""

    def __call__(
        self,
        *,
        release: str | Sequence[str] = "4.3",
        nodes: int = 1,
        security: str = "PLAINTEXT",
        properties: Mapping[str, str] | None = None,
    ) -> KafkaCluster:
        """Start it; the arguments are those of `falkirk.testing.KafkaCluster`. Raises ClusterError."""
        ...


@pytest.fixture
def kafka_cluster() -> Iterator[StartCluster]:
    """Start Kafka clusters in this process: `kafka_cluster(release="4.3", nodes=3)`; they end with the test."""
    # Imported where it is used: who has falkirk installed pays nothing for tests that need no cluster.
    from falkirk.testing.kafka_cluster import KafkaCluster as Cluster  # noqa: PLC0415

    with ExitStack() as clusters:

        def start(
            *,
            release: str | Sequence[str] = "4.3",
            nodes: int = 1,
            security: str = "PLAINTEXT",
            properties: Mapping[str, str] | None = None,
        ) -> KafkaCluster:
            cluster = Cluster(release=release, nodes=nodes, security=security, properties=properties)
            return clusters.enter_context(cluster)

        yield start
