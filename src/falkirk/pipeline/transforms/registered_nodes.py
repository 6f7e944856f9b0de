"""Registered nodes of a cluster, brokers and controllers alike, with the levels that each supports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.pipeline.tables.metadata_state import BROKERS, CONTROLLERS
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from falkirk.pipeline.warehouse.cluster_rows import ClusterRows

BROKER: Final = "broker"
CONTROLLER: Final = "controller"


class RegisteredNode(NamedTuple):
    """A broker or controller: the range that it supports of each feature, and since when it is fenced, if known."""

    role: str
    node_id: int
    supported: dict[str, SupportedRange]
    fenced: bool = False
    fenced_since: datetime | None = None


def registered_nodes(rows: ClusterRows) -> Iterator[RegisteredNode]:
    """Yield the nodes in BROKERS and CONTROLLERS."""
    for row in rows.read(BROKERS, "broker_id", "features", "fenced", "fenced_since").to_pylist():
        fenced = bool(row["fenced"])
        since = row["fenced_since"] if fenced else None
        yield RegisteredNode(BROKER, row["broker_id"], _supported(row["features"]), fenced, since)
    for row in rows.read(CONTROLLERS, "controller_id", "features").to_pylist():
        yield RegisteredNode(CONTROLLER, row["controller_id"], _supported(row["features"]))


def _supported(features: Iterable[Mapping[str, object]] | None) -> dict[str, SupportedRange]:
    return {
        str(row["name"]): SupportedRange(row["min_supported_version"], row["max_supported_version"])  # type: ignore[arg-type]
        for row in features or ()
    }
