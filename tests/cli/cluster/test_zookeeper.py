"""`falkirk zookeeper up` for real: a ZooKeeper in Java, brokers in the command's process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from falkirk_command import run_falkirk
from running_cluster import Running, children
from zookeeper_server import kazoo_client

PROGRAM = Path(sys.executable).with_name("falkirk")


@contextmanager
def up(*options: str | Path):
    command = [str(PROGRAM), "zookeeper", "up", "--json", *map(str, options)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            assert line, process.communicate(timeout=60)[1]
            yield Running(process, json.loads(line))
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=60)


def failed(capsys, *options: str | Path) -> str:
    """What the command says when it does not start."""
    answer = run_falkirk(capsys, "zookeeper", "up", *options)
    assert (answer.exit_code, answer.stdout) == (1, "")
    return answer.stderr


@pytest.mark.zookeeper
@pytest.mark.slow
def test_brokers_on_a_real_zookeeper_serve_until_ctrl_c_and_leave_nothing_behind(tmp_path):
    with up("--nodes", "2", "--release", "3.8", "--override", "falkirk.supported.features=a:1-2") as cluster:
        document = cluster.document
        assert (document["release"], document["is_temporary"]) == ("3.8.1", True)
        assert [node["node_id"] for node in document["nodes"]] == [1, 2]
        assert cluster.brokers() == [1, 2]
        with kazoo_client(document["zookeeper_connect"]) as client:
            assert client.get_children("/brokers/ids") == ["1", "2"]
        assert "falkirk.supported.features=a" in Path(document["data"], "node-2", "server.properties").read_text()
        assert cluster.stop(signal.SIGINT) == (0, "")
    assert not Path(document["data"]).exists()
    assert children(cluster.process.pid) == []


@pytest.mark.zookeeper
@pytest.mark.slow
def test_a_zookeeper_that_dies_is_told_of_and_ends_the_brokers(tmp_path):
    with up("--nodes", "1", "--data-dir", tmp_path) as cluster:
        ((java, _),) = children(cluster.process.pid)
        os.kill(java, signal.SIGKILL)
        _, said = cluster.process.communicate(timeout=60)
        assert said.splitlines() == [
            f"ZooKeeper has ended; its log is {tmp_path}/zookeeper/zookeeper.log",
            "the cluster has not ended in order",
        ]
        assert cluster.process.returncode == 1


def test_what_keeps_it_from_starting_is_one_line_and_a_temporary_directory_goes(capsys, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = failed(capsys, "--nodes", "1", "--port", str(port - 1))
    assert said == f"127.0.0.1:{port}: Address already in use\n"
    assert failed(capsys, "--class-path", tmp_path) == f"{tmp_path}: no zookeeper-*.jar is there\n"
    assert "zookeeper.session.timeout.ms: Not a number" in failed(
        capsys, "--override", "zookeeper.session.timeout.ms=soon"
    )
    assert "release 4.0.0 has no ZooKeeper" in failed(capsys, "--release", "4.0")
