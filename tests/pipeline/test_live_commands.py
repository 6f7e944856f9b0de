"""The fleet commands on clusters of ours that run: their logs, fetched, and the request logs that they write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from running_cluster import serving, up
from tls_files import Authority, having

from falkirk.pipeline.warehouse.fleet_tables import FleetTables
from falkirk.pipeline.warehouse.warehouse import Warehouse
from falkirk.protocol.messages import CreateTopicsRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.storage.properties_file import format_property

if TYPE_CHECKING:
    from pathlib import Path

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
    monkeypatch.setattr("falkirk.pipeline.spark.session.start_session", lambda **_: pytest.fail("Spark was started"))
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


def broker_of(document: dict[str, Any]) -> str:
    """Return the one server of brokers, of what `falkirk serve` has printed."""
    [port] = [one["port"] for one in document["listeners"] if one["name"] != "CONTROLLER"]
    return f"127.0.0.1:{port}"


@pytest.mark.slow
def test_a_cluster_behind_sasl_ssl_is_ingested_with_the_properties_of_a_connection(spark, falkirk, tmp_path):
    with up("--nodes", "1", "--single-process", "--release", "4.3", "--data", tmp_path / "made") as cluster:
        assert cluster.ask(CreateTopicsRequest([CreatableTopic("kept", 1, 1)])).topics[0].error_code == 0
        assert cluster.stop() == (0, "")
    authority = Authority()
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    node = having(authority.issue()) | {
        "listener.security.protocol.map": "CONTROLLER:SASL_SSL,PLAINTEXT:SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
    }
    for listener in ("controller", "plaintext"):
        own = f'{module} username="admin" password="secret" user_admin="secret";'
        node[f"listener.name.{listener}.plain.sasl.jaas.config"] = own
    client = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"} | authority.trusting()
    for password in ("secret", "wrong"):
        login = {"sasl.jaas.config": f'{module} username="admin" password="{password}";'}
        append_properties(tmp_path / password, client | login)
    own_properties = tmp_path / "made" / "node-1" / "server.properties"
    append_properties(own_properties, node | authority.trusting())

    with serving(own_properties, "--release", "4.3") as document:
        server = broker_of(document)
        words = ("fleet", "ingest", "--bootstrap-server", server, "--warehouse", "w", "--command-config")
        refused, done = (falkirk(*words, tmp_path / password) for password in ("wrong", "secret"))
    assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1)
    assert refused.stderr.startswith(f"{server}: authentication failed: ")
    assert done.exit_code == 0, done.stderr
    tables = FleetTables(spark, Warehouse.open("w"))
    assert [row["name"] for row in tables["topics"].toArrow().to_pylist()] == ["kept"]


def append_properties(file: Path, properties: dict[str, str]) -> None:
    with file.open("ab") as opened:
        opened.writelines(format_property(*each) for each in properties.items())


@pytest.mark.slow
def test_the_request_log_of_a_node_tells_api_versions_by_client_software(spark, falkirk, tmp_path):
    from falkirk.pipeline.transforms.api_usage import api_usage

    with up("--nodes", "1", "--single-process", "--release", "4.3", "--data", tmp_path / "made") as cluster:
        assert cluster.stop() == (0, "")
    home = tmp_path / "made" / "node-1"
    log = tmp_path / "requests.log"
    options = ("--release", "4.3", "--request-log", log, "--request-log-format", "kafka")
    with serving(home / "server.properties", *options) as document:
        status, _, err = falkirk("api-versions", "--bootstrap-server", broker_of(document))
        assert status == 0, err

    status, _, err = falkirk("fleet", "ingest", home / "data", "--request-log", log, "--warehouse", "w")
    assert status == 0, err
    tables = FleetTables(spark, Warehouse.open("w"))
    used = api_usage()(tables).toArrow().to_pylist()
    own = {(row["api"], row["api_version"]) for row in used if row["software_name"] == "falkirk"}
    assert {("ApiVersions", 4), ("DescribeCluster", 2)} <= own
