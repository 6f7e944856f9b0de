"""A real ZooKeeper as a process: where its classes are, and what is said when it does not come up."""

import socket

import pytest
from zookeeper_server import made_server

from falkirk.server.errors import ServerError
from falkirk.server.zookeeper_server import ZooKeeperServer, find_class_path

pytestmark = pytest.mark.zookeeper


def test_what_keeps_a_server_from_starting_is_told_in_one_line(tmp_path):
    server = made_server(tmp_path)
    with socket.create_server(("127.0.0.1", server.port)), pytest.raises(ServerError) as error:
        server.start()
    assert "java.net.BindException: Address already in use" in str(error.value)
    assert str(server.log_file) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_class_path_without_classes_is_told(tmp_path):
    server = ZooKeeperServer(tmp_path, class_path=str(tmp_path / "none.jar"))
    with pytest.raises(ServerError, match="QuorumPeerMain"):
        server.start()


def test_a_directory_of_jars_is_taken_whole_and_one_without_zookeeper_is_refused(tmp_path):
    with pytest.raises(ServerError, match="no zookeeper-"):
        find_class_path(str(tmp_path))
    (tmp_path / "zookeeper-3.9.5.jar").touch()
    assert find_class_path(str(tmp_path)) == f"{tmp_path}/*"
    assert find_class_path("a.jar:b.jar") == "a.jar:b.jar"
