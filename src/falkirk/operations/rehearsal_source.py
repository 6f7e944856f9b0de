"""Make the cluster that a rehearsal plays of the directories of a stopped one: its nodes, their roles and releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.operations.errors import OperationError
from falkirk.simulation.plans.rehearsed_cluster import RehearsedCluster, RehearsedNode
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import Release, all_releases

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.logdir.cluster import Cluster
    from falkirk.metadata.image.broker_registration import SupportedFeature


def rehearsed_cluster(cluster: Cluster, release: Release | None) -> RehearsedCluster:
    """Return a cluster of all voters, all nodes whose directories were read, and all brokers that are not fenced.

    A fenced broker without a directory is gone: it stays registered, and may block the roll. `release`: of all nodes;
    None: each runs the release that it registered with. Raises OperationError without a metadata.version or voters.
    """
    if cluster.image.features.metadata_version is None:
        raise OperationError("the metadata has no metadata.version: such a cluster has never been used")
    if cluster.voters is None:
        raise OperationError("the voters are not known: name a node's server.properties")
    brokers, controllers = cluster.image.cluster.brokers, cluster.image.cluster.controllers
    given = {node.node_id: [log_dir.meta.directory_id for log_dir in node.log_dirs] for node in cluster.nodes}
    voters = cluster.voters.ids
    present = {broker_id for broker_id, broker in brokers.items() if broker_id in given or not broker.fenced}
    ids = sorted({*voters, *given, *present})
    features: dict[int, list[SupportedFeature]] = {
        node_id: [
            *(brokers[node_id].features if node_id in brokers else ()),
            *(controllers[node_id].features if node_id in controllers else ()),
        ]
        for node_id in ids
    }
    oldest = _oldest_release(cluster)
    nodes = [
        RehearsedNode(
            node_id=node_id,
            release=release or _release_of(features[node_id]) or oldest,
            is_controller=node_id in voters,
            is_broker=node_id in present or (node_id in given and node_id not in voters),
            directory_ids=_directory_ids(node_id, given, cluster),
        )
        for node_id in ids
    ]
    return RehearsedCluster(image=cluster.image, nodes=tuple(nodes), has_dynamic_voters=cluster.kraft_version > 0)


def _directory_ids(node_id: int, given: Mapping[int, Sequence[bytes | None]], cluster: Cluster) -> tuple[bytes, ...]:
    """Return the ids of a node's directories, the one in the voters' record first; else those that it registered."""
    known = [each for each in given.get(node_id, ()) if each is not None]
    broker = cluster.image.cluster.brokers.get(node_id)
    if not known and broker is not None:
        known = list(broker.log_dirs)
    first = None if cluster.voters is None else cluster.voters.directory_ids.get(node_id)
    if first is not None:
        known = [first, *(each for each in known if each != first)]
    return tuple(known) or (_stand_in(node_id),)


def _stand_in(node_id: int) -> bytes:
    """Return a directory id for a node without one: before 3.7 there were none."""
    return b"rehearsal" + node_id.to_bytes(7)


def _release_of(features: Iterable[SupportedFeature]) -> Release | None:
    """Return the release whose highest metadata.version a node registered with."""
    highest = {feature.max_supported_version for feature in features if feature.name == METADATA_VERSION}
    found = [each for each in _releases() if each.supported_features()[METADATA_VERSION].highest in highest]
    return found[0] if found else None


def _oldest_release(cluster: Cluster) -> Release:
    levels = cluster.image.features.levels(kraft_version=cluster.kraft_version)
    found = [release for release in _releases() if not release.unsupported_features(levels)]
    if not found:
        raise OperationError(f"no release runs what is finalized in cluster {cluster.cluster_id}: {levels}")
    return found[0]


def _releases() -> list[Release]:
    return [release for release in all_releases() if release.tables.kraft is not None]
