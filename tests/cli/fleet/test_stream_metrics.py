"""The metrics of a stream, as Prometheus scrapes them."""

import socket
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from falkirk.cli.console.failure import CommandFailedError
from falkirk.cli.fleet.stream_metrics import StreamMetrics, serving
from falkirk.pipeline.ingest.run import IngestReport
from falkirk.protocol.endpoint import Endpoint


def test_rounds_are_counted_and_served():
    metrics = StreamMetrics()
    first = IngestReport(
        clusters=2, changed=("a",), new_rows={"topics": 3, "groups": 1}, new_bytes=700, at_ms=5500, seconds=1.5
    )
    second = IngestReport(clusters=1, changed=(), at_ms=9000, seconds=0.25)
    with serving(metrics, Endpoint("127.0.0.1", 0)) as port:
        for report in (first, second):
            metrics.round_ended(report)
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            text = answer.read().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    found = {(each.name, *each.labels.values()): each.value for each in samples if not each.name.endswith("_created")}
    assert found == {
        ("falkirk_fleet_rounds_total",): 2,
        ("falkirk_fleet_rows_total", "topics"): 3,
        ("falkirk_fleet_rows_total", "groups"): 1,
        ("falkirk_fleet_read_bytes_total",): 700,
        ("falkirk_fleet_clusters",): 1,
        ("falkirk_fleet_round_seconds",): 0.25,
        ("falkirk_fleet_as_of_timestamp_seconds",): 9,
    }


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        endpoint = Endpoint("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(CommandFailedError, match=rf"^--metrics {endpoint}: Address already in use"):  # noqa: SIM117
            with serving(StreamMetrics(), endpoint):
                pass


def test_without_an_endpoint_nothing_is_served():
    with serving(StreamMetrics(), None) as port:
        assert port is None
