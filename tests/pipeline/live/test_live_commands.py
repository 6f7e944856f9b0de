"""The fleet commands on clusters of ours that run: their logs, fetched, and the request logs that they write."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from running_cluster import up

from falkirk.pipeline.fleet_tables import FleetTables
from falkirk.pipeline.ingest.warehouse import Warehouse
from falkirk.protocol.messages import CreateTopicsRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic

NOTHING = "127.0.0.1:9"


REFUSALS = [
    ((), 2, "name inputs, or a running cluster with --bootstrap-server or --bootstrap-controller"),
    (("--bootstrap-server", NOTHING, "--warehouse", "s3://w"), 2, "name one for the logs with --live-dir"),
    (("--bootstrap-server", NOTHING), 1, f"{NOTHING}: "),
    (("--bootstrap-controller", NOTHING), 1, f"{NOTHING}: "),
    (("--bootstrap-server", "nowhere"), 1, "'nowhere' is no server: host:port was expected"),
    (("--bootstrap-server", NOTHING, "--command-config", "none"), 1, "none: No such file or directory"),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: "-".join(refusal[0]))
@pytest.mark.parametrize("command", ["ingest", "stream"])
def test_what_cannot_be_fetched_is_refused_in_one_sentence(falkirk, tmp_path, monkeypatch, command, refusal):
    options, code, message = refusal
    monkeypatch.setattr("falkirk.pipeline.session.start_session", lambda **_: pytest.fail("Spark was started"))
    status, out, err = falkirk("fleet", command, *options)
    assert (status, out) == (code, "")
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_running_cluster_is_ingested_and_followed(spark, falkirk):
    def names() -> set[str]:
        tables = FleetTables(spark, Warehouse.open("warehouse"))
        return {row["name"] for row in tables["topics"].toArrow().to_pylist()}

    with up("--nodes", "1", "--single-process", "--release", "4.3") as cluster:
        words = ("--bootstrap-server", cluster.document["bootstrap_servers"], "--warehouse", "warehouse", "--json")
        status, out, err = falkirk("fleet", "ingest", *words)
        assert (status, json.loads(out)["changed"], names()) == (0, [cluster.document["cluster_id"]], set()), err

        for name in ("first", "second"):
            assert cluster.ask(CreateTopicsRequest([CreatableTopic(name, 1, 1)])).topics[0].error_code == 0
            status, out, err = falkirk("fleet", "stream", *words, "--rounds", 1, "--interval", 0)
            assert (status, json.loads(out)["changed"]) == (0, [cluster.document["cluster_id"]]), err
            assert name in names()
        assert cluster.stop() == (0, "")


@pytest.mark.slow
def test_the_request_log_of_a_node_tells_api_versions_by_client_software(spark, falkirk, tmp_path):
    from falkirk.pipeline.transforms.api_usage import api_usage

    with up("--nodes", "1", "--single-process", "--release", "4.3", "--data", tmp_path / "made") as cluster:
        assert cluster.stop() == (0, "")
    home = tmp_path / "made" / "node-1"
    log = tmp_path / "requests.log"
    command = [str(Path(sys.executable).with_name("falkirk")), "serve", str(home / "server.properties"), "--json"]
    with subprocess.Popen(
        [*command, "--release", "4.3", "--request-log", str(log), "--request-log-format", "kafka"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as node:
        try:
            document = json.loads(node.stdout.readline())
            [port] = [one["port"] for one in document["listeners"] if one["name"] != "CONTROLLER"]
            status, _, err = falkirk("api-versions", "--bootstrap-server", f"127.0.0.1:{port}")
            assert status == 0, err
        finally:
            node.terminate()
            node.wait(60)

    status, _, err = falkirk("fleet", "ingest", home / "data", "--request-log", log, "--warehouse", "w")
    assert status == 0, err
    tables = FleetTables(spark, Warehouse.open("w"))
    used = api_usage()(tables).toArrow().to_pylist()
    own = {(row["api"], row["api_version"]) for row in used if row["software_name"] == "falkirk"}
    assert {("ApiVersions", 4), ("DescribeCluster", 2)} <= own
