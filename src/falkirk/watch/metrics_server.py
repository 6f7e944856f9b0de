"""Serves a watch's metrics over HTTP, by prometheus_client's own server, in a thread."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, start_http_server

from falkirk.watch.errors import WatchError
from falkirk.watch.metrics import WatchMetrics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.protocol.endpoint import Endpoint
    from falkirk.watch.watch import Watch


@contextmanager
def serving_metrics(watch: Watch, endpoint: Endpoint | None) -> Iterator[int | None]:
    """Serve `/metrics` while the block runs; yields the port, None without an endpoint. Raises WatchError."""
    if endpoint is None:
        yield None
        return
    registry = CollectorRegistry()
    registry.register(WatchMetrics(lambda: tuple(watch.latest.values()), lambda: watch.waiting_count))
    try:
        server, thread = start_http_server(endpoint.port, endpoint.host, registry)
    except OSError as error:
        raise WatchError(f"metrics: {endpoint}: {error.strerror}") from error
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
