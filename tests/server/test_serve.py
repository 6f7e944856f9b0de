"""A node is opened with what only its process knows."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from immutables import Map

from falkirk.metadata.image.configs import BROKER, ConfigResource, ConfigsImage
from falkirk.node.broker.replication.cordoned_log_dirs import cordoned_log_dirs
from falkirk.node.config.server_properties import read_server_properties
from falkirk.server.fact_log import FactLog, LogFormat, LogLevel
from falkirk.server.serve import opened
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from falkirk.node.config.node_config import NodeConfig


def test_log_directories_are_known_by_the_paths_that_kafka_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": "1@127.0.0.1:1",
        "log.dirs": "d0/,/b//d1/,d0",
        "cordoned.log.dirs": "d0/",
    }
    made: list[NodeConfig] = []

    def make(config: NodeConfig, now_ms: int) -> Any:  # Any: nobody runs it
        made.append(config)

    log = FactLog(io.StringIO(), LogFormat.TEXT, LogLevel.INFO)
    with opened(read_server_properties(properties, Release.parse("4.3"), hostname="h"), make, log):
        (config,) = made
    assert config.log_dirs == (f"{tmp_path}/d0", "/b/d1")
    assert config.metadata_log_dir == f"{tmp_path}/d0"

    assert cordoned_log_dirs(config, ConfigsImage()) == {f"{tmp_path}/d0"}
    changed = ConfigsImage(Map({ConfigResource(BROKER, "1"): Map({"cordoned.log.dirs": "/b//d1/"})}))
    assert cordoned_log_dirs(config, changed) == {"/b/d1"}
