"""Fixtures: clusters and clients that tests share, one for each release and library."""

from collections.abc import Iterator

import pytest
from client_cluster import ClientCluster
from client_factory import ClientFactory
from java_client import JavaPrograms
from kafka_cluster import Clusters


@pytest.fixture(scope="module")
def running() -> dict[tuple[str, str], ClientCluster]:
    """The clusters of a module that run already: tests with one cluster and several libraries alternate."""
    return {}


@pytest.fixture(scope="module")
def served(
    running: dict[tuple[str, str], ClientCluster],
    module_clusters: Clusters,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> ClientCluster:
    """The running cluster that the parameter names: ("falkirk" or "kafka", release)."""
    whose, release = request.param
    if (whose, release) in running:
        return running[whose, release]
    home = tmp_path_factory.mktemp(f"{whose}-{release}")
    cluster = ClientCluster(release, is_ours=whose == "falkirk", home=home / "cluster")
    module_clusters.adopt(cluster)
    cluster.set_up()
    running[whose, release] = cluster
    return cluster


@pytest.fixture(scope="module")
def client_factory(module_clusters: Clusters, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientFactory]:
    # Not of one cluster: with each of them every JVM would start anew. Closed before the clusters are.
    programs = JavaPrograms(tmp_path_factory.mktemp("java-clients"))
    factory = ClientFactory(programs)
    try:
        yield factory
        factory.close()
    finally:
        programs.close()
