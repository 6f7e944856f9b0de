"""TLS under a driver: who gets in, what the node is told of them, and who is shown the door."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING

import pytest
from driver_world import Driven, driven
from tls_files import Authority, having

from falkirk.client import tls
from falkirk.client.tls import client_context, server_context
from falkirk.node.config.server_properties import read_server_properties
from falkirk.node.effects import Close, Connect, Send
from falkirk.node.events import BytesReceived, ConnectionAccepted, ConnectionLost, ConnectionOpened
from falkirk.protocol.endpoint import Endpoint
from falkirk.server.connection_limits import ConnectionLimits, LimitSettings
from falkirk.server.errors import ServerError
from falkirk.server.listener_tls import ListenerTls
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.node.effects import Effect
    from falkirk.node.events import Event

AUTHORITY = Authority()
OTHER = Authority()
SERVER = having(AUTHORITY.issue()) | AUTHORITY.trusting()


def listener(*, client_auth: str = "none", clients: dict[str, str] | None = None, **server: str) -> ListenerTls:
    settings = SERVER | server
    return ListenerTls(
        {"CONTROLLER": server_context(settings.get, client_auth=client_auth)},
        {"CONTROLLER": client_context((clients or AUTHORITY.trusting()).get)},
    )


def client(settings: dict[str, str] | None = None) -> ssl.SSLContext:
    return client_context((settings or AUTHORITY.trusting()).get)


async def refused(world: Driven, context: ssl.SSLContext | None, data: bytes = b"") -> None:
    """Connect and be thrown out, at the latest when something is read."""
    with pytest.raises((ssl.SSLError, OSError, EOFError)):
        await first_answer(world, context, data)


async def first_answer(world: Driven, context: ssl.SSLContext | None, data: bytes) -> bytes:
    reader, writer = await world.connect(context)
    try:
        writer.write(data)
        return await reader.readexactly(1)
    finally:
        writer.transport.abort()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what no event of the node tells."""
    while not holds():  # noqa: ASYNC110 - nobody would set an event
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("size", [1, 100_000, 3_000_000])
def test_bytes_go_in_and_out_through_tls(size: int) -> None:
    sent = bytes(range(256)) * (size // 256) + b"end"

    async def story(world: Driven) -> None:
        reader, writer = await world.connect(client())
        assert writer.get_extra_info("ssl_object").version() == "TLSv1.3"
        writer.write(sent)
        assert await reader.readexactly(len(sent)) == sent
        writer.close()
        await world.node.until(lambda: bool(world.node.events_of(ConnectionLost)))

    world = driven(story, tls=listener())
    assert world.node.events_of(ConnectionAccepted) == [ConnectionAccepted(2, "CONTROLLER", "127.0.0.1")]
    assert b"".join(event.data for event in world.node.events_of(BytesReceived)) == sent
    assert "TLS handshake failed" not in world.log.getvalue()


@pytest.mark.parametrize("client_auth", ["required", "requested"])
def test_the_node_is_told_who_a_certificate_names(client_auth: str) -> None:
    mine = AUTHORITY.trusting() | having(AUTHORITY.issue(common_name="alice", unit="Clients, all"))

    async def story(world: Driven) -> None:
        reader, writer = await world.connect(client(mine))
        writer.write(b"x")
        await reader.readexactly(1)
        writer.close()

    (accepted,) = driven(story, tls=listener(client_auth=client_auth)).node.events_of(ConnectionAccepted)
    assert accepted.peer_name is not None
    assert accepted.peer_name.startswith("CN=alice,OU=Clients\\, all,O=")


def test_a_certificate_that_was_only_requested_may_be_missing() -> None:
    async def story(world: Driven) -> None:
        reader, writer = await world.connect(client())
        writer.write(b"x")
        await reader.readexactly(1)
        writer.close()

    (accepted,) = driven(story, tls=listener(client_auth="requested")).node.events_of(ConnectionAccepted)
    assert accepted.peer_name is None


@pytest.mark.parametrize("client_auth", ["required", "requested"])
def test_a_certificate_of_another_authority_is_refused(client_auth: str) -> None:
    stranger = AUTHORITY.trusting() | having(OTHER.issue(common_name="alice"))

    async def story(world: Driven) -> None:
        await refused(world, client(stranger), b"x")

    world = driven(story, tls=listener(client_auth=client_auth))
    assert world.node.events_of(ConnectionAccepted) == []
    assert "the certificate is not valid" in world.log.getvalue()


def test_who_shows_none_where_one_is_required_is_refused() -> None:
    async def story(world: Driven) -> None:
        await refused(world, client(), b"x")

    world = driven(story, tls=listener(client_auth="required"))
    assert world.node.events_of(ConnectionAccepted) == []
    assert "peer did not return a certificate" in world.log.getvalue()


def test_plain_text_on_a_listener_with_tls_is_told_in_the_log() -> None:
    async def story(world: Driven) -> None:
        await refused(world, None, b"\0\0\0\x10\0\x12\0\4\0\0\0\0")

    world = driven(story, tls=listener())
    assert world.node.events_of(ConnectionAccepted) == []
    assert "it does not speak TLS, which this listener requires" in world.log.getvalue()


@pytest.mark.parametrize("data", [b"\x16", b"\x16\x03\x01\xff\xff" + bytes(100), b"\x16" + b"\xff" * 1000])
def test_what_only_looks_like_tls_reaches_nobody(data: bytes) -> None:
    async def story(world: Driven) -> None:
        _, writer = await world.connect()
        writer.write(data)
        writer.write_eof()
        await until(lambda: "TLS handshake failed" in world.log.getvalue())
        writer.close()

    assert driven(story, tls=listener()).node.events_of(ConnectionAccepted) == []


def test_who_does_not_shake_hands_is_cut_off_and_counts_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    # Long enough for the refusal, and for the last handshake as long as ever: the machine may be busy.
    monkeypatch.setattr("falkirk.server.node_driver.HANDSHAKE_TIMEOUT_S", 1.0)

    async def story(world: Driven) -> None:
        reader, silent = await world.connect()
        await refused(world, client())
        monkeypatch.undo()
        assert await reader.read() == b""
        silent.close()
        reader, writer = await world.connect(client())
        writer.write(b"x")
        await reader.readexactly(1)
        writer.close()

    world = driven(story, tls=listener(), limits=ConnectionLimits(LimitSettings(max_per_ip=1)))
    assert len(world.node.events_of(ConnectionAccepted)) == 1
    assert "no handshake in time" in world.log.getvalue()
    assert "max.connections.per.ip is 1" in world.log.getvalue()


def test_many_handshakes_at_once_all_come_to_their_end() -> None:
    async def one(world: Driven, number: int) -> bytes:
        reader, writer = await world.connect(client())
        writer.write(b"%03d" % number)
        answer = await reader.readexactly(3)
        writer.close()
        return answer

    async def story(world: Driven) -> None:
        answers = await asyncio.gather(*(one(world, number) for number in range(40)))
        assert answers == [b"%03d" % number for number in range(40)]

    assert len(driven(story, tls=listener()).node.events_of(ConnectionAccepted)) == 40


def echoing(event: Event) -> Sequence[Effect] | None:
    match event:
        case ConnectionOpened(1):
            return [Send(1, b"ping")]
        case BytesReceived(1, _):
            return [Close(1)]
        case _:
            return None


def test_the_node_connects_to_others_with_tls() -> None:
    async def story(world: Driven) -> None:
        world.driver._execute(Connect(1, world.endpoint, "CONTROLLER"))
        await world.node.until(lambda: bool(world.node.events_of(ConnectionLost)))

    node = driven(story, echoing, tls=listener()).node
    assert node.events_of(ConnectionOpened) == [ConnectionOpened(1)]
    assert BytesReceived(1, b"ping") in node.events
    assert [event.connection_id for event in node.events_of(ConnectionLost)] == [2]


@pytest.mark.parametrize(
    ("server", "clients", "reason"),
    [
        (having(OTHER.issue()), AUTHORITY.trusting(), "the certificate is not valid: "),
        (having(AUTHORITY.issue("another.host")), AUTHORITY.trusting(), "IP address mismatch"),
    ],
)
def test_the_node_does_not_talk_to_who_has_not_the_right_certificate(
    server: dict[str, str], clients: dict[str, str], reason: str
) -> None:
    async def story(world: Driven) -> None:
        world.driver._execute(Connect(1, world.endpoint, "CONTROLLER"))
        await world.node.until(lambda: bool(world.node.events_of(ConnectionLost)))

    node = driven(story, echoing, tls=listener(clients=clients, **server)).node
    assert node.events_of(ConnectionOpened) == []
    (lost,) = node.events_of(ConnectionLost)
    assert lost.connection_id == 1
    assert reason in lost.reason


def test_the_name_of_the_host_counts_only_where_it_is_to_be_checked() -> None:
    clients = AUTHORITY.trusting() | {"ssl.endpoint.identification.algorithm": ""}

    async def story(world: Driven) -> None:
        world.driver._execute(Connect(1, world.endpoint, "CONTROLLER"))
        await world.node.until(lambda: bool(world.node.events_of(ConnectionOpened)))

    driven(story, tls=listener(clients=clients, **having(AUTHORITY.issue("another.host"))))


def test_who_answers_in_plain_text_is_given_up() -> None:
    async def story(world: Driven) -> None:
        world.driver._tls = ListenerTls({}, {"CONTROLLER": client()})
        world.driver._execute(Connect(1, world.endpoint, "CONTROLLER"))
        await world.node.until(lambda: any(event.connection_id == 1 for event in world.node.events_of(ConnectionLost)))

    lost = {event.connection_id: event.reason for event in driven(story).node.events_of(ConnectionLost)}
    assert "TLS: " in lost[1]


def test_a_connection_that_is_closed_while_it_shakes_hands_is_told_no_more() -> None:
    async def story(world: Driven) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            world.driver._execute(Connect(1, Endpoint(*silent.getsockname()), "CONTROLLER"))
            await until(lambda: 1 in world.driver._shaking)
            world.driver._execute(Close(1))

    node = driven(story, tls=listener()).node
    assert node.events_of(ConnectionOpened) == []
    assert node.events_of(ConnectionLost) == []


def test_whatever_fails_at_a_key_store_is_told_with_the_listener(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = {
        "process.roles": "broker",
        "node.id": "1",
        "listeners": "OWN://:9092",
        "listener.security.protocol.map": "OWN:SSL,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "OWN",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": "2@host:9093",
        "log.dirs": "d",
    }
    read = read_server_properties(properties, Release.parse("4.3"), hostname="localhost")
    monkeypatch.setattr(tls, "server_context", lambda *_, **__: 1 / 0)
    with pytest.raises(ServerError, match="listener OWN: division by zero"):
        ListenerTls.of(read)
