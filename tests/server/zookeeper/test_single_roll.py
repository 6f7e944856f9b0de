"""From one release to the next: the old way takes two rolls of all brokers, the feature flag one (KIP-584)."""

import pytest
from zookeeper_cluster import live_cluster, run

from falkirk.versions import inter_broker_protocol
from falkirk.versions.release import Release

pytestmark = pytest.mark.zookeeper

IBP = "inter_broker_protocol_version"


def spoken(node):
    """The protocol that counts for a broker, as it has told last, and where it has it from."""
    lines = [line for line in node.log.getvalue().splitlines() if " inter-broker-protocol " in line]
    fields = dict(field.split("=", 1) for field in lines[-1].split() if "=" in field)
    return fields["version"], fields["source"]


def check_all_know_what_is_spoken(cluster):
    """No broker may speak what another one that runs does not know."""
    for node in cluster.nodes.values():
        protocol = inter_broker_protocol.parse(spoken(node)[0])
        for other in cluster.nodes.values():
            assert protocol <= inter_broker_protocol.latest(other.node.config.release)


def test_without_the_flag_every_broker_is_restarted_twice(chroot):
    async def story():
        async with live_cluster(chroot) as cluster:
            await cluster.start(1, 2, 3, release="3.8", **{IBP: "2.5"})
            begun = cluster.times_started
            for protocol in ("2.5", "2.6"):
                for node_id in (1, 2, 3):
                    await cluster.restart(node_id, release="3.9", **{IBP: protocol})
                    check_all_know_what_is_spoken(cluster)
            assert cluster.times_started - begun == 6
            told = {spoken(node) for node in cluster.nodes.values()}
            assert told == {("2.6-IV0", "inter.broker.protocol.version")}

    run(story)


def test_with_the_flag_every_broker_is_restarted_once_and_one_update_ends_it(chroot):
    async def story():
        async with live_cluster(chroot) as cluster:
            old, new = (inter_broker_protocol.latest(Release.parse(name)) for name in ("3.8", "3.9"))
            await cluster.start(1, 2, 3, release="3.8")
            await cluster.until_epoch(0)
            begun = cluster.times_started
            for node_id in (1, 2, 3):
                await cluster.restart(node_id, release="3.9")
                await cluster.until_epoch(0)
                check_all_know_what_is_spoken(cluster)
                assert {spoken(node) for node in cluster.nodes.values()} == {(str(old), "ibp-feature")}
            level = inter_broker_protocol.feature_level(new)
            assert await cluster.update(**{"ibp-feature": level}) == {"ibp-feature": None}
            await cluster.until_epoch(1)
            assert {spoken(node) for node in cluster.nodes.values()} == {(str(new), "ibp-feature")}
            assert cluster.times_started - begun == 3

    run(story)
