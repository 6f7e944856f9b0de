"""`falkirk lift` on real Kafka whose controllers listen behind TLS and SASL, with no more rights than it needs."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from controller_security import EXTRA, OPERATOR, STORE_VARIABLE, ControllerSecurity, Right, allow
from kafka_cluster import COMBINED, Clusters
from kafka_node import BROKER, CONTROLLER
from lifted_cluster import Lifted, under_load
from node_hooks import IN_PLACE
from tls_files import STORE_PASSWORD

pytestmark = pytest.mark.interop
ONE = {1: COMBINED}
THREE = dict.fromkeys((1, 2, 3), COMBINED)
ONE_CONTROLLER = {1: (CONTROLLER,), 11: (BROKER,)}
SEPARATE = {1: (CONTROLLER,), 2: (CONTROLLER,), 3: (CONTROLLER,), 11: (BROKER,), 12: (BROKER,)}
TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")


def on_cluster(principal: str, operation: str) -> Right:
    return principal, operation, "CLUSTER", "kafka-cluster"


READING = [
    *(on_cluster(OPERATOR, operation) for operation in ("DESCRIBE", "DESCRIBE_CONFIGS", "CLUSTER_ACTION")),
    *((OPERATOR, "READ", "TOPIC", topic) for topic in TOPICS),
]
Kind = tuple[str, str, Mapping[int, tuple[str, ...]]]


def missing(lifted: Lifted) -> set[str]:
    """The rights that a run is refused for."""
    ended = lifted.lift("run")
    assert ended.status == 1, ended
    lines = ended.stderr.splitlines()
    assert all(line.startswith("missing right: ") for line in lines), lines
    return {line.removeprefix("missing right: ").partition(" (")[0] for line in lines}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(("SSL", "PKCS12", ONE), id="certificates", marks=pytest.mark.full),
        pytest.param(("SASL_SSL", "JKS", ONE), id="sasl", marks=pytest.mark.full),
        pytest.param(("SSL", "PEM", SEPARATE), id="separate", marks=pytest.mark.full),
    ],
)
def test_a_secured_cluster_goes_down_with_the_rights_that_were_named(
    clusters: Clusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    protocol, store, roles = kind
    monkeypatch.setenv(STORE_VARIABLE, STORE_PASSWORD)
    security = ControllerSecurity(folder=tmp_path, protocol=protocol, store=store)
    with under_load(clusters, tmp_path, roles, security=security) as lifted:
        servers = lifted.cluster.bootstrap_servers
        who = f"CLUSTER kafka-cluster for User:{OPERATOR}, at the"
        assert f"DESCRIBE on {who} brokers" in missing(lifted)
        allow(servers, [on_cluster(OPERATOR, "DESCRIBE")])
        found = {each.partition(" for ")[0] for each in missing(lifted)}
        assert found == {
            *(f"{operation} on CLUSTER kafka-cluster" for operation in ("ALTER", "CLUSTER_ACTION", "DESCRIBE_CONFIGS")),
            *(f"READ on TOPIC {topic}" for topic in TOPICS),
        }
        allow(servers, READING)
        checked = lifted.check()
        assert (checked["blockers"], checked["unseen"]) == ([], [])
        assert len(checked["missing_rights"]) == 2
        allow(servers, [on_cluster(OPERATOR, "ALTER")])
        assert missing(lifted) == {f"CLUSTER_ACTION on CLUSTER kafka-cluster for User:{EXTRA}, at the controllers"}
        allow(servers, [on_cluster(EXTRA, "CLUSTER_ACTION")])
        ended = lifted.lift("run")
        assert ended.status == 0, ended
        assert lifted.status()["level"] == "3.9-IV0"
        lifted.check_voters()
    lifted.cluster.stop()
    lifted.check_no_trace()


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        pytest.param("in-place", ("SASL_SSL", "PEM", ONE_CONTROLLER), id="sasl"),
        pytest.param("in-place", ("SSL", "PKCS12", SEPARATE), id="certificates", marks=pytest.mark.full),
        pytest.param("in-place-of-one", ("SASL_SSL", "JKS", SEPARATE), id="one-sasl", marks=pytest.mark.full),
        pytest.param("in-place-of-one", ("SSL", "PEM", THREE), id="one-certificates", marks=pytest.mark.full),
    ],
)
def test_falkirk_runs_in_place_on_the_secured_listeners_of_kafkas_own_file(
    clusters: Clusters, tmp_path: Path, place: str, kind: Kind
) -> None:
    protocol, store, roles = kind
    security = ControllerSecurity(folder=tmp_path, protocol=protocol, store=store)
    fields = {"place": place, "limits": {"step_s": 100, "metadata_outage_s": 60}}
    with under_load(
        clusters, tmp_path, roles, dynamic=False, security=security, hooks=(*IN_PLACE, "roll"), **fields
    ) as lifted:
        rights = [*READING, on_cluster(OPERATOR, "ALTER")]
        allow(lifted.cluster.bootstrap_servers, rights[:-1])
        assert {each.partition(" for ")[0] for each in missing(lifted)} == {"ALTER on CLUSTER kafka-cluster"}
        allow(lifted.cluster.bootstrap_servers, rights)
        ended = lifted.lift("run")
        assert ended.status == 0, ended
        assert lifted.status()["level"] == "3.9-IV0"
        assert tuple(dict.fromkeys(hook for hook, _ in lifted.hooks.done if "falkirk" in hook)) == (
            "start_falkirk",
            "stop_falkirk",
        )
        lifted.check_voters()
    lifted.cluster.stop()
    lifted.check_no_trace()
