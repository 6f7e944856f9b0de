import pytest

from falkirk.versions.configs.definition import ConfigError
from falkirk.zookeeper_node.config.connect_string import is_znode_path, parse_connect_string


@pytest.mark.parametrize(
    ("text", "servers", "chroot"),
    [
        ("zoo:2182", ("zoo:2182",), ""),
        ("zoo", ("zoo:2181",), ""),
        ("a:1, [::1] ,c_1.example:3/kafka/one/", ("a:1", "[::1]:2181", "c_1.example:3"), "/kafka/one"),
        ("zoo:1/", ("zoo:1",), ""),
    ],
)
def test_servers_have_ports_and_the_rest_is_the_chroot(text, servers, chroot):
    found = parse_connect_string(text)
    assert (found.servers, found.chroot) == (servers, chroot)
    assert parse_connect_string(str(found)) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--zookeeper: '' names no server"),
        ("/kafka", "--zookeeper: '/kafka' names no server"),
        ("a:b", "--zookeeper: a:b is not host:port"),
        ("a:65536", "--zookeeper: a:65536 is not host:port"),
        ("zk://a:1", "--zookeeper: //a:1 is not the path of a znode"),
    ],
)
def test_what_is_no_address_is_named(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_connect_string(text, "--zookeeper")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("path", "is_one"),
    [("/a", True), ("/a/b-c.d", True), ("/", False), ("a", False), ("/a/", False), ("/a//b", False), ("/a/.", False)],
)
def test_paths_of_znodes_have_names_between_slashes(path, is_one):
    assert is_znode_path(path) is is_one
