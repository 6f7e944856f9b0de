"""Brokers of ours while ZooKeeper hangs, dies and comes back, and while their sessions end."""

import asyncio

import pytest
from zookeeper_cluster import live_cluster, run

from falkirk.protocol.error_codes import ErrorCode
from falkirk.zookeeper_node.session.exchange import SessionState

pytestmark = pytest.mark.zookeeper

FEATURES = {"falkirk_supported_features": "a:1-5"}


async def epoch_of_controllers(cluster):
    data, _ = await cluster.by_hand(lambda client: client.get("/controller_epoch"))
    return int(data)


async def has_new_session(cluster, node, before):
    await cluster.until(lambda: node.node.membership.session.session_id not in (0, before))
    await cluster.until(lambda: cluster.has_joined(1, 2, 3) and node.node.membership.is_registered)


def have_sessions_that_are(cluster, state):
    return all(node.node.membership.session.state is state for node in cluster.nodes.values())


def test_a_broker_whose_session_ends_registers_again_and_a_controller_is_not_it_any_more(chroot):
    async def story():
        async with live_cluster(chroot, **FEATURES) as cluster:
            await cluster.start(1, 2, 3)
            await cluster.until_epoch(0)
            controller = cluster.controller
            other = next(node for node in cluster.nodes.values() if node is not controller)
            for epoch, expired in ((1, other), (2, controller)):
                before = expired.client_id[0]
                await cluster.expire(expired)
                await has_new_session(cluster, expired, before)
                assert await epoch_of_controllers(cluster) == epoch
                assert [node.stop for node in cluster.nodes.values()] == [None] * 3
            assert await cluster.update(a=-4) == {"a": None}
            await cluster.until_epoch(1)

    run(story)


def test_a_zookeeper_that_hangs_dies_and_comes_back_leaves_all_as_it_was(zookeeper, chroot):
    async def story():
        async with live_cluster(chroot, **FEATURES, zookeeper_session_timeout_ms="20000") as cluster:
            await cluster.start(1, 2, 3)
            await cluster.until_epoch(0)
            sessions = {node_id: node.client_id[0] for node_id, node in cluster.nodes.items()}
            zookeeper.pause()
            try:
                # The controller looks at the znode before it decides.
                (refused,) = (await cluster.update(1_000, a=-3)).values()
                assert refused == (
                    ErrorCode.REQUEST_TIMED_OUT,
                    "The update was not decided in time; it will not be applied.",
                )
            finally:
                zookeeper.kill()
            await cluster.until(lambda: have_sessions_that_are(cluster, SessionState.SUSPENDED))
            # Clients are told what was true.
            assert (await cluster.reported_by(2)).finalized_features_epoch == 0
            await asyncio.to_thread(zookeeper.start)
            await cluster.until(lambda: have_sessions_that_are(cluster, SessionState.CONNECTED))
            assert {node_id: node.client_id[0] for node_id, node in cluster.nodes.items()} == sessions
            await cluster.until(lambda: cluster.has_joined(1, 2, 3))
            assert await epoch_of_controllers(cluster) == 1

            assert cluster.controller.epoch == 0
            assert await cluster.update(a=-2) == {"a": None}
            await cluster.until_epoch(1)
            assert {node.levels["a"] for node in cluster.nodes.values()} == {(1, 2)}

    run(story)


def test_a_broker_that_comes_back_after_a_change_tells_the_change(chroot):
    async def story():
        async with live_cluster(chroot, **FEATURES) as cluster:
            await cluster.start(1, 2)
            await cluster.until_epoch(0)
            controller = cluster.controller
            other = next(node for node in cluster.nodes.values() if node is not controller)
            session = other.client_id[0]
            # Its watch goes with its connection.
            other.session._current._client._connection._socket.shutdown(2)
            # It may be back by the next step.
            await cluster.until(lambda: "zookeeper-session state=suspended" in other.log.getvalue())
            assert await cluster.update(a=-4) == {"a": None}
            await cluster.until_epoch(1)
            assert other.node.membership.session.state is SessionState.CONNECTED
            assert other.client_id[0] == session

    run(story)
