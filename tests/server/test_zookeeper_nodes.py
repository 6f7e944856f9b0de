"""The brokers of `falkirk zookeeper up`: their properties."""

from pathlib import Path

import pytest

from falkirk.server.zookeeper_nodes import ZooKeeperNodes, brokers_layout
from falkirk.versions.release import Release
from falkirk.zookeeper_node.config.properties import read_zookeeper_properties


def supported_features(directory: Path, overrides: dict[str, str]) -> dict[str, str]:
    """Return what the first broker supports by its server.properties."""
    release = Release.parse("3.9")
    nodes = ZooKeeperNodes(
        directory=directory,
        layout=brokers_layout(release, 1),
        zookeeper="127.0.0.1:2181",
        overrides=overrides,
        make_node=pytest.fail,
    )
    nodes.write()
    [file] = directory.rglob("server.properties")
    given = dict(line.split("=", 1) for line in file.read_text().replace("\\:", ":").splitlines())
    config = read_zookeeper_properties(given, release, hostname="localhost").config
    return {name: str(levels) for name, levels in config.supported_features.items()}


def test_brokers_support_the_features_of_the_kips_samples(tmp_path):
    assert supported_features(tmp_path, {}) == {
        "consumer_offsets_topic_schema": "1",
        "group_coordinator": "1-2",
        "ibp-feature": "1-27",
        "replication_throttling": "1-2",
        "transaction_coordinator": "1-5",
    }


def test_an_override_names_other_features(tmp_path):
    found = supported_features(tmp_path, {"falkirk.supported.features": "a:1-2"})
    assert found == {"a": "1-2", "ibp-feature": "1-27"}
