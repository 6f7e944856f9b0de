from falkirk.server.connection_limits import ConnectionLimits
from falkirk.versions.configs.server import definitions
from falkirk.versions.release import Release

DEFAULTS = {name: one.default for name, one in definitions(Release.parse("4.3")).items()}


def test_nothing_is_limited_by_default() -> None:
    limits = ConnectionLimits.of(DEFAULTS)
    assert [limits.admit("a") for _ in range(1000)] == [None] * 1000


def test_all_connections_are_counted_together() -> None:
    limits = ConnectionLimits.of(DEFAULTS | {"max.connections": 2})
    assert [limits.admit(host) for host in "aab"] == [None, None, "max.connections is 2"]
    limits.leave("a")
    assert limits.admit("b") is None


def test_each_address_is_counted_and_may_have_a_limit_of_its_own() -> None:
    changed = {"max.connections.per.ip": 1, "max.connections.per.ip.overrides": "b:2, ::1:0"}
    limits = ConnectionLimits.of(DEFAULTS | changed)
    assert [limits.admit(host) for host in "abab"] == [None, None, "max.connections.per.ip is 1", None]
    assert limits.admit("b") == "max.connections.per.ip is 2"
    assert limits.admit("::1") == "max.connections.per.ip is 0"
    limits.leave("a")
    assert limits.admit("a") is None
