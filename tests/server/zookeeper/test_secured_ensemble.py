"""Brokers of ours, and `features export`, on a real ensemble of three that takes TLS and SASL alone."""

from __future__ import annotations

import json

import pytest
from falkirk_command import run_falkirk
from secured_ensemble import PASSWORD, USER, SecuredEnsemble, jaas_config, secured_ensemble
from zookeeper_cluster import live_cluster, run
from zookeeper_server import kazoo_client

from falkirk.server.zookeeper_client import SecuredHandler, sasl_options, tls_context
from falkirk.zookeeper_node.config.zookeeper_security import read_zookeeper_security

pytestmark = [pytest.mark.zookeeper, pytest.mark.slow]


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory):
    with secured_ensemble(tmp_path_factory.mktemp("ensemble")) as running:
        yield running


def settings(ensemble: SecuredEnsemble, **others: str) -> dict[str, str]:
    return {key.replace(".", "_"): value for key, value in ensemble.properties.items()} | others


def acls_of(ensemble: SecuredEnsemble, *paths: str) -> dict[str, set[tuple[str, str, int]]]:
    security = read_zookeeper_security(ensemble.properties)
    handler = SecuredHandler(tls_context(security), pytest.fail)
    options = {"handler": handler, "use_ssl": True, "sasl_options": sasl_options(security)}
    with kazoo_client(ensemble.connect, **options) as client:
        found = {path: client.get_acls(path)[0] for path in paths}
    return {path: {(acl.id.scheme, acl.id.id, acl.perms) for acl in acls} for path, acls in found.items()}


def test_brokers_serve_on_a_secured_ensemble_and_their_znodes_are_their_own(ensemble):
    own = settings(ensemble, zookeeper_set_acl="true", falkirk_supported_features="a:1-3")

    async def story():
        async with live_cluster(f"{ensemble.connect}/secured", **own) as cluster:
            await cluster.start(1, 2)
            await cluster.until_epoch(0)
            # A majority goes on.
            ensemble.servers[0].kill()
            assert await cluster.update(a=-2) == {"a": None}
            await cluster.until_epoch(1)
            ensemble.servers[0].start()

    run(story)
    paths = ("/secured", "/secured/features", "/secured/brokers/ids", "/secured/controller_epoch")
    found = acls_of(ensemble, *paths)
    creator = {entry for entry in found["/secured"] if entry[2] == 31}
    assert ("sasl", USER, 31) in creator
    assert all(acls == {*creator, ("world", "anyone", 1)} for acls in found.values()), found


def test_features_are_exported_from_a_secured_ensemble(ensemble, tmp_path, capsys):
    async def story():
        async with live_cluster(f"{ensemble.connect}/export", **settings(ensemble)) as cluster:
            await cluster.start(1)
            await cluster.until_epoch(0)

    run(story)
    file = tmp_path / "zookeeper.properties"
    words = ("features", "export", "--zookeeper", f"{ensemble.connect}/export", "--json")

    def export(*more: object, **changed: str):
        properties = {**ensemble.properties, **changed}
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        return run_falkirk(capsys, *words, *more)

    ended = export("--zk-tls-config-file", file)
    [feature] = json.loads(ended.stdout)["features"]
    assert feature["feature"] == "ibp-feature", ended
    refused = export("--zk-tls-config-file", file, **{"falkirk.zookeeper.sasl.jaas.config": jaas_config("other")})
    assert refused.exit_code == 1
    assert refused.stderr.startswith("ZooKeeper 127.0.0.1:")
    assert PASSWORD not in refused.stderr
    assert export().exit_code == 1
