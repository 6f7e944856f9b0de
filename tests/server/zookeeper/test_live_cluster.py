"""Brokers of ours on a real ZooKeeper: the first start, updates, who may not be there, and what stands in znodes."""

import asyncio
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest
from tls_files import Authority, having
from zookeeper_cluster import live_cluster, run
from zookeeper_server import kazoo_client, read_only_server

from falkirk.client.config import ClientConfig
from falkirk.node.effects import Stop
from falkirk.protocol.error_codes import ErrorCode

pytestmark = pytest.mark.zookeeper

FEATURES = {"falkirk_supported_features": "a:1-3,b:2-5"}


def test_a_new_cluster_finalizes_all_that_it_supports_and_every_broker_tells_each_change(chroot):
    async def story():
        # The last name of the chroot is not there yet.
        async with live_cluster(f"{chroot}/kafka", **FEATURES) as cluster:
            await cluster.start(1, 2, 3)
            await cluster.until_epoch(0)
            assert all(
                node.levels == {"a": (1, 3), "b": (2, 5), "ibp-feature": (1, 27)} for node in cluster.nodes.values()
            )

            assert await cluster.update(a=-2, b=-4) == {"a": None, "b": None}
            # The controller knew it before it answered; the others hear of it.
            assert cluster.controller.epoch == 1
            await cluster.until_epoch(1)
            for node_id in cluster.nodes:
                told = await cluster.reported_by(node_id)
                assert told.finalized_features_epoch == 1
                levels = {
                    name: (found.min_version_level, found.max_version_level)
                    for name, found in told.finalized_features.items()
                }
                assert levels == {"a": (1, 2), "b": (2, 4), "ibp-feature": (1, 27)}
                supported = {
                    name: (found.min_version, found.max_version) for name, found in told.supported_features.items()
                }
                assert supported == {"a": (1, 3), "b": (2, 5), "ibp-feature": (1, 27)}

            refused = await cluster.update(a=3, b=4, c=1)
            assert {name: failure and failure[0] for name, failure in refused.items()} == {
                "a": None,
                "b": ErrorCode.INVALID_REQUEST,
                "c": ErrorCode.FEATURE_UPDATE_FAILED,
            }
            assert await cluster.update(b=0) == {"b": None}
            # One that has dropped level 1 of a: it is deprecated at once.
            await cluster.start(4, falkirk_supported_features="a:2-3,b:1-6")
            await cluster.until_epoch(4)
            data, stat = await cluster.by_hand(lambda client: client.get("/features"))
            assert stat.version == 4
            assert json.loads(data) == {
                "version": 1,
                "status": 1,
                "features": {
                    "a": {"min_version_level": 2, "max_version_level": 3},
                    "ibp-feature": {"min_version_level": 1, "max_version_level": 27},
                },
            }

    run(story)


def test_a_broker_that_cannot_run_with_what_is_finalized_ends_with_one_line(chroot, tmp_path):
    file = tmp_path / "server.properties"
    properties = {
        "broker.id": "2",
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "zookeeper.connect": chroot,
        "falkirk.supported.features": "a:1-2,b:2-5",
    }
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))

    async def story():
        async with live_cluster(chroot, **FEATURES) as cluster:
            await cluster.start(1)
            await cluster.until_epoch(0)
            process = await asyncio.create_subprocess_exec(
                *(Path(sys.executable).with_name("falkirk"), "serve", file, "--log-level", "error"),
                stderr=asyncio.subprocess.PIPE,
            )
            _, said = await process.communicate()
            assert process.returncode == 1
            assert said.decode() == _incompatible(2, epoch=0, finalized=3, supported="1-2") + "\n"
            assert list(cluster.nodes[1].node.membership.brokers.brokers) == [1]

            # The same on a change, here by somebody who passes the controller over.
            await cluster.start(3, falkirk_supported_features="a:1-9,b:2-5")
            raised = {"a": {"min_version_level": 1, "max_version_level": 9}}
            znode = json.dumps({"version": 1, "status": 1, "features": raised}).encode()
            await cluster.by_hand(lambda client: client.set("/features", znode))
            ended = await cluster.nodes[1].ended()
            assert ended == Stop(1, _incompatible(1, epoch=1, finalized=9, supported="1-3"))
            await cluster.until(lambda: cluster.controller is cluster.nodes[3])
            assert cluster.nodes[3].levels == {"a": (1, 9)}

    run(story)


def _incompatible(broker_id, *, epoch, finalized, supported):
    return (
        f"broker {broker_id} cannot run with what is finalized in /features, epoch {epoch}: a is finalized at level "
        f"{finalized}, and only {supported} is supported"
    )


