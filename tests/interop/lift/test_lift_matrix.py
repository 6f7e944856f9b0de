"""`falkirk lift run` from release to release of real Kafka, under transactions, groups and metadata writes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from falkirk_program import falkirk
from kafka_cluster import COMBINED, Clusters, KafkaCluster
from kafka_node import BROKER, CONTROLLER
from lifted_cluster import SESSIONS, under_load
from node_hooks import IN_PLACE
from operator_load import PROTOCOLS
from waiting import becomes

pytestmark = [pytest.mark.interop, pytest.mark.full]
THREE = dict.fromkeys((1, 2, 3), COMBINED)
SEPARATE = {1: (CONTROLLER,), 2: (CONTROLLER,), 3: (CONTROLLER,), 11: (BROKER,), 12: (BROKER,)}
LIMITS = {"step_s": 100, "metadata_outage_s": 60}
# Kafka's own, where a test's nodes have shorter ones or others.
DEFAULT_TIMEOUTS = {
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "2000",
    "group.initial.rebalance.delay.ms": "3000",
    "group.consumer.session.timeout.ms": "45000",
    "group.consumer.min.session.timeout.ms": "45000",
    "group.consumer.max.session.timeout.ms": "60000",
    "group.consumer.heartbeat.interval.ms": "5000",
    "group.consumer.min.heartbeat.interval.ms": "5000",
    "group.consumer.max.heartbeat.interval.ms": "15000",
}


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A cluster of `release`, and where it goes; `fields`: of the lift's file.

    `of_controllers`: settings that brokers refuse; `protocols`: of the consumers. `rolls_up`: how often each node
    restarts as it was before.
    """

    release: str = "4.3.1"
    target: str = "3.9"
    binaries: str = "3.9.1"
    roles: Mapping[int, tuple[str, ...]] = field(default_factory=lambda: THREE)
    dynamic: bool = True
    log_dirs: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    of_controllers: Mapping[str, str] = field(default_factory=dict)
    protocols: tuple[str, ...] = PROTOCOLS
    rolls_up: int = 1
    fields: Mapping[str, object] = field(default_factory=dict)

    def made(self, clusters: Clusters) -> KafkaCluster:
        """Return the cluster, running."""
        settings = {**SESSIONS, **self.settings}
        cluster = clusters.new(
            self.release, self.roles, dynamic=self.dynamic, log_dirs=self.log_dirs, settings=settings
        )
        for node in cluster.nodes.values():
            if CONTROLLER in node.layout.roles:
                node.settings |= self.of_controllers
        cluster.format()
        cluster.start()
        return cluster


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(Pair(log_dirs=2), id="combined-431-391-jbod"),
        pytest.param(Pair(target="4.0", binaries="4.0.0"), id="combined-431-400"),
        # Brokers and former voters of 4.0.0 observe falkirk's controller.
        pytest.param(Pair(release="4.0.0", roles=SEPARATE), id="separate-400-391"),
        pytest.param(Pair(release="4.4.0", target="4.3", binaries="4.3.1"), id="combined-440-431"),
        # Brokers of 3.9.1 observe falkirk's controllers.
        pytest.param(
            Pair(
                release="3.9.1",
                target="3.7",
                binaries="3.7.2",
                roles=SEPARATE,
                dynamic=False,
                protocols=("classic",),
                fields={"place": "in-place"},
            ),
            id="separate-static-391-372",
        ),
        pytest.param(
            # To a controller of 3.7 a broker does not name features that may be at level 0 (KAFKA-17492).
            Pair(target="3.7", binaries="3.7.2", dynamic=False, fields={"place": "in-place-of-one"}, rolls_up=2),
            id="combined-static-431-372",
        ),
        pytest.param(Pair(roles=SEPARATE, settings=DEFAULT_TIMEOUTS), id="separate-default-timeouts"),
        # Voters that are removed add themselves again, so none is.
        pytest.param(
            Pair(
                roles=SEPARATE,
                of_controllers={"controller.quorum.auto.join.enable": "true"},
                fields={"place": "in-place"},
            ),
            id="separate-auto-join",
        ),
    ],
)
def test_a_cluster_goes_down_under_load_then_its_binaries_then_it_goes_up_again(
    clusters: Clusters, tmp_path: Path, pair: Pair
) -> None:
    cluster = pair.made(clusters)
    before = {node_id: node.release for node_id, node in cluster.nodes.items()}
    fields = {"target": pair.target, "limits": LIMITS, **pair.fields}
    hooks = (*IN_PLACE, "roll")
    with under_load(
        clusters,
        tmp_path,
        pair.roles,
        made=cluster,
        hooks=hooks,
        older=pair.binaries,
        protocols=pair.protocols,
        **fields,
    ) as lifted:
        checked = lifted.check()
        ended = lifted.lift("run")
        assert ended.status == 0, ended
        assert lifted.status()["level"] == checked["to"]["name"]
        assert {node.release for node in cluster.nodes.values()} == {pair.binaries}
        lifted.check_voters()
        lifted.loads.await_rounds(1)
        # Nothing that a lift leaves behind keeps real Kafka from its own way up.
        for _ in range(pair.rolls_up):
            lifted.roll(before)
        words = ["--bootstrap-server", cluster.bootstrap_servers, "--release-version", checked["from"]["name"]]
        upgraded = falkirk("features", "upgrade", *words)
        assert upgraded.status == 0, upgraded
        becomes(lambda: lifted.status()["level"], checked["from"]["name"])
    cluster.stop()
    lifted.check_no_trace()
