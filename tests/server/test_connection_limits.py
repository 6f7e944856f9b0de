"""How many connections are admitted, how fast, and who waits."""

import pytest

from falkirk.node.connections.client_quotas import QuotaWindows
from falkirk.server.connection_limits import ConnectionLimits, LimitSettings, ListenerLimits
from falkirk.versions.configs.server import definitions
from falkirk.versions.release import Release

DEFAULTS = {name: one.default for name, one in definitions(Release.parse("4.3")).items()}
SECOND = 1000


class World:
    """Connections are numbers; `ready` has those that need not wait: number, and why it is refused."""

    def __init__(self, settings: LimitSettings) -> None:
        self.limits: ConnectionLimits[int] = ConnectionLimits(settings)
        self._count = 0

    def arrive(self, host: str = "a", listener: str = "PLAINTEXT", now_ms: int = 0) -> list[tuple[int, str | None]]:
        assert self.limits.arrive(self._count, listener, host)
        self._count += 1
        return self.ready(now_ms)

    def ready(self, now_ms: int = 0) -> list[tuple[int, str | None]]:
        return [(number, refusal) for number, _, refusal in self.limits.pop_ready(now_ms)]


def settings(properties: dict[str, str] | None = None, **changed: object) -> LimitSettings:
    values = DEFAULTS | {name.replace("_", "."): value for name, value in changed.items()}
    return LimitSettings.of(
        values,
        properties or {},
        ["PLAINTEXT", "OTHER", "CONTROLLER"],
        controllers=frozenset({"CONTROLLER"}),
        inter_broker="PLAINTEXT",
    )


def test_nothing_is_limited_by_default() -> None:
    world = World(settings())
    assert [world.arrive() for _ in range(1000)] == [[(number, None)] for number in range(1000)]


def test_who_comes_beyond_max_connections_waits_for_one_that_leaves() -> None:
    world = World(settings(max_connections=2))
    assert [world.arrive(listener="OTHER") for _ in range(4)] == [[(0, None)], [(1, None)], [], []]
    assert world.limits.next_ready_ms(0) is None
    world.limits.leave("OTHER", "a")
    assert world.ready() == [(2, None)]


def test_the_listener_between_brokers_has_room_and_others_make_it() -> None:
    world = World(settings(max_connections=1))
    assert world.arrive(listener="OTHER") == [(0, None)]
    assert world.limits.exceeded_listeners == frozenset()
    assert world.arrive(listener="PLAINTEXT") == [(1, None)]
    assert world.limits.exceeded_listeners == {"OTHER"}


def test_the_two_roles_are_counted_by_themselves() -> None:
    world = World(settings(max_connections=1, max_connections_per_ip=1))
    assert world.arrive(listener="OTHER") == [(0, None)]
    assert world.arrive(listener="CONTROLLER") == [(1, None)]
    assert world.arrive(listener="CONTROLLER") == []


def test_a_listener_may_have_limits_of_its_own() -> None:
    own = {"listener.name.other.max.connections": "1", "listener.name.plaintext.max.connection.creation.rate": "1"}
    world = World(settings(own))
    assert [world.arrive(listener="OTHER") for _ in range(2)] == [[(0, None)], []]
    came = [world.arrive(listener="PLAINTEXT") for _ in range(11)]
    assert came == [[(number, None)] for number in range(2, 12)] + [[]]


@pytest.mark.parametrize("listener", ["OTHER", "CONTROLLER"])
def test_who_comes_too_fast_waits_until_the_rate_is_met_and_others_behind_it(listener: str) -> None:
    world = World(settings(max_connection_creation_rate=2))
    came = [world.arrive(listener=listener) for _ in range(22)]
    assert came == [[(number, None)] for number in range(20)] + [[], []]
    # 21 connections in ten windows are half a second more than two each second.
    assert world.limits.next_ready_ms(0) == 500
    assert world.ready(499) == []
    assert world.ready(500) == [(20, None)]
    # So are 22 in ten windows and a half.
    assert world.limits.next_ready_ms(500) == SECOND
    assert world.ready(SECOND) == [(21, None)]


def test_with_a_rate_of_zero_each_waits_for_a_window() -> None:
    world = World(LimitSettings(broker=ListenerLimits(creation_rate=0)))
    assert world.arrive() == world.arrive() == []
    assert world.limits.next_ready_ms(0) == SECOND
    assert world.ready(SECOND) == [(0, None)]
    assert world.ready(2 * SECOND) == [(1, None)]


def test_the_rate_of_the_broker_is_not_that_of_the_listener_between_brokers() -> None:
    world = World(LimitSettings(broker=ListenerLimits(creation_rate=1), protected="A", windows=QuotaWindows()))
    assert [world.arrive(listener="A") for _ in range(30)] == [[(number, None)] for number in range(30)]


def test_a_rate_that_is_set_later_counts_what_came_before() -> None:
    world = World(LimitSettings())
    for _ in range(50):
        world.arrive()
    world.limits.change(LimitSettings(broker=ListenerLimits(creation_rate=1)))
    assert world.arrive() == []
    # Forty seconds more would be needed; a window is the most that anybody waits.
    assert world.limits.next_ready_ms(0) == SECOND


def test_each_address_is_counted_and_may_have_a_limit_of_its_own() -> None:
    world = World(settings(max_connections_per_ip=1, max_connections_per_ip_overrides="b:2, ::1:0"))
    ones = [world.arrive(host)[0][1] for host in "abab"]
    assert ones == [None, None, "max.connections.per.ip is 1", None]
    assert world.arrive("b")[0][1] == "max.connections.per.ip is 2"
    assert world.arrive("::1")[0][1] == "max.connections.per.ip is 0"
    world.limits.leave("PLAINTEXT", "a")
    assert world.arrive("a")[0][1] is None


def test_who_gives_up_is_not_admitted_and_too_many_do_not_wait() -> None:
    world = World(LimitSettings(broker=ListenerLimits(max_connections=0), waiting_max=1))
    assert world.arrive() == world.arrive() == []
    assert not world.limits.arrive(7, "PLAINTEXT", "a")
    world.limits.give_up(0, "PLAINTEXT")
    world.limits.change(LimitSettings())
    assert world.ready() == [(1, None)]
