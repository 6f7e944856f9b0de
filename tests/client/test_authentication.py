"""A client that says who it is, against a node of ours on a socket: TLS or not, every mechanism, and every refusal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from driver_world import Driven
from node_network import CLUSTER_ID
from sasl_clients import add_scram_user, secured
from tls_files import Authority, having

from falkirk.client.admin import AsyncAdmin, EndpointType
from falkirk.client.config import ClientConfig
from falkirk.client.errors import ClientConfigError, ClientError
from falkirk.client.tls import server_context
from falkirk.protocol.sasl.jaas_config import PLAIN_LOGIN_MODULE, SCRAM_LOGIN_MODULE
from falkirk.server.listener_tls import ListenerTls

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

AUTHORITY, OTHER = Authority(), Authority()


def properties(mechanism: str, name: str, password: str, protocol: str = "SASL_PLAINTEXT") -> dict[str, str]:
    module = PLAIN_LOGIN_MODULE if mechanism == "PLAIN" else SCRAM_LOGIN_MODULE
    return {
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{module} required username="{name}" password="{password}";',
    }


def with_node(
    story: Callable[[Driven], Awaitable[None]], *, has_tls: bool = False, max_reauth_ms: dict[str, int] | None = None
) -> None:
    """Run a story with a controller that has users of both kinds."""
    network = secured(max_reauth_ms=max_reauth_ms)
    add_scram_user(network, "carol", "carol-secret")
    context = {"CONTROLLER": server_context(having(AUTHORITY.issue()).get)} if has_tls else {}

    async def main() -> None:
        world = Driven(network.hosts[1].running, tls=ListenerTls(context))
        await world.start()
        try:
            async with asyncio.timeout(60):
                await story(world)
        finally:
            await world.stop()
            world.server.close()

    asyncio.run(main())


async def describe(world: Driven, given: dict[str, str]) -> str | None:
    async with AsyncAdmin(
        [world.endpoint], ClientConfig.from_properties(given), endpoint_type=EndpointType.CONTROLLER
    ) as admin:
        return (await admin.describe_cluster()).cluster_id


async def refusal(world: Driven, given: dict[str, str]) -> str:
    with pytest.raises(ClientError) as refused:
        await describe(world, given)
    return str(refused.value)


@pytest.mark.parametrize("who", [("PLAIN", "alice", "alice-secret"), ("SCRAM-SHA-512", "carol", "carol-secret")])
@pytest.mark.parametrize("has_tls", [False, True])
def test_a_client_is_let_in(who: tuple[str, str, str], has_tls: bool) -> None:
    given = properties(*who, "SASL_SSL" if has_tls else "SASL_PLAINTEXT") | AUTHORITY.trusting()

    async def story(world: Driven) -> None:
        assert await describe(world, given) == CLUSTER_ID

    with_node(story, has_tls=has_tls)


def test_who_is_not_let_in_is_told_why_in_one_line() -> None:
    async def story(world: Driven) -> None:
        wrong = await refusal(world, properties("PLAIN", "alice", "wrong"))
        assert wrong.endswith("authentication failed: Authentication failed: Invalid username or password")
        unknown = await refusal(world, properties("SCRAM-SHA-512", "nobody", "x"))
        assert "invalid credentials with SASL mechanism SCRAM-SHA-512" in unknown
        assert "the node closed the connection" in await refusal(world, {})

    with_node(story)


def test_what_is_wrong_with_tls_is_told_in_one_line() -> None:
    async def story(world: Driven) -> None:
        stranger = await refusal(world, properties("PLAIN", "alice", "alice-secret", "SASL_SSL") | OTHER.trusting())
        assert "no connection over TLS: the certificate is not valid: " in stranger
        assert "\n" not in stranger
        assert "127.0.0.1" in await refusal(world, properties("PLAIN", "alice", "alice-secret"))

    with_node(story, has_tls=True)


def test_a_node_that_does_not_speak_tls_is_told_apart() -> None:
    async def story(world: Driven) -> None:
        told = await refusal(world, properties("PLAIN", "a", "b", "SASL_SSL") | AUTHORITY.trusting())
        assert "no connection over TLS" in told or "cannot connect" in told

    with_node(story)


def test_a_client_connects_anew_before_its_session_ends() -> None:
    async def story(world: Driven) -> None:
        config = ClientConfig.from_properties(properties("PLAIN", "alice", "alice-secret"))
        async with AsyncAdmin([world.endpoint], config, endpoint_type=EndpointType.CONTROLLER) as admin:
            await admin.describe_cluster()
            connection = admin.connection(world.endpoint)
            first = connection._channel
            assert connection._session_end_s is not None
            connection._session_end_s = 0.0
            await admin.describe_cluster()
            assert connection._channel is not first

    with_node(story, max_reauth_ms={"PLAIN": 60_000})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"security.protocol": "TLS"}, "security.protocol is 'TLS'"),
        ({"security.protocol": "SASL_PLAINTEXT"}, "sasl.mechanism is 'GSSAPI': falkirk has PLAIN, SCRAM-SHA-256"),
        ({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}, "sasl.jaas.config is not set"),
        (properties("PLAIN", "a", "b") | {"sasl.jaas.config": "x"}, "sasl.jaas.config: Login module control flag"),
        (properties("PLAIN", "a", "b") | {"sasl.mechanism": "SCRAM-SHA-256"}, "the login module of SCRAM-SHA-256 is"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "nowhere"}, "Failed to load SSL keystore nowhere"),
    ],
)
def test_properties_that_cannot_be_are_refused_by_name(given: dict[str, str], told: str) -> None:
    with pytest.raises(ClientConfigError, match=told):
        ClientConfig.from_properties(given)
