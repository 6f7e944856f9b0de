import asyncio
from collections.abc import Sequence

import pytest
from driver_world import Driven, driven

from falkirk.node.effects import Close, Connect, Effect, Fact, Send, Started, Stop
from falkirk.node.events import (
    BytesReceived,
    ConnectionAccepted,
    ConnectionLost,
    ConnectionOpened,
    Event,
    ShutdownRequested,
)
from falkirk.protocol.endpoint import Endpoint
from falkirk.server.clock import Clock
from falkirk.server.connection_limits import ConnectionLimits, LimitSettings, ListenerLimits
from falkirk.server.node_driver import STEP_BYTES_MAX
from falkirk.server.peer import UNREAD_BYTES_MAX
from falkirk.zookeeper_node.session.exchange import (
    AskZooKeeper,
    SessionChanged,
    SessionState,
    ZnodeChanged,
    ZooKeeperEffect,
)
from falkirk.zookeeper_node.session.operations import GetChildren, GetData


def test_bytes_go_in_and_out_on_the_connection_that_they_came_on() -> None:
    async def story(world: Driven) -> None:
        clients = [await world.connect() for _ in range(3)]
        for number, (_, writer) in enumerate(clients):
            writer.write(b"%d" % number)
        assert [await reader.readexactly(1) for reader, _ in clients] == [b"0", b"1", b"2"]
        for _, writer in clients:
            writer.close()
        await world.node.until(lambda: len(world.node.events_of(ConnectionLost)) == 3)

    node = driven(story).node
    accepted = node.events_of(ConnectionAccepted)
    assert accepted == [ConnectionAccepted(number, "CONTROLLER", "127.0.0.1") for number in (2, 4, 6)]
    assert {event.connection_id for event in node.events_of(ConnectionLost)} == {2, 4, 6}


def test_that_the_node_serves_is_told_when_the_node_says_so() -> None:
    async def story(world: Driven) -> None:
        _, writer = await world.connect()
        await world.node.until(lambda: bool(world.node.events_of(ConnectionAccepted)))
        assert world.times_started == 0
        writer.close()
        await world.node.until(lambda: bool(world.node.events_of(ConnectionLost)))

    assert driven(story, lambda event: [Started()] if isinstance(event, ConnectionLost) else None).times_started == 1


def test_what_a_node_wants_of_zookeeper_is_passed_on_in_order_and_what_comes_of_it_is_told() -> None:
    wanted: list[ZooKeeperEffect] = []
    asked = [AskZooKeeper(1, GetData("/features")), AskZooKeeper(2, GetChildren("/brokers/ids"))]
    changed = SessionChanged(SessionState.CONNECTED, 7)

    async def story(world: Driven) -> None:
        await world.node.until(lambda: len(world.node.steps) == 1)
        world.driver.tell(changed)
        world.driver.tell(ZnodeChanged("/features"))
        await world.node.until(lambda: len(world.node.steps) == 2)

    node = driven(story, lambda event: asked if event == changed else None, zookeeper=wanted.append).node
    assert node.steps[1] == [changed, ZnodeChanged("/features")]
    assert wanted == asked


def test_all_events_of_a_round_of_the_loop_are_one_step() -> None:
    async def story(world: Driven) -> None:
        await world.node.until(lambda: len(world.node.steps) == 1)
        peers = [world.driver.accept("A") for _ in range(3)]
        for peer in peers:
            peer.connection_made(NoTransport())
            peer.data_received(b"x")
        await world.node.until(lambda: len(world.node.steps) == 2)
        for peer in peers:
            peer.connection_lost(None)

    node = driven(story).node
    assert len(node.steps[1]) == 6


