"""Prometheus metrics of `fleet stream`; docs/reference/fleet.md lists them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server

from falkirk.cli.console.failure import CommandFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.pipeline.ingest.run import IngestReport
    from falkirk.protocol.endpoint import Endpoint


class StreamMetrics:
    """What the rounds of a stream have done, in `registry`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._rounds = Counter("falkirk_fleet_rounds", "Rounds that ended.", registry=self.registry)
        self._rows = Counter("falkirk_fleet_rows", "Rows that were added.", ["table"], registry=self.registry)
        self._bytes = Counter("falkirk_fleet_read_bytes", "Bytes that were new in files.", registry=self.registry)
        self._clusters = Gauge("falkirk_fleet_clusters", "Clusters of the last round.", registry=self.registry)
        self._seconds = Gauge("falkirk_fleet_round_seconds", "How long the last round took.", registry=self.registry)
        self._as_of = Gauge(
            "falkirk_fleet_as_of_timestamp_seconds",
            "Whatever was in the files at this time is in the tables.",
            registry=self.registry,
        )

    def round_ended(self, report: IngestReport) -> None:
        """Count a round, also one that changed nothing."""
        self._rounds.inc()
        self._bytes.inc(report.new_bytes)
        for table, rows in report.new_rows.items():
            self._rows.labels(table).inc(rows)
        self._clusters.set(report.clusters)
        self._seconds.set(report.seconds)
        self._as_of.set(report.at_ms / 1000)


@contextmanager
def serving(metrics: StreamMetrics, endpoint: Endpoint | None) -> Iterator[int | None]:
    """Serve `/metrics` while the block runs, if an endpoint is named; yield the port. Raises CommandFailedError."""
    if endpoint is None:
        yield None
        return
    try:
        server, thread = start_http_server(endpoint.port, endpoint.host, metrics.registry)
    except OSError as refused:
        raise CommandFailedError(f"--metrics {endpoint}: {refused.strerror}") from refused
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()
