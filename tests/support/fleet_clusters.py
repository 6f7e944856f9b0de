"""Clusters on disk in the form that the fleet pipeline reads."""

from dataclasses import replace
from pathlib import Path

from archives import unpack

from falkirk.pipeline.fleet import FleetCluster
from falkirk.pipeline.inventory import find_fleet

CLUSTERS = Path(__file__).parent.parent / "data" / "clusters"
CLUSTER_NAMES = sorted(path.name.removesuffix(".tar.gz") for path in CLUSTERS.glob("*.tar.gz"))


def unpack_cluster(name: str, folder: Path) -> Path:
    """Unpack a cluster that real Kafka ran; return its `data` folder."""
    unpack(CLUSTERS / f"{name}.tar.gz", folder)
    return folder / "data"


def fleet_cluster(*paths: Path, as_of: int | None = None) -> FleetCluster:
    """Return the one cluster with directories at or below the paths."""
    [cluster] = find_fleet([str(path) for path in paths]).clusters
    return replace(cluster, as_of=as_of)
