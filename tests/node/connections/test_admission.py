"""Who may connect at all is decided by the certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.node.config.principal_mapping import PrincipalMapping
from falkirk.node.config.security_settings import ListenerSecurity, SecuritySettings
from falkirk.node.connections.admission import admit
from falkirk.node.effects import Close, Fact
from falkirk.node.events import ConnectionAccepted

if TYPE_CHECKING:
    from falkirk.node.effects import Effect

SECURITY = SecuritySettings(
    listeners={"SSL": ListenerSecurity(principal_mapping=PrincipalMapping("RULE:^CN=(.*?),.*$/$1/"))}
)


def test_a_certificate_says_who_a_client_is() -> None:
    effects: list[Effect] = []
    admitted = admit(ConnectionAccepted(2, "SSL", "10.0.0.1", "CN=alice,O=b"), SECURITY, effects.append)
    assert (str(admitted), effects) == ("User:alice", [])


def test_one_whom_no_rule_knows_loses_its_connection() -> None:
    effects: list[Effect] = []
    assert admit(ConnectionAccepted(2, "SSL", "10.0.0.1", "O=b"), SECURITY, effects.append) is None
    fields = {"client_host": "10.0.0.1", "listener": "SSL", "reason": "No rules apply to O=b"}
    assert effects == [Fact("info", "authentication-failed", fields), Close(2)]
