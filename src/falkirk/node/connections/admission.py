"""Admission of a connection: by the certificate that the client has shown, and by how often its address connects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.node.effects import Close, Fact

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.requests.request_context import Principal
    from falkirk.node.config.security_settings import SecuritySettings
    from falkirk.node.effects import Effect
    from falkirk.node.events import ConnectionAccepted


def admit(
    accepted: ConnectionAccepted,
    security: SecuritySettings,
    effects: Callable[[Effect], None],
    *,
    throttle_ms: int = 0,
) -> Principal | None:
    """Return the principal of a client before SASL, or None: the connection is closed.

    That is so if no mapping rule applies, or its address should wait for `throttle_ms` more (KIP-612). Differs from
    Kafka, which closes it when that time is over.
    """
    if throttle_ms:
        throttled = {"client_host": accepted.client_host, "listener": accepted.listener, "throttle_ms": throttle_ms}
        effects(Fact("info", "connection-throttled", throttled))
        effects(Close(accepted.connection_id))
        return None
    principal = security.of_listener(accepted.listener).principal_of(accepted.peer_name)
    if principal is None:
        fields = {"client_host": accepted.client_host, "listener": accepted.listener}
        reason = f"No rules apply to {accepted.peer_name}"
        effects(Fact("info", "authentication-failed", {**fields, "reason": reason}))
        effects(Close(accepted.connection_id))
    return principal