def test_what_cannot_be_meant_in_the_znode_of_features_stays_as_it_is(chroot):
    async def story():
        async with live_cluster(chroot, **FEATURES) as cluster:
            await cluster.start(1, 2)
            await cluster.until_epoch(0)
            before = cluster.nodes[1].levels
            good, _ = await cluster.by_hand(lambda client: client.get("/features"))
            await cluster.by_hand(lambda client: client.set("/features", b'{"version": 1, "status"'))
            await cluster.until(
                lambda: all("features-unreadable" in node.log.getvalue() for node in cluster.nodes.values())
            )
            assert [node.levels for node in cluster.nodes.values()] == [before, before]
            ((code, message),) = (await cluster.update(a=-2)).values()
            assert code == ErrorCode.FEATURE_UPDATE_FAILED
            assert "znode /features: " in message

            late = cluster.begin(3)
            stop = await late.ended()
            assert stop.exit_code == 1
            assert stop.reason.startswith("znode /features: ")
            assert "\n" not in stop.reason
            data, stat = await cluster.by_hand(lambda client: client.get("/features"))
            assert (data, stat.version) == (b'{"version": 1, "status"', 1)

            await cluster.by_hand(lambda client: client.set("/features", good))
            await cluster.until_epoch(2)
            assert await cluster.update(a=-2) == {"a": None}

    run(story)


def test_of_two_brokers_with_one_id_the_second_waits_for_a_session_and_ends(chroot):
    async def story():
        async with live_cluster(chroot, **FEATURES) as cluster:
            await cluster.start(1)
            first = cluster.nodes[1]
            second = cluster.begin(1, zookeeper_session_timeout_ms="1000")
            stop = await second.ended()
            assert stop.exit_code == 1
            assert stop.reason == (
                "znode /brokers/ids/1: broker 1 is registered by another session "
                f"(0x{first.client_id[0]:x}), which has not gone within 1000 ms: there may be two brokers with one "
                "broker.id"
            )
            assert first.stop is None
            assert first.node.is_active_controller
            await first.end()

            # What a broker leaves behind that was killed goes when its session ends.
            with ExitStack() as stack:
                left = await asyncio.to_thread(stack.enter_context, kazoo_client(chroot))
                await asyncio.to_thread(left.create, "/brokers/ids/1", b"{}", ephemeral=True)
                third = cluster.begin(1)
                await cluster.until(lambda: "waits-for-earlier-registration" in third.log.getvalue())
                await asyncio.to_thread(stack.close)
                await cluster.until(lambda: cluster.has_joined(1))

    run(story)


def test_a_server_that_is_not_there_or_takes_no_writes_is_named_in_one_line(tmp_path):
    async def story():
        async with live_cluster("127.0.0.1:9", zookeeper_connection_timeout_ms="500") as cluster:
            assert await cluster.begin(1).ended() == Stop(
                1, "zookeeper.connect=127.0.0.1:9: no connection could be made, for 500 ms"
            )
            with ExitStack() as stack:
                server = await asyncio.to_thread(stack.enter_context, read_only_server(tmp_path))
                cluster.connect = server.address
                assert await cluster.begin(1, zookeeper_connection_timeout_ms="3000").ended() == Stop(
                    1,
                    f"zookeeper.connect={server.address}: the server that was reached is read-only, cut off from the "
                    "others of its ensemble, for 3000 ms",
                )

    run(story)


def test_a_broker_tells_its_metrics(chroot):
    async def story():
        async with live_cluster(chroot, **FEATURES, falkirk_metrics_listener="127.0.0.1:0") as cluster:
            await cluster.start(1)
            await cluster.until_epoch(0)
            address = cluster.nodes[1].config.metrics_listener
            answer = await asyncio.to_thread(urlopen, f"http://{address}/metrics")
            lines = answer.read().decode().splitlines()
        assert "kafka_controller_kafkacontroller_activecontrollercount 1.0" in lines
        assert 'kafka_server_metadataloader_finalizedlevel{featureName="a"} 3.0' in lines

    run(story)


def test_a_broker_behind_tls_knows_who_asks_and_who_may(chroot):
    authority = Authority()
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    secured = {
        "listeners": "SASL_SSL://127.0.0.1:0",
        "security.inter.broker.protocol": "SASL_SSL",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": (
            f'{module} username="root" password="s" user_root="s" user_guest="s";'
        ),
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:root",
        **having(authority.issue()),
    }

    def asking_as(user):
        login = {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f'{module} username="{user}" password="s";'}
        return ClientConfig.from_properties({"security.protocol": "SASL_SSL", **login, **authority.trusting()})

    async def story():
        async with live_cluster(chroot, **FEATURES) as cluster:
            await cluster.start(1, properties=secured)
            await cluster.until_epoch(0)
            cluster.client = asking_as("guest")
            ((code, _),) = (await cluster.update(a=-2)).values()
            assert code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            cluster.client = asking_as("root")
            assert await cluster.update(a=-2) == {"a": None}

    run(story)
