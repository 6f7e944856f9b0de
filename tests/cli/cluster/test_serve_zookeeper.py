"""`falkirk serve` of a broker on ZooKeeper: what it refuses before there is anything to connect to."""

import sys

import pytest
from falkirk_command import run_falkirk


@pytest.fixture
def refused(tmp_path, capsys):
    """Refuse to serve a file with these properties; return the one line that is said."""

    def refuse(*options: str, **changed: str) -> str:
        file = tmp_path / "server.properties"
        properties = {"broker.id": "1", "zookeeper.connect": "127.0.0.1:9", "listeners": "PLAINTEXT://127.0.0.1:0"}
        properties |= {name.replace("_", "."): value for name, value in changed.items()}
        file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        answer = run_falkirk(capsys, "serve", file, *options)
        assert answer.exit_code == 1
        return answer.stderr.splitlines()[-1]

    return refuse


def test_what_a_broker_on_zookeeper_has_not_is_refused(refused):
    assert refused("--release", "4.0").endswith("has no ZooKeeper; the last one that has is 3.9.1")
    assert "zookeeper.set.acl is true, and ZooKeeper" in refused(zookeeper_set_acl="true")


def test_that_kazoo_is_missing_is_said_with_what_brings_it(refused, monkeypatch):
    monkeypatch.delitem(sys.modules, "falkirk.server.zookeeper_session", raising=False)
    monkeypatch.delitem(sys.modules, "falkirk.server.zookeeper_operations", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "kazoo"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kazoo", None)
    assert refused() == (
        "kazoo is not installed: nodes on ZooKeeper need the extra `zookeeper` (pip install 'falkirk[zookeeper]')"
    )
