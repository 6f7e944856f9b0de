"""Findings and events of a watch, for people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from falkirk.watch.core.findings import WayState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.watch.core.findings import Findings, WatchEvent, Way


class FindingsView:
    """What is known of one cluster, as a `Result`."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings

    def text(self) -> Iterator[str]:
        """Yield the level, one line for each way, and what is not known."""
        found = self._findings
        level = found.metadata_version or "not known"
        yield f"Cluster {found.cluster} ({found.cluster_id or 'not reached'}): metadata.version {level}"
        for way in reversed(found.ways):
            if way.state is not WayState.NOT_BELOW:
                yield f"  to {way.release:<4} {_verdict(way)}"
        if found.lowest is not None:
            yield f"  lowest level without a loss: {found.lowest.name}"
        for feature in found.features:
            if feature.can_rise_to is not None:
                yield f"  {feature.feature} could rise from {feature.finalized} to {feature.can_rise_to}"
        for drift in found.drift:
            yield f"  {drift.text}"
        for source in found.sources:
            if not source.is_fresh:
                yield f"  not known: {source.reason_unknown(found.at_ms)}"

    def document(self) -> Findings:
        """Return the findings."""
        return self._findings


def event_line(event: WatchEvent) -> str:
    """Return an event as one line."""
    at = datetime.fromtimestamp(event.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return f"{at} {event.text}"


def _verdict(way: Way) -> str:
    match way.state:
        case WayState.OPEN:
            cut_off = f"; while it runs, {_counts(way.cut_off)} would end" if way.cut_off else ""
            return f"open: nothing would be lost{cut_off}"
        case WayState.CLOSED:
            loss = way.point_of_no_return
            since = "" if loss is None else f", since {loss.place}: {loss.detail}. To open it: {loss.remedy}"
            return f"closed: would lose {_counts(way.losses)}{since}"
        case WayState.BLOCKED:
            return f"blocked: {'; '.join(map(str, way.blockers))}"
    return "not known"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in counts.items())
