"""KIP-778's command lines, and its workflow: one roll up, one roll down, with the levels moved in between."""

from __future__ import annotations

import random
import re
import shutil

import pytest

from falkirk.server.cluster_layout import PROPERTIES, node_home, write_cluster
from falkirk.testing import KafkaCluster

# What the KIP's usage has of each command.
OPTIONS = {
    ("features", "describe"): {"-h, --help"},
    ("features", "upgrade"): {"-h, --help", "--metadata", "--feature", "--dry-run"},
    ("features", "downgrade"): {"-h, --help", "--metadata", "--feature", "--unsafe", "--dry-run"},
    ("features", "disable"): {"-h, --help", "--feature", "--unsafe", "--dry-run"},
    ("storage", "format"): {"-h, --help", "--config", "-c", "--cluster-id", "-t", "--ignore-formatted", "-g"},
}


@pytest.mark.parametrize("command", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_commands_have_the_options_of_the_kip(falkirk, command, flag):
    answer = falkirk(*command, flag)
    assert answer.exit_code == 0
    assert [option for option in OPTIONS[command] if option not in answer.stdout] == []


def test_features_alone_lists_the_commands_of_the_kip(falkirk):
    text = falkirk("features", "--help").stdout
    listed = {line.split()[0] for line in text.partition("Commands:")[2].splitlines() if line.strip()}
    assert {"describe", "upgrade", "downgrade", "disable"} <= listed


def formatted_at(falkirk, release, level, *words):
    """Return a cluster whose node was formatted by the KIP's command line, with `words` behind it."""
    cluster = KafkaCluster(release=release)
    layout = cluster._layout
    write_cluster(cluster.directory, layout, cluster._properties, random=random.Random(1), now_ms=0)
    home = node_home(cluster.directory, layout.nodes[0])
    for path in home.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
    named = ("--config", home / PROPERTIES, "--cluster-id", cluster.cluster_id, "--ignore-formatted")
    answer = falkirk("storage", "format", *named, *words)
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert f"with metadata.version {level}." in answer.stdout
    return cluster


def described_level(falkirk, cluster):
    """Return the level as the tool of the node's release names it; later tools have no name for old levels."""
    words = ("--bootstrap-server", cluster.bootstrap_servers, "describe", "--release", cluster.releases[1])
    answer = falkirk("features", *words)
    found = re.search(r"metadata\.version\s.*FinalizedVersionLevel: (\S+)", answer.stdout)
    assert found, answer
    return found[1]


@pytest.mark.slow
def test_the_initial_level_is_that_of_the_storage_tools_new_argument(falkirk):
    with formatted_at(falkirk, "4.4", "3.3-IV3", "--metadata-version", "3.3-IV3") as cluster:
        assert described_level(falkirk, cluster) == "3.3-IV3"


# Each form of a command that the KIP's usage has, in the order of its workflow, and what is said in the end.
DEPRECATED = " `metadata` flag is deprecated and may be removed in a future release."
UP = [
    ("upgrade --metadata 4.0-IV3 --dry-run", [DEPRECATED, "metadata.version can be upgraded to 25."]),
    ("upgrade --metadata 4.0-IV3", [DEPRECATED, "metadata.version was upgraded to 25."]),
    ("upgrade --feature group.version=1 --dry-run", ["group.version can be upgraded to 1."]),
    ("upgrade --feature group.version=1", ["group.version was upgraded to 1."]),
]
DOWN = [
    ("disable --feature group.version --dry-run", ["group.version can be disabled."]),
    ("disable --feature group.version", ["group.version was disabled."]),
    ("disable --feature group.version --unsafe", ["group.version was disabled."]),
    ("downgrade --feature metadata.version=3.9-IV0 --dry-run", ["metadata.version can be downgraded to 21."]),
    ("downgrade --feature metadata.version=3.9-IV0", ["metadata.version was downgraded to 21."]),
    ("downgrade --metadata 3.8-IV0 --unsafe --dry-run", [DEPRECATED, "metadata.version can be downgraded to 20."]),
    ("downgrade --metadata 3.8-IV0 --unsafe", [DEPRECATED, "metadata.version was downgraded to 20."]),
]


def play(falkirk, cluster, lines):
    for line, printed in lines:
        answer = falkirk("features", "--bootstrap-server", cluster.bootstrap_servers, *line.split())
        said = [text for text in answer.stdout.splitlines() if "undo bundle" not in text]
        assert (answer.exit_code, said, answer.stderr) == (0, printed, ""), line


@pytest.mark.slow
def test_the_workflow_of_the_kip_takes_a_cluster_up_and_down(falkirk):
    with formatted_at(falkirk, "3.9", "3.3-IV3", "--release-version", "3.3-IV3", "--release", "3.9") as cluster:
        cluster.roll("4.0")
        assert described_level(falkirk, cluster) == "3.3-IV3"
        play(falkirk, cluster, UP)
        assert described_level(falkirk, cluster) == "4.0-IV3"
        play(falkirk, cluster, DOWN)
        cluster.roll("3.9")
        assert described_level(falkirk, cluster) == "3.8-IV0"


@pytest.mark.slow
def test_the_level_of_the_kips_sample_is_reached_by_its_name(falkirk):
    """`--feature metadata.version=3.3-IV3`, word for word."""
    with formatted_at(falkirk, "3.9", "3.3-IV0", "--release-version", "3.3-IV0", "--release", "3.9") as cluster:
        line = "upgrade --feature metadata.version=3.3-IV3"
        play(falkirk, cluster, [(f"{line} --dry-run", ["metadata.version can be upgraded to 7."])])
        assert described_level(falkirk, cluster) == "3.3-IV0"
        play(falkirk, cluster, [(line, ["metadata.version was upgraded to 7."])])
        assert described_level(falkirk, cluster) == "3.3-IV3"


@pytest.mark.slow
def test_a_running_cluster_below_3_7_refuses_the_sample_of_a_downgrade_by_the_lowest_level(falkirk):
    with formatted_at(falkirk, "3.9", "3.3-IV3", "--release-version", "3.3-IV3", "--release", "3.9") as cluster:
        words = ("downgrade", "--metadata", "3.3-IV0", "--unsafe", "--release", "3.9")
        answer = falkirk("features", "--bootstrap-server", cluster.bootstrap_servers, *words)
        assert answer.exit_code == 1
        assert "Unable to set a metadata.version less than 3.7-IV0" in answer.stdout + answer.stderr
        assert described_level(falkirk, cluster) == "3.3-IV3"
