"""Registered nodes of a cluster, brokers and controllers alike, with the levels that each supports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.pipeline.tables.metadata_state import BROKERS, CONTROLLERS
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
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


def registered_nodes(rows: ClusterRows) -> list[RegisteredNode]:
    """Return the nodes in BROKERS and CONTROLLERS."""
    return rows.once(_nodes)


def _nodes(rows: ClusterRows) -> list[RegisteredNode]:
    brokers = rows.read(BROKERS, "broker_id", "features", "fenced", "fenced_since").to_pylist()
    controllers = rows.read(CONTROLLERS, "controller_id", "features").to_pylist()
    return [
        RegisteredNode(
            role=BROKER,
            node_id=row["broker_id"],
            supported=_supported(row["features"]),
            fenced=bool(row["fenced"]),
            fenced_since=row["fenced_since"] if row["fenced"] else None,
        )
        for row in brokers
    ] + [RegisteredNode(CONTROLLER, row["controller_id"], _supported(row["features"])) for row in controllers]


def _supported(features: Iterable[Mapping[str, object]] | None) -> dict[str, SupportedRange]:
    return {
        str(row["name"]): SupportedRange(row["min_supported_version"], row["max_supported_version"])  # type: ignore[arg-type]
        for row in features or ()
    }
