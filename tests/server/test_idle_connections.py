from typing import Any

from falkirk.server.idle_connections import IdleConnections


def test_the_most_silent_connections_expire_first() -> None:
    idle = IdleConnections(100_000)
    one, two, three = named("one"), named("two"), named("three")
    for at_s, peer in enumerate((one, two, three)):
        idle.touch(peer, at_s)
    idle.touch(one, 50)
    assert idle.next_check_s == 101
    assert list(idle.expired(101)) == [two]
    assert list(idle.expired(149)) == [three]
    assert list(idle.expired(149)) == []
    assert idle.next_check_s == 150


def test_a_connection_that_ended_does_not_expire() -> None:
    idle = IdleConnections(100_000)
    peer = named("one")
    idle.touch(peer, 0)
    idle.remove(peer)
    idle.remove(peer)
    assert idle.next_check_s is None
    assert list(idle.expired(1000)) == []


def test_a_negative_limit_is_none() -> None:
    idle = IdleConnections(-1)
    idle.touch(named("one"), 0)
    assert idle.next_check_s is None
    assert list(idle.expired(10**9)) == []


def named(name: str) -> Any:
    """Anything stands for a connection."""
    return name