def test_who_sends_more_than_a_step_takes_is_not_read_from_until_it_is_heard() -> None:
    transport = PausedTransport()

    async def story(world: Driven) -> None:
        flooding, other = world.driver.accept("A"), world.driver.accept("A")
        flooding.connection_made(transport)
        other.connection_made(NoTransport())
        await world.node.until(lambda: len(world.node.events_of(ConnectionAccepted)) == 2)
        flooding.data_received(bytes(5 * STEP_BYTES_MAX))
        await world.node.until(lambda: transport.told == ["pause"])
        other.data_received(b"other")
        await world.node.until(lambda: BytesReceived(4, b"other") in world.node.events)
        assert transport.told == ["pause"]
        await world.node.until(lambda: transport.told == ["pause", "resume"])
        assert sum(sizes(world)) == 5 * STEP_BYTES_MAX + len(b"other")
        assert max(sizes(world)) == STEP_BYTES_MAX
        flooding.connection_lost(None)
        other.connection_lost(None)

    node = driven(story, quietly).node
    assert len([event for event in node.events if event == BytesReceived(4, b"other")]) == 1


def test_all_that_a_step_sends_to_a_connection_is_one_write_before_it_is_closed() -> None:
    async def story(world: Driven) -> None:
        peers = [world.driver.accept("A") for _ in range(2)]
        transports = [WrittenTransport() for _ in peers]
        for peer, transport in zip(peers, transports, strict=True):
            peer.connection_made(transport)
        await world.node.until(lambda: len(world.node.events_of(ConnectionAccepted)) == 2)
        peers[0].data_received(b"x")
        await world.node.until(lambda: len(world.node.events_of(BytesReceived)) == 1)
        await asyncio.sleep(0)
        assert [transport.told for transport in transports] == [["abc", "close"], ["12"]]
        for peer in peers:
            peer.connection_lost(None)

    first, second = [Send(2, b"a"), Send(4, b"1")], [Send(2, b"b"), Send(2, b"c"), Send(4, b"2")]
    effects = [*first, Fact("info", "in between", {}), *second, Close(2)]
    driven(story, lambda event: effects if isinstance(event, BytesReceived) else None)


def test_steps_become_smaller_when_they_take_long() -> None:
    async def story(world: Driven) -> None:
        peer = world.driver.accept("A")
        peer.connection_made(NoTransport())
        await world.node.until(lambda: len(world.node.events_of(ConnectionAccepted)) == 1)
        world.driver._clock = LateClock()
        peer.data_received(bytes(STEP_BYTES_MAX))
        await world.node.until(lambda: sum(sizes(world)) == STEP_BYTES_MAX)
        told = [size for size in sizes(world) if size]
        assert told[:4] == [16 * 1024, 4 * 1024, 1024, 1024]
        peer.connection_lost(None)

    driven(story, quietly)


class LateClock(Clock):
    """Every step takes long."""

    late_ms = 0

    def now_ms(self) -> int:
        self.late_ms += 200
        return super().now_ms() + self.late_ms


def sizes(world: Driven) -> list[int]:
    """Return how many bytes each step has brought."""
    return [sum(len(event.data) for event in step if isinstance(event, BytesReceived)) for step in world.node.steps]


def test_who_does_not_read_is_not_read_from_though_all_is_heard() -> None:
    transport = PausedTransport()

    async def story(world: Driven) -> None:
        peer = world.driver.accept("A")
        peer.connection_made(transport)
        peer.data_received(bytes(3 * STEP_BYTES_MAX))
        await world.node.until(lambda: transport.told == ["pause"])
        peer.pause_writing()
        await world.node.until(lambda: sum(sizes(world)) == 3 * STEP_BYTES_MAX)
        await asyncio.sleep(0)
        assert "resume" not in transport.told
        peer.resume_writing()
        assert transport.told[-1] == "resume"
        peer.connection_lost(None)

    driven(story, quietly)


