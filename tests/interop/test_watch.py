"""A watch beside real Kafka 4.3.1, on which an operator does what cannot be taken down again.

After each step the watch's losses are those that `falkirk lift check` finds by reading everything anew.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from falkirk_program import falkirk
from kafka_cluster import Clusters, KafkaCluster
from kafka_java import seed
from kafka_tools import CONFIGS, TOPICS, outputs

from falkirk.metadata.losses.loss import UNKNOWN_CONFIG, UNKNOWN_TAG
from falkirk.metadata.losses.loss_catalogue import CATALOGUE
from falkirk.watch.core.findings import EventKind, Findings, WatchEvent
from falkirk.watch.journal import Journal
from falkirk.watch.watch import Watch
from falkirk.watch.watch_file import Alarms, WatchedCluster, WatchFile

pytestmark = pytest.mark.interop
_RELEASES = ("3.7", "3.9", "4.0", "4.2")
_CLOSED_WITHIN_MS = 5000
_BEFORE_40 = ["3.7", "3.8", "3.9"]
# What no command on a 4.3.1 cluster brings about.
_NOT_PLAYED = {
    **dict.fromkeys(("migrating_zk_broker", "zk_migration_state"), "4.x does not migrate from ZooKeeper"),
    **dict.fromkeys(("scram_credential", "delegation_token", "controller_registration"), "3.7 has them, too"),
    **dict.fromkeys(("client_metrics_config", "remote_storage_topic", "in_controlled_shutdown"), "3.7 has them, too"),
    **dict.fromkeys(("broker_log_dirs", "directory_assignment"), "3.7 has them, too"),
    **dict.fromkeys(("cidr_allow_acl", "cidr_deny_acl"), "4.4 is the first to have them"),
    **dict.fromkeys(("last_known_leader_to_isr", "partition_without_replica"), "needs a broker that has lost its disk"),
    UNKNOWN_TAG: "no release writes one",
}
_STEP_S = 120


class Watched:
    """The cluster, the watch beside it, and what the watch has said."""

    def __init__(self, cluster: KafkaCluster, watch: Watch) -> None:
        self.cluster = cluster
        self.watch = watch
        self.events: list[tuple[float, WatchEvent]] = []
        # The kinds of all losses that were there.
        self.kinds: set[str] = set()

    async def note_events(self) -> None:
        async for event in self.watch.events():
            self.events.append((time.time() * 1000, event))

    async def until(self, condition: Callable[[Findings], bool]) -> Findings:
        """Return the first findings that are fresh and fulfil a condition."""
        async with asyncio.timeout(_STEP_S):
            async for findings in self.watch.findings():
                self.kinds |= {loss.kind for loss in findings.losses}
                if findings.is_fresh and condition(findings):
                    return findings
        raise AssertionError

    async def step(self, work: Callable[[], object], kind: str, *, comes: bool = True) -> list[str]:
        """Do a step after which a kind of loss is there, or gone; return the releases whose ways changed."""
        del self.events[:]
        await asyncio.to_thread(work)
        await self.until(lambda found: any(kind in {**way.losses, **way.inaccessible} for way in found.ways) is comes)
        await self.agrees_with_check()
        wanted = EventKind.WAY_CLOSED if comes else EventKind.WAY_OPENED
        noted = [(at_ms, event) for at_ms, event in self.events if event.kind is wanted]
        late = {event.text: at_ms - event.at_ms for at_ms, event in noted if at_ms - event.at_ms > _CLOSED_WITHIN_MS}
        assert late == {}
        return [event.release or "" for _, event in noted]

    async def agrees_with_check(self) -> None:
        """Compare the losses with those of `lift check`, which reads all anew."""
        servers = self.cluster.running_servers
        for release in _RELEASES:
            words = ("lift", "check", "--bootstrap-server", servers, "--to", release, "--json")
            document = (await asyncio.to_thread(falkirk, *words)).document
            ledger = document["ledger"]
            checked = sorted((loss["kind"], loss["key"]) for loss in (*ledger["losses"], *ledger["inaccessible"]))
            found = await self.until(lambda _: True)
            watched = sorted((loss.kind, loss.key) for loss in found.losses if release in loss.releases)
            assert watched == checked, release


def test_each_step_that_loses_something_closes_the_right_ways_within_seconds(
    clusters: Clusters, tmp_path: Path
) -> None:
    roles: dict[int, tuple[str, ...]] = {1: ("controller",), 11: ("broker",), 12: ("broker",)}
    cluster = clusters.new("4.3.1", roles, log_dirs=2, dynamic=True)
    cluster.format()
    cluster.start()
    servers = ["--bootstrap-server", cluster.bootstrap_servers]
    two_replicas = ["--partitions", "3", "--replication-factor", "2", "--config", "min.insync.replicas=2"]
    single = ["--replica-assignment", "12", "--config", "min.insync.replicas=1"]
    outputs(
        [TOPICS, *servers, "--create", "--topic", "orders", *two_replicas],
        [TOPICS, *servers, "--create", "--topic", "single", *single],
    )
    watched = WatchedCluster(name="real", bootstrap_servers=cluster.bootstrap_servers.split(","))
    file = WatchFile(clusters=[watched], alarms=Alarms(log=False), journal="journal.sqlite")
    steps, kinds = asyncio.run(_play(cluster, file, tmp_path))

    # What stays and has no effect closes no way.
    assert steps["config of a topic"] == steps["topic without it"] == []
    assert steps["config of a group"] == steps["group without it"] == []
    assert steps["cordon"] == ["3.7", "3.8", "3.9", "4.0", "4.1", "4.2"]
    assert steps["uncordon"] == steps["cordon"]
    assert set(_BEFORE_40) <= set(steps["elr"])
    assert steps["in sync"] == steps["elr"]
    assert set(_BEFORE_40) <= set(steps["share groups"])
    of_catalogue = {rule.kind for rule in CATALOGUE} | {UNKNOWN_CONFIG}
    assert of_catalogue - set(_NOT_PLAYED) <= kinds
    assert {"share_group", "group_record"} <= kinds
    with Journal(tmp_path / "journal.sqlite") as journal:
        keys = [event.key for _, event in journal.events()]
    assert len(set(keys)) == len(keys) >= 2 * len(steps["cordon"]) + 2 * len(steps["elr"])


async def _play(cluster: KafkaCluster, file: WatchFile, folder: Path) -> tuple[dict[str, list[str]], set[str]]:
    """Return the ways that each step closed or opened, and the kinds of all losses that were there."""
    [broker] = [layout for layout in cluster.layouts if layout.node_id == 11]
    configs = [CONFIGS, "--bootstrap-server", cluster.bootstrap_servers, "--alter"]
    of_broker = ["--entity-type", "brokers", "--entity-name", "11"]
    cordon = [*configs, *of_broker, "--add-config", f"cordoned.log.dirs={broker.log_dirs[1]}"]
    uncordon = [*configs, *of_broker, "--delete-config", "cordoned.log.dirs"]
    of_topic = [*configs, "--entity-type", "topics", "--entity-name", "orders"]
    of_group = [*configs, "--entity-type", "groups", "--entity-name", "billing"]
    add_to_topic = [*of_topic, "--add-config", "compression.gzip.level=5"]
    add_to_group = [*of_group, "--add-config", "consumer.session.timeout.ms=50000"]
    steps = {}
    async with Watch(file, folder) as watch:
        play = Watched(cluster, watch)
        noting = asyncio.create_task(play.note_events())
        first = await play.until(lambda found: len(found.ways) > 1)
        assert first.metadata_version == "4.3-IV0"
        await play.agrees_with_check()
        steps["cordon"] = await play.step(lambda: outputs(cordon), "cordoned_log_dirs")
        steps["uncordon"] = await play.step(lambda: outputs(uncordon), "cordoned_log_dirs", comes=False)
        topic_config, group_config = "unknown_config", "group_config"
        steps["config of a topic"] = await play.step(lambda: outputs(add_to_topic), topic_config)
        away = [*of_topic, "--delete-config", "compression.gzip.level"]
        steps["topic without it"] = await play.step(lambda: outputs(away), topic_config, comes=False)
        steps["config of a group"] = await play.step(lambda: outputs(add_to_group), group_config)
        gone = [*of_group, "--delete-config", "consumer.session.timeout.ms"]
        steps["group without it"] = await play.step(lambda: outputs(gone), group_config, comes=False)
        steps["elr"] = await play.step(cluster.nodes[12].stop, "eligible_leader_replicas")
        restart = cluster.nodes[12].start
        steps["in sync"] = await play.step(restart, "eligible_leader_replicas", comes=False)
        share = ("--steps", "topics,data,share-groups")
        steps["share groups"] = await play.step(lambda: seed(cluster.running_servers, *share), "share_group")
        # The ways that this closes are closed by the share groups already.
        await play.step(lambda: seed(cluster.running_servers, "--steps", "streams-groups"), "group_record")
        noting.cancel()
    return steps, play.kinds
