"""`falkirk cluster up` for real: our nodes alone, on any free ports."""

from __future__ import annotations

import json
import signal
import socket
import time
from pathlib import Path

import pytest
from kafka_ports import free_move
from running_cluster import children, up

from falkirk.cli.application import main
from falkirk.protocol.messages import CreateTopicsRequest, MetadataRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic

Capture = pytest.CaptureFixture[str]


def failed(capsys: Capture, *options: str | Path) -> str:
    """What the command says when it does not start."""
    with pytest.raises(SystemExit) as ended:
        main(["cluster", "up", *map(str, options)])
    assert ended.value.code == 1
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


@pytest.mark.slow
def test_a_cluster_in_one_process_serves_and_goes_on_where_it_was(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with up("--nodes", "3", "--release", "3.9", "--single-process", "--data", data) as cluster:
        assert cluster.document["release"] == "3.9.1"
        assert cluster.document["metadata_version"] == "3.9-IV0"
        assert [node["roles"] for node in cluster.document["nodes"]] == [["broker", "controller"]] * 3
        assert cluster.brokers() == [1, 2, 3]
        created = cluster.ask(CreateTopicsRequest([CreatableTopic("t", 2, 3)]))
        assert [topic.error_code for topic in created.topics] == [0]
        assert cluster.stop() == (0, "")
    before = cluster.document

    with up("--data", data, "--single-process", "--nodes", "3") as cluster:
        assert (cluster.document["cluster_id"], cluster.document["release"]) == (before["cluster_id"], "3.9.1")
        # Ports stay, as long as nobody else has taken them.
        assert len(cluster.document["bootstrap_servers"].split(",")) == 3
        response = cluster.ask(MetadataRequest(None))
        assert [(topic.name, len(topic.partitions)) for topic in response.topics] == [("t", 2)]
        assert cluster.stop(signal.SIGTERM) == (0, "")


@pytest.mark.slow
def test_nodes_are_processes_and_one_that_dies_is_told_of(tmp_path: Path) -> None:
    with up("--nodes", "1", "--controllers", "1", "--data", tmp_path, "--override", "num.partitions=5") as cluster:
        assert [node["roles"] for node in cluster.document["nodes"]] == [["broker"], ["controller"]]
        assert cluster.ask(MetadataRequest(None)).cluster_id == cluster.document["cluster_id"]
        assert "num.partitions=5" in (tmp_path / "node-1" / "server.properties").read_text()
        cluster.kill(1)
        assert cluster.process.stderr is not None
        said = cluster.process.stderr.readline()
        assert said.startswith("node 1 has ended: killed by signal 9; the last line of ")
        # The others go on, until they are asked to stop.
        assert cluster.process.poll() is None
        assert cluster.stop() == (1, "the cluster has not ended in order\n")
    assert children(cluster.process.pid) == []


@pytest.mark.slow
def test_a_temporary_directory_is_gone_at_the_end() -> None:
    base = free_move({0, 1})
    with up("--nodes", "1", "--single-process", "--port", str(base)) as cluster:
        data = Path(cluster.document["data"])
        assert cluster.document["is_temporary"]
        assert (data / "node-1" / "data" / "meta.properties").exists()
        (node,) = cluster.document["nodes"]
        assert (node["broker_port"], node["controller_port"]) == (base, base + 1)
        assert cluster.stop() == (0, "")
    assert not data.exists()


@pytest.mark.slow
def test_the_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with up("--nodes", "1", "--controllers", "2", "--data", tmp_path) as cluster:
        cluster.process.send_signal(signal.SIGINT)
        # Controllers that leave wait for each other; whoever does not want to wait says so again.
        log = tmp_path / "node-2" / "server.log"
        while "shutdown requested" not in log.read_text():
            assert cluster.process.poll() is None
            time.sleep(0.02)
        assert cluster.stop() == (1, "the cluster has not ended in order\n")
    assert children(cluster.process.pid) == []


def test_a_port_that_is_taken_is_one_line(capsys: Capture, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = failed(capsys, "--nodes", "1", "--port", str(port), "--data", tmp_path)
    assert said == f"127.0.0.1:{port}: Address already in use\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--nodes", "2"), "was made with --nodes 1, not 2"),
        (("--controllers", "1"), "was made with --controllers 0, not 1"),
        (("--release", "3.8"), "holds a cluster of release 3.9.1, not 3.8.1"),
    ],
)
def test_a_cluster_that_is_not_the_one_asked_for_is_refused(
    capsys: Capture, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    manifest = {"version": 1, "release": "3.9.1", "cluster_id": "AAAAAAAAAAAAAAAAAAAAAQ"}
    nodes = [{"node_id": 1, "broker_port": 1, "controller_port": 2}]
    (tmp_path / "cluster.json").write_text(json.dumps(manifest | {"nodes": nodes}))
    assert said in failed(capsys, "--data", tmp_path, *options)
    assert [path.name for path in tmp_path.iterdir()] == ["cluster.json"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("notes.txt", "x", "holds no cluster of ours (no cluster.json), and is not empty"),
        ("cluster.json", "{", "cannot be read"),
        (
            "cluster.json",
            '{"version": 2, "release": "4.3.1", "cluster_id": "x", "nodes": []}',
            "is of version 2, this falkirk knows 1",
        ),
    ],
)
def test_a_directory_of_something_else_is_left_alone(
    capsys: Capture, tmp_path: Path, name: str, content: str, said: str
) -> None:
    (tmp_path / name).write_text(content)
    assert said in failed(capsys, "--data", tmp_path)
    assert (tmp_path / name).read_text() == content


def test_a_value_that_is_wrong_is_refused_before_anything_starts(capsys: Capture, tmp_path: Path) -> None:
    said = failed(capsys, "--nodes", "1", "--data", tmp_path, "--override", "num.partitions=none")
    assert said == "Invalid value none for configuration num.partitions: Not a number of type INT\n"
    assert not (tmp_path / "cluster.json").exists()