def test_controllers_and_own_connections_are_heard_with_the_next_step_however_long_clients_storm() -> None:
    async def story(world: Driven) -> None:
        world.driver._execute(Connect(1, world.endpoint, "CONTROLLER"))
        await world.node.until(lambda: ConnectionOpened(1) in world.node.events)
        own = world.driver._peers[1]
        clients, voter = [world.driver.accept("CLIENTS") for _ in range(300)], world.driver.accept("CONTROLLER")
        for peer in (*clients, voter):
            peer.connection_made(NoTransport())
        await world.node.until(lambda: len(world.node.events_of(ConnectionAccepted)) == 302)
        for peer in clients:
            peer.data_received(bytes(STEP_BYTES_MAX))
        for number in range(20):
            before = len(world.node.steps)
            voter.data_received(b"heartbeat %d" % number)
            own.data_received(b"answer %d" % number)
            await world.node.until(lambda before=before: len(world.node.steps) > before)
            step = world.node.steps[before]
            assert BytesReceived(voter.connection_id, b"heartbeat %d" % number) in step
            assert BytesReceived(1, b"answer %d" % number) in step
        # Most of what clients have sent is still to be heard.
        assert sum(sizes(world)) < 300 * STEP_BYTES_MAX
        before = len(world.node.steps)
        world.driver.request_shutdown()
        await world.node.until(lambda: len(world.node.steps) > before)
        assert ShutdownRequested() in world.node.steps[before]
        for peer in (*clients, voter):
            peer.connection_lost(None)

    driven(story, lambda event: [Stop(0)] if isinstance(event, ShutdownRequested) else [])


class NoTransport:
    """As much of a transport as a connection of a test needs."""

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def get_extra_info(self, _name: str) -> tuple[str, int]:
        return ("host", 1)

    def is_closing(self) -> bool:
        return True

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass


def quietly(event: Event) -> Sequence[Effect] | None:
    return [] if isinstance(event, BytesReceived) else None


