import subprocess
import sys

import pytest

from falkirk.logdir.errors import DifferentClustersError, LinkedOutsideError, NodeIsRunningError, NotALogDirError
from falkirk.logdir.locate import find_nodes
from falkirk.logdir.locks import hold_locks
from falkirk.protocol.uuid import uuid_text
from falkirk.storage.errors import CorruptFileError


def make_log_dir(path, node_id=1, cluster_id="hfgjSfLshYrZXYqfd36Qxg", directory=1, *, metadata=False):
    (path / "__cluster_metadata-0" if metadata else path).mkdir(parents=True)
    (path / "meta.properties").write_text(
        f"node.id={node_id}\nversion=1\ncluster.id={cluster_id}\ndirectory.id={uuid_text(bytes([directory]) * 16)}\n"
    )
    return path


def test_log_directories_of_one_node_are_found_by_their_meta_properties(tmp_path):
    make_log_dir(tmp_path / "a" / "d0", directory=1)
    make_log_dir(tmp_path / "a" / "d1", directory=2, metadata=True)
    make_log_dir(tmp_path / "b", node_id=2, directory=3)
    first, second = find_nodes([tmp_path / "a", tmp_path / "b"])
    assert [log_dir.path.name for log_dir in first.log_dirs] == ["d0", "d1"]
    assert first.metadata_dir.path.name == "d1"
    assert (second.node_id, second.metadata_dir) == (2, None)
    assert find_nodes([tmp_path]) == [first, second]


@pytest.mark.parametrize("place", ["t-0", "t-0/00000000000000000000.log", "meta.properties.old", "t-0/gone"])
def test_a_link_out_of_a_log_directory_is_refused_by_name(tmp_path, place):
    outside = tmp_path / "outside"
    (outside / "secret").mkdir(parents=True)
    path = make_log_dir(tmp_path / "data" / "d0")
    link = path / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside / ("missing" if place.endswith("gone") else "secret"))
    with pytest.raises(LinkedOutsideError, match=f"^{link}: a symbolic link to {outside}/"):
        find_nodes([tmp_path / "data"])


def test_links_to_log_directories_and_inside_of_them_are_followed(tmp_path):
    path = make_log_dir(tmp_path / "disk" / "d0")
    (path / "t-0").mkdir()
    (path / "t-0" / "linked").symlink_to(path / "meta.properties")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "d0").symlink_to(path)
    [node] = find_nodes([tmp_path / "data"])
    assert node.node_id == 1


def test_a_meta_properties_that_is_large_is_not_read(tmp_path):
    path = make_log_dir(tmp_path / "d0")
    (path / "meta.properties").write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(CorruptFileError, match="longer than 1048576 bytes"):
        find_nodes([path])


def test_a_directory_named_twice_is_taken_once(tmp_path):
    make_log_dir(tmp_path / "d0")
    [node] = find_nodes([tmp_path / "d0", tmp_path, tmp_path / "." / "d0"])
    assert len(node.log_dirs) == 1


def test_server_properties_name_the_directories_beside_them(tmp_path):
    make_log_dir(tmp_path / "data" / "d0", metadata=True)
    make_log_dir(tmp_path / "data" / "d1", directory=2)
    make_log_dir(tmp_path / "data" / "meta", directory=3)
    file = tmp_path / "server.properties"
    file.write_text("log.dirs=data/d0, data/d1\nmetadata.log.dir=data/meta\ncontroller.quorum.voters=1@h:9093\n")
    [node] = find_nodes([file])
    assert [log_dir.path.name for log_dir in node.log_dirs] == ["d0", "d1", "meta"]
    assert node.server_properties.get("controller.quorum.voters") == "1@h:9093"


def test_places_without_log_directories_are_named(tmp_path):
    with pytest.raises(NotALogDirError, match="nowhere: no such directory"):
        find_nodes([tmp_path / "nowhere"])
    with pytest.raises(NotALogDirError, match="no Kafka log directory here"):
        find_nodes([tmp_path])
    (tmp_path / "server.properties").write_text("log.dirs=gone\n")
    with pytest.raises(NotALogDirError, match=r"gone: named in .*server\.properties, but it has no meta\.properties"):
        find_nodes([tmp_path / "server.properties"])
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=1\ncluster.id=x\n")
    with pytest.raises(NotALogDirError, match="version 0; this is not a KRaft node's"):
        find_nodes([tmp_path])


def test_directories_that_do_not_belong_together_are_named(tmp_path):
    make_log_dir(tmp_path / "a")
    make_log_dir(tmp_path / "b", cluster_id="EAOZYLV6ilkMchxQOLHAMg", directory=2)
    with pytest.raises(DifferentClustersError, match=r"b belongs to cluster EAOZ.*a to cluster hfgj"):
        find_nodes([tmp_path / "a", tmp_path / "b"])


def test_a_copy_of_a_directory_is_not_taken_for_another_one(tmp_path):
    make_log_dir(tmp_path / "a")
    make_log_dir(tmp_path / "copy")
    with pytest.raises(DifferentClustersError, match=r"same directory\.id: one is a copy of the other"):
        find_nodes([tmp_path])
    make_log_dir(tmp_path / "x" / "m1", directory=4, metadata=True)
    make_log_dir(tmp_path / "x" / "m2", directory=5, metadata=True)
    with pytest.raises(DifferentClustersError, match="node 1 has two metadata partitions"):
        find_nodes([tmp_path / "x"])


HOLD = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_running_node_is_refused_by_name(tmp_path):
    make_log_dir(tmp_path / "d0")
    lock = tmp_path / "d0" / ".lock"
    lock.touch()
    nodes = find_nodes([tmp_path])
    with hold_locks(nodes):
        pass
    command = [sys.executable, "-c", HOLD, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(NodeIsRunningError, match=r"\.lock is locked: node 1 is running"), hold_locks(nodes):
            pass
        holder.stdin.close()
