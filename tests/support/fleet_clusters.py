"""Clusters on disk in the form that the fleet pipeline reads."""

from dataclasses import replace
from pathlib import Path

from archives import CLUSTERS

from falkirk.pipeline.fleet import FleetCluster
from falkirk.pipeline.inventory import find_fleet

CLUSTER_NAMES = sorted(path.name.removesuffix(".tar.gz") for path in CLUSTERS.glob("*.tar.gz"))


def fleet_cluster(*paths: Path, as_of: int | None = None) -> FleetCluster:
    """Return the one cluster with directories at or below the paths."""
    [cluster] = find_fleet([str(path) for path in paths]).clusters
    return replace(cluster, as_of=as_of)