class PausedTransport(NoTransport):
    """Records whether it is read from."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        self.told.append("pause")

    def resume_reading(self) -> None:
        self.told.append("resume")


class WrittenTransport(PausedTransport):
    """Records what is written to it, and that it is closed."""

    def get_write_buffer_size(self) -> int:
        return 0

    def writelines(self, pieces: Sequence[bytes]) -> None:
        self.told.append(b"".join(pieces).decode())

    def close(self) -> None:
        self.told.append("close")


class GoneTransport(PausedTransport):
    """Its client had reset the connection before it was accepted."""

    def get_extra_info(self, _name: str) -> None:
        return None

    def abort(self) -> None:
        self.told.append("abort")


def test_of_a_client_that_has_gone_before_it_was_accepted_the_node_hears_nothing() -> None:
    transport = GoneTransport()

    async def story(world: Driven) -> None:
        peer = world.driver.accept("A")
        peer.connection_made(transport)
        # As uvloop does.
        peer.data_received(b"what it had sent")
        peer.connection_lost(None)

    world = driven(story)
    assert transport.told == ["abort"]
    assert world.node.events == [ShutdownRequested()]


def test_the_node_wakes_when_it_wants_to() -> None:
    async def story(world: Driven) -> None:
        await world.node.until(lambda: len(world.node.steps) == 1)
        world.node.next_wakeup_ms = world.node.times_ms[0] + 20
        # Any event lets the driver ask when to wake.
        _, writer = await world.connect()
        await world.node.until(lambda: world.node.next_wakeup_ms is None)
        writer.close()

    node = driven(story).node
    assert any(time_ms >= node.times_ms[0] + 20 for time_ms in node.times_ms)


def test_a_connection_that_the_node_wants_is_opened() -> None:
    async def story(world: Driven) -> None:
        world.driver._execute(Connect(1, world.endpoint, "CONTROLLER"))
        await world.node.until(lambda: BytesReceived(1, b"ping") in world.node.events)
        await world.node.until(lambda: bool(world.node.events_of(ConnectionLost)))

    def answer(event: Event) -> Sequence[Effect] | None:
        match event:
            case ConnectionOpened(1):
                return [Send(1, b"ping")]
            case BytesReceived(1, _):
                return [Close(1)]
            case _:
                return None

    node = driven(story, answer).node
    assert node.events_of(ConnectionOpened) == [ConnectionOpened(1)]
    # The node closed it, and is not told of what it knows; of the other end it is.
    assert [event.connection_id for event in node.events_of(ConnectionLost)] == [2]


def test_a_connection_that_cannot_be_opened_is_lost() -> None:
    async def story(world: Driven) -> None:
        free = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        endpoint = Endpoint(*free.sockets[0].getsockname())
        free.close()
        await free.wait_closed()
        world.driver._execute(Connect(1, endpoint, "CONTROLLER"))
        world.driver._execute(Connect(3, Endpoint("no..host", 1), "CONTROLLER"))
        await world.node.until(lambda: len(world.node.events_of(ConnectionLost)) == 2)

    lost = {event.connection_id: event.reason for event in driven(story).node.events_of(ConnectionLost)}
    assert "refused" in lost[1]
    assert "no..host:1" in lost[3]


def test_a_connection_that_is_closed_while_it_opens_is_told_no_more() -> None:
    async def story(world: Driven) -> None:
        world.driver._execute(Connect(1, world.endpoint, "CONTROLLER"))
        world.driver._execute(Close(1))
        _, writer = await world.connect()
        writer.write(b"x")
        await world.node.until(lambda: BytesReceived in {type(event) for event in world.node.events})
        writer.close()

    node = driven(story).node
    assert node.events_of(ConnectionOpened) == []
    assert [event for event in node.events_of(ConnectionLost) if event.connection_id == 1] == []


def test_what_was_sent_is_out_before_a_connection_closes() -> None:
    size = 8 * 1024 * 1024

    async def story(world: Driven) -> None:
        reader, writer = await world.connect()
        writer.write(b"x")
        assert len(await reader.read(-1)) == size
        writer.close()

    def answer(event: Event) -> Sequence[Effect] | None:
        if isinstance(event, BytesReceived):
            return [Send(event.connection_id, bytes(size)), Close(event.connection_id)]
        return None

    node = driven(story, answer).node
    assert node.events_of(ConnectionLost) == []


def test_a_client_that_does_not_read_is_not_read_from() -> None:
    chunk = bytes(1024 * 1024)

    async def story(world: Driven) -> None:
        reader, writer = await world.connect()
        writer.write(b"x")
        await world.node.until(lambda: len(world.node.events_of(BytesReceived)) == 1)
        # The kernel's buffers and ours are full now; what comes next waits in the kernel.
        writer.write(b"y")
        await writer.drain()
        other_reader, other = await world.connect()
        other.write(b"z")
        await other_reader.readexactly(len(chunk))
        assert [event.data for event in world.node.events_of(BytesReceived)] == [b"x", b"z"]
        await reader.readexactly(24 * len(chunk))
        await world.node.until(lambda: len(world.node.events_of(BytesReceived)) == 3)
        writer.close()
        other.close()

    def answer(event: Event) -> Sequence[Effect] | None:
        if isinstance(event, BytesReceived):
            return [Send(event.connection_id, chunk)] * (24 if event.data == b"x" else 1)
        return None

    driven(story, answer)


def test_a_client_that_leaves_too_much_unread_is_cut_off() -> None:
    async def story(world: Driven) -> None:
        _, writer = await world.connect()
        writer.write(b"x")
        await world.node.until(lambda: bool(world.node.events_of(ConnectionLost)))
        writer.close()

    def answer(event: Event) -> Sequence[Effect] | None:
        if isinstance(event, BytesReceived):
            # One buffer many times: only the count of bytes matters.
            return [Send(event.connection_id, CHUNK)] * (UNREAD_BYTES_MAX // len(CHUNK) + 10)
        return None

    (lost,) = driven(story, answer).node.events_of(ConnectionLost)
    assert "bytes unread" in lost.reason


CHUNK = bytes(4 * 1024 * 1024)


def test_a_client_that_never_reads_its_answers_is_reaped_though_it_would_send_on() -> None:
    async def story(world: Driven) -> None:
        _, slow = await world.connect()
        # More than the kernel takes on both sides, less than what would cut the connection off.
        slow.write(b"x")
        await world.node.until(lambda: bool(world.node.events_of(BytesReceived)))
        slow.write(b"y")
        await world.node.until(lambda: bool(world.node.events_of(ConnectionLost)))
        slow.transport.abort()

    def answer(event: Event) -> Sequence[Effect] | None:
        return [Send(event.connection_id, CHUNK)] * 6 if isinstance(event, BytesReceived) else None

    node = driven(story, answer, max_idle_ms=150).node
    assert node.events_of(ConnectionLost) == [ConnectionLost(2, "nothing came or went for connections.max.idle.ms")]
    assert [event.data for event in node.events_of(BytesReceived)] == [b"x"]


def test_a_silent_connection_is_reaped_and_one_that_speaks_is_not() -> None:
    async def story(world: Driven) -> None:
        _, silent = await world.connect()
        reader, speaking = await world.connect()
        while not world.node.events_of(ConnectionLost):
            speaking.write(b"x")
            await reader.readexactly(1)
        silent.close()
        speaking.close()

    lost = driven(story, max_idle_ms=150).node.events_of(ConnectionLost)
    assert lost[0] == ConnectionLost(2, "nothing came or went for connections.max.idle.ms")


def test_connections_beyond_the_limits_are_refused() -> None:
    async def story(world: Driven) -> None:
        reader, first = await world.connect()
        first.write(b"x")
        await reader.readexactly(1)
        waiting, second = await world.connect()
        assert await waiting.read() == b""
        first.close()
        await world.node.until(lambda: bool(world.node.events_of(ConnectionLost)))
        reader, third = await world.connect()
        third.write(b"x")
        await reader.readexactly(1)
        for writer in (second, third):
            writer.close()

    world = driven(story, limits=ConnectionLimits(LimitSettings(max_per_ip=1)))
    assert len(world.node.events_of(ConnectionAccepted)) == 2
    assert "refused a connection host=127.0.0.1" in world.log.getvalue()


def test_connections_beyond_max_connections_wait_and_are_not_read_from() -> None:
    async def story(world: Driven) -> None:
        first_reader, first = await world.connect()
        first.write(b"1")
        await first_reader.readexactly(1)
        second_reader, second = await world.connect()
        second.write(b"2")
        first.write(b"3")
        await first_reader.readexactly(1)
        assert len(world.node.events_of(ConnectionAccepted)) == 1
        first.close()
        assert await second_reader.readexactly(1) == b"2"
        second.close()

    world = driven(story, limits=ConnectionLimits(LimitSettings(broker=ListenerLimits(max_connections=1))))
    assert [event.data for event in world.node.events_of(BytesReceived)] == [b"1", b"3", b"2"]


def test_a_lower_limit_closes_those_that_are_idle_for_longest() -> None:
    async def story(world: Driven) -> None:
        readers = []
        for number in range(3):
            reader, writer = await world.connect()
            writer.write(b"%d" % number)
            await reader.readexactly(1)
            readers.append((reader, writer))
        readers[0][1].write(b"x")
        await readers[0][0].readexactly(1)
        world.driver.admission.change(LimitSettings(broker=ListenerLimits(max_connections=1)))
        assert await readers[1][0].read() == await readers[2][0].read() == b""
        readers[0][1].write(b"y")
        assert await readers[0][0].readexactly(1) == b"y"
        for _, writer in readers:
            writer.close()

    driven(story)


def test_facts_are_logged_in_the_order_of_the_effects() -> None:
    async def story(world: Driven) -> None:
        return None

    def answer(event: Event) -> Sequence[Effect] | None:
        if isinstance(event, ShutdownRequested):
            return [Fact("info", "one"), Fact("warning", "two", {"why": "because of this"}), Stop(0)]
        return None

    lines = driven(story, answer).log.getvalue().splitlines()
    assert [line.partition(" ")[2] for line in lines] == ["INFO    one", 'WARNING two why="because of this"']


def test_nothing_is_asked_of_a_node_that_has_stopped() -> None:
    async def story(world: Driven) -> None:
        _, writer = await world.connect()
        await world.node.until(lambda: bool(world.node.events_of(ConnectionAccepted)))
        assert await world.stop() == Stop(1, "the disk is full")
        steps = len(world.node.steps)
        writer.write(b"x")
        writer.close()
        await asyncio.sleep(0)
        assert len(world.node.steps) == steps

    driven(story, lambda event: [Stop(1, "the disk is full")] if isinstance(event, ShutdownRequested) else None)


def test_a_step_that_raises_ends_the_run_with_its_error() -> None:
    async def story(world: Driven) -> None:
        world.driver.request_shutdown()
        with pytest.raises(ZeroDivisionError):
            await world.ended

    def answer(event: Event) -> Sequence[Effect] | None:
        return [Stop(1 // 0)]

    driven(story, answer)
