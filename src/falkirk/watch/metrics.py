"""Prometheus metrics of a watch, made anew for each scrape; docs/reference/watch.md has the table and their bounds.

What is not known is left out: a gauge that is there is fresh.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from falkirk.watch.core.findings import WayState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from prometheus_client.core import Metric

    from falkirk.watch.core.findings import Findings, Way

NAMES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "falkirk_downgrade_possible": (
        "1 if the cluster could go to the release now without a loss.",
        ("cluster", "release"),
    ),
    "falkirk_downgrade_losses": ("Things that going to the release would lose.", ("cluster", "release", "kind")),
    "falkirk_downgrade_blockers": (
        "Things to be settled before going to the release.",
        ("cluster", "release", "kind"),
    ),
    "falkirk_downgrade_cut_off": (
        "Groups with members and open transactions that a lowering while it runs would end.",
        ("cluster", "release", "kind"),
    ),
    "falkirk_point_of_no_return_timestamp_seconds": (
        "When the record was written that closed the way to the release.",
        ("cluster", "release"),
    ),
    "falkirk_finalized_level": ("Finalized level of a feature.", ("cluster", "feature")),
    "falkirk_supported_level": ("Highest level of a feature that all nodes support.", ("cluster", "feature")),
    "falkirk_lowest_lossless_level": ("Lowest metadata.version that holds everything.", ("cluster",)),
    "falkirk_watch_groups": ("Groups by type.", ("cluster", "type")),
    "falkirk_watch_open_transactions": ("Open transactions.", ("cluster",)),
    "falkirk_watch_drifts": ("Ways in which nodes differ.", ("cluster", "kind")),
    "falkirk_watch_fresh": ("1 if the source was read not long ago.", ("cluster", "source")),
    "falkirk_watch_as_of_timestamp_seconds": ("When the source was last read to its end.", ("cluster", "source")),
    "falkirk_watch_lag_records": ("Records that are known of and not read yet.", ("cluster", "source")),
    "falkirk_watch_alarms_waiting": ("Alarms that have not arrived yet.", ()),
}
"""Name -> help and labels."""
_KNOWN: Final = frozenset({WayState.OPEN, WayState.CLOSED, WayState.BLOCKED})
_FEATURES_MAX: Final = 30


class WatchMetrics(Collector):
    """`latest` returns the findings of all clusters, `waiting_count` the alarms that have not arrived, if known."""

    def __init__(self, latest: Callable[[], Iterable[Findings]], waiting_count: Callable[[], int | None]) -> None:
        self._latest = latest
        self._waiting_count = waiting_count

    def describe(self) -> Iterable[Metric]:
        """Return nothing: names are known when values are."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        families = {name: GaugeMetricFamily(name, text, labels=labels) for name, (text, labels) in NAMES.items()}
        for findings in self._latest():
            for name, labels, value in _samples(findings):
                families[name].add_metric([findings.cluster, *labels], value)
        waiting = self._waiting_count()
        if waiting is not None:
            families["falkirk_watch_alarms_waiting"].add_metric([], waiting)
        yield from families.values()


def _samples(findings: Findings) -> Iterator[tuple[str, tuple[str, ...], float]]:
    for source in findings.sources:
        yield "falkirk_watch_fresh", (source.name,), source.is_fresh
        yield "falkirk_watch_lag_records", (source.name,), source.lag
        if source.as_of_ms is not None:
            yield "falkirk_watch_as_of_timestamp_seconds", (source.name,), source.as_of_ms / 1000
    for way in findings.ways:
        yield from _way_samples(way)
    metadata = next((source for source in findings.sources if source.name == "metadata"), None)
    if metadata is None or not metadata.is_fresh:
        return
    # A cluster may finalize features of any name.
    for feature in findings.features[:_FEATURES_MAX]:
        yield "falkirk_finalized_level", (feature.feature,), feature.finalized
        if feature.supported is not None:
            yield "falkirk_supported_level", (feature.feature,), feature.supported[1]
    if findings.lowest is not None:
        yield "falkirk_lowest_lossless_level", (), findings.lowest.level
    for kind, number in findings.groups_by_type.items():
        yield "falkirk_watch_groups", (kind,), number
    yield "falkirk_watch_open_transactions", (), findings.transaction_count
    for drift_kind, number in sorted(Counter(drift.kind for drift in findings.drift).items()):
        yield "falkirk_watch_drifts", (drift_kind.value,), number


def _way_samples(way: Way) -> Iterator[tuple[str, tuple[str, ...], float]]:
    if way.state in _KNOWN:
        yield "falkirk_downgrade_possible", (way.release,), way.state is WayState.OPEN
    if way.is_lossless is not None:
        for kind, number in way.losses.items():
            yield "falkirk_downgrade_losses", (way.release, kind), number
    for kind, number in sorted(Counter(blocker.kind for blocker in way.blockers).items()):
        yield "falkirk_downgrade_blockers", (way.release, kind.value), number
    for cut_kind, number in way.cut_off.items():
        yield "falkirk_downgrade_cut_off", (way.release, cut_kind), number
    closing = way.point_of_no_return
    if closing is not None and closing.place.timestamp_ms is not None:
        yield "falkirk_point_of_no_return_timestamp_seconds", (way.release,), closing.place.timestamp_ms / 1000
