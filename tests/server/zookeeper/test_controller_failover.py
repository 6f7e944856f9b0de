"""A controller that dies, or hangs, before, during and after a write; and answers of ZooKeeper that are lost."""

import json

import pytest
from zookeeper_cluster import live_cluster, run
from zookeeper_link import zookeeper_link
from zookeeper_processes import broker_processes, until
from zookeeper_server import kazoo_client

from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import ClientConfig
from falkirk.client.feature_update import FeatureUpdate
from falkirk.protocol.upgrade_type import UpgradeType

pytestmark = pytest.mark.zookeeper

FEATURES = {"falkirk_supported_features": "a:1-9"}


@pytest.mark.parametrize("is_done", [True, False])
def test_a_write_whose_answer_is_lost_is_found_out_and_answered(zookeeper, chroot, is_done):
    async def story():
        async with zookeeper_link(zookeeper.address) as link:
            name = chroot.partition("/")[2]
            async with live_cluster(f"{link.address}/{name}", **FEATURES) as cluster:
                await cluster.start(1, 2)
                await cluster.until_epoch(0)
                link.cut("/features", is_done=is_done)
                assert await cluster.update(a=-4) == {"a": None}
                assert "state=suspended" in cluster.controller.log.getvalue()
                await cluster.until_epoch(1)
                assert {node.levels["a"] for node in cluster.nodes.values()} == {(1, 4)}
                _, stat = await cluster.by_hand(lambda client: client.get("/features"))
                assert stat.version == 1

    run(story)


async def update(brokers, level):
    """Ask those that live, as a client does that knows all of them."""
    servers = [broker.endpoint for broker in brokers]
    async with AsyncAdmin(servers, ClientConfig(request_timeout_ms=10_000)) as admin:
        result = await admin.update_features({"a": FeatureUpdate(level, UpgradeType.SAFE_DOWNGRADE)}, timeout_ms=60_000)
    result.all()


async def until_all_tell(brokers, *, epoch, level):
    for broker in brokers:

        async def tells(broker=broker):
            features = await broker.features()
            assert (features.finalized_features_epoch or 0) <= epoch
            return features.finalized_features_epoch == epoch

        await until(tells)
        assert (await broker.features()).finalized_features["a"].max_version_level == level


async def until_controller(broker, *, other_than=None):
    found = []

    async def is_there():
        found[:] = [(await broker.cluster()).controller_id]
        return found[0] not in (None, -1, other_than)

    await until(is_there)
    return found[0]


def test_whenever_a_controller_is_killed_an_update_is_done_once(zookeeper, chroot, tmp_path):
    async def story():
        async with zookeeper_link(zookeeper.address) as link:
            connect = f"{link.address}/{chroot.partition('/')[2]}"
            settings = {**FEATURES, "zookeeper_session_timeout_ms": "2000"}
            async with broker_processes(tmp_path, connect, 4, **settings) as brokers:
                await until_all_tell(brokers.values(), epoch=0, level=9)

                async def controller():
                    return brokers.pop(await until_controller(next(iter(brokers.values()))))

                # Before: ZooKeeper has not heard of it.
                dying = await controller()
                link.cut("/features", is_done=False, then=dying.kill)
                await update([dying, *brokers.values()], 8)
                await until_all_tell(brokers.values(), epoch=1, level=8)

                # During: it is done, and nobody heard of it.
                await until_controller(next(iter(brokers.values())), other_than=dying.node_id)
                dying = await controller()
                link.cut("/features", is_done=True, then=dying.kill)
                await update([dying, *brokers.values()], 7)
                await until_all_tell(brokers.values(), epoch=2, level=7)

                # After: who was answered was told the truth.
                await until_controller(next(iter(brokers.values())), other_than=dying.node_id)
                dying = await controller()
                await update([dying, *brokers.values()], 6)
                dying.kill()
                await until_controller(next(iter(brokers.values())), other_than=dying.node_id)
                await until_all_tell(brokers.values(), epoch=3, level=6)
        with kazoo_client(chroot) as client:
            assert client.get("/controller_epoch")[0] == b"4"
            assert client.get("/features")[1].version == 3

    run(story)


def test_a_controller_that_hangs_longer_than_its_session_lasts_is_not_it_any_more(chroot, tmp_path):
    async def story():
        settings = {**FEATURES, "zookeeper_session_timeout_ms": "2000"}
        async with broker_processes(tmp_path, chroot, 2, "--kip-778", **settings) as brokers:
            await until_all_tell(brokers.values(), epoch=0, level=9)
            hanging = brokers[await until_controller(brokers[1])]
            (other,) = (broker for broker in brokers.values() if broker is not hanging)
            hanging.pause()
            assert await until_controller(other, other_than=hanging.node_id) == other.node_id
            await update([other], 5)
            hanging.resume()
            await until_all_tell(brokers.values(), epoch=1, level=5)

            async def are_both_there():
                found = await hanging.cluster()
                return {node.node_id for node in found.nodes} == {1, 2} and found.controller_id == other.node_id

            await until(are_both_there)
            assert hanging.process.returncode is None
        with kazoo_client(chroot) as client:
            features = json.loads(client.get("/features")[0])
        assert (features["version"], features["features"]["a"]) == (2, {"max_version_level": 5})
        assert '"state":"expired"' in (tmp_path / f"{hanging.node_id}.log").read_text()

    run(story)
