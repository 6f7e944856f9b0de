"""KIP-584's use case as it was written, for exactly-once: an application goes from task producers to KIP-447's.

T0: the cluster and the application are old. T1, T2: the brokers are rolled, nothing changes for the application.
T3: the operator finalizes transaction.version 2. T3-4: the leader hears of it. T5: all workers have one producer each.
At each step everything that was fed has been processed exactly once, and in order.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from falkirk_node import FalkirkNode, OurCluster
from held_link import HeldLink
from kafka_cluster import COMBINED, Clusters, KafkaCluster
from kafka_node import BROKER, KafkaNode, NodeLayout, Quorum
from processing_application import PARTITIONS, ProcessingApplication, processing_application
from processing_program import BEFORE_COMMIT, BEFORE_OFFSETS, FEATURE, GROUP, THREAD_LEVEL
from socket_asker import SocketAsker
from topic_state import await_in_sync
from waiting import becomes

from falkirk.client.blocking_admin import Admin
from falkirk.client.config import ClientConfig
from falkirk.client.feature_update import FeatureUpdate
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import InitProducerIdRequest
from falkirk.protocol.upgrade_type import UpgradeType

pytestmark = pytest.mark.interop
OLD, NEW = "3.9.1", "4.3.1"
WORKERS = 3
FRESH, STALE = 1, 2
SETTINGS = {
    # A broker that the controller does not hear is not fenced for it.
    "broker.session.timeout.ms": "600000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


class MixedCluster(KafkaCluster):
    """The controller and first broker are ours, the second broker is a real one."""

    def _node(self, layout: NodeLayout, quorum: Quorum, home: Path, settings: dict[str, str]) -> KafkaNode:
        kind = FalkirkNode if layout.node_id == FRESH else KafkaNode
        return kind(self.release, layout, quorum, home=home, settings=settings)


KINDS = {"falkirk": OurCluster, "both": MixedCluster}


@pytest.fixture
def link() -> Iterator[HeldLink]:
    with HeldLink() as made:
        yield made


def started(whose: str, link: HeldLink, clusters: Clusters, folder: Path) -> KafkaCluster:
    """Two brokers, the second of which reaches the controller through the link."""
    roles = {FRESH: COMBINED, STALE: (BROKER,)}
    made = KINDS[whose].new(OLD, folder / "cluster", roles, settings=SETTINGS)
    clusters.adopt(made)
    controller = made.nodes[FRESH].layout
    link.set_target(controller.controller_port)
    listeners = {"PLAINTEXT": controller.broker_port, "SCRAM": controller.scram_port, "CONTROLLER": link.port}
    made.nodes[FRESH].settings["advertised.listeners"] = ",".join(
        f"{name}://127.0.0.1:{port}" for name, port in listeners.items()
    )
    made.nodes[STALE].settings["controller.quorum.voters"] = f"{FRESH}@127.0.0.1:{link.port}"
    made.format()
    made.start()
    return made


def finalized(server: str) -> int:
    """Return the level of the feature that a broker tells."""
    host, _, port = server.rpartition(":")
    with Admin([Endpoint(host, int(port))], ClientConfig()) as admin:
        levels = admin.describe_features().finalized_features.get(FEATURE)
    return 0 if levels is None else levels.max_version_level


def finalize(cluster: KafkaCluster, level: int, kind: UpgradeType = UpgradeType.UPGRADE) -> None:
    """Finalize a level at the controller, and wait until the broker beside it knows."""
    layout = cluster.nodes[FRESH].layout
    controller = Endpoint("127.0.0.1", layout.controller_port)
    with Admin([controller], ClientConfig()) as admin:
        assert admin.update_features({FEATURE: FeatureUpdate(level, kind)}).values == {FEATURE: None}
    becomes(lambda: finalized(f"127.0.0.1:{layout.broker_port}"), level)


def producer_id_error(port: int) -> int:
    """Let a broker give a producer id: then it has a block of them, and needs no controller for the next ones."""
    asker = SocketAsker(port)
    try:
        return asker.ask(InitProducerIdRequest(None, 60_000), 4).error_code
    finally:
        asker.close()


class Play:
    """The steps. After each one everything that was fed is processed once; `counts`: how much that was."""

    def __init__(self, cluster: KafkaCluster, link: HeldLink, application: ProcessingApplication) -> None:
        self.cluster = cluster
        self.link = link
        self.application = application
        self.fresh, self.stale = (f"127.0.0.1:{cluster.nodes[each].layout.broker_port}" for each in (FRESH, STALE))
        self.counts: list[int] = []

    def check(self, *levels: int) -> None:
        """The members run at these levels, and everything is processed once."""
        self.counts.append(self.application.check())
        assert set(self.application.levels) == set(levels)

    def roll(self) -> None:
        """T1, T2: each broker is started as the new release, and nothing changes for the application."""
        ports = [layout.broker_port for layout in self.cluster.layouts]
        for node in self.cluster.nodes.values():
            await_in_sync(ports, self.cluster.nodes)
            node.run_as(NEW)
        await_in_sync(ports, self.cluster.nodes)
        for port in ports:
            becomes(partial(producer_id_error, port), ErrorCode.NONE)
        assert (finalized(self.fresh), finalized(self.stale)) == (0, 0)
        self.application.settle()
        self.application.await_questions(self.stale)
        self.check(0)

    def finalize_unheard(self) -> None:
        """T3: the level is finalized. The leader asks a broker that has not heard of it: nothing happens."""
        self.link.hold()
        self.application.ask_of(self.stale)
        finalize(self.cluster, THREAD_LEVEL)
        assert finalized(self.stale) == 0
        self.application.await_questions(self.stale)
        self.check(0)

    def switch(self) -> None:
        """T3-4: the leader asks a broker that knows. T5: the next generation has producers of the new kind.

        A worker stands still meanwhile, and has everything of a task's transaction but the commit: it is too late.
        """
        application = self.application
        application.settle()
        late, before = self._other(), application.generation
        application.stop_within(late, BEFORE_COMMIT)
        application.ask_of(self.fresh)
        application.settle(after=before, workers=WORKERS - 1)
        self.check(THREAD_LEVEL)
        between = application.generation
        assert application.go_on(late)["error"] in {"ProducerFencedError", "InvalidProducerEpochError"}
        application.ask_of(self.stale)
        application.settle(after=between)
        application.await_questions(self.stale)
        self.check(THREAD_LEVEL)

    def change_leaders(self) -> None:
        """The leader is killed; who leads next asks the stale broker alone."""
        self.application.settle()
        before = self.application.generation
        self.application.kill(self.application.leader)
        self.application.settle(after=before)
        self.application.await_questions(self.stale)
        self.check(THREAD_LEVEL)

    def fence_by_generation(self) -> None:
        """A zombie of the new kind is fenced by the generation that it sends with its offsets."""
        application = self.application
        application.settle()
        zombie, before = self._other(), application.generation
        application.stop_within(zombie, BEFORE_OFFSETS)
        application.settle(after=before, workers=WORKERS - 1)
        between = application.generation
        assert application.go_on(zombie)["error"] == "CommitFailedError"
        application.settle(after=between)
        self.check(THREAD_LEVEL)

    def take_down(self) -> None:
        """The level is lowered under the application, and all brokers say so: it stays."""
        self.link.release()
        becomes(lambda: finalized(self.stale), THREAD_LEVEL)
        finalize(self.cluster, 0, UpgradeType.UNSAFE_DOWNGRADE)
        self.application.ask_of(self.fresh)
        self.application.await_questions(self.fresh)
        self.check(THREAD_LEVEL)

    def _other(self) -> str:
        return next(name for name in self.application.members() if name != self.application.leader)


@pytest.mark.parametrize("whose", ["falkirk", pytest.param("both", marks=pytest.mark.full)])
def test_an_application_goes_to_one_producer_for_a_thread_and_processes_everything_once(
    whose: str, link: HeldLink, clusters: Clusters, tmp_path: Path
) -> None:
    cluster = started(whose, link, clusters, tmp_path)
    folder = tmp_path / "workers"
    with processing_application(
        cluster.bootstrap_servers, folder, workers=WORKERS, replication_factor=2
    ) as application:
        play = Play(cluster, link, application)
        application.settle()
        play.check(0)
        play.roll()
        play.finalize_unheard()
        play.switch()
        play.change_leaders()
        play.fence_by_generation()
        play.take_down()
        committed = application.events("committed")
        runs = {(each["generation"], each["level"]) for each in application.events("assigned")}
    assert play.counts == sorted(set(play.counts)), "each step has processed more"
    tasks = {f"{GROUP}-{number}" for number in range(PARTITIONS)}
    threads = {f"{GROUP}-thread-{number}" for number in range(WORKERS)}
    assert {(each["producer"] in tasks, each["level"]) for each in committed} == {(True, 0), (False, THREAD_LEVEL)}
    assert {each["producer"] for each in committed} == tasks | threads
    last_old = max(generation for generation, level in runs if level == 0)
    assert min(generation for generation, level in runs if level == THREAD_LEVEL) > last_old, sorted(runs)
