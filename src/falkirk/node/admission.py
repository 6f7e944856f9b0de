"""Who may connect at all, by the certificate that was shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.node.effects import Close, Fact

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.controller.request_context import Principal
    from falkirk.node.effects import Effect
    from falkirk.node.events import ConnectionAccepted
    from falkirk.node.security_settings import SecuritySettings


def admit(
    accepted: ConnectionAccepted, security: SecuritySettings, effects: Callable[[Effect], None]
) -> Principal | None:
    """Give who a client is before SASL; one whom no rule knows loses its connection, and None is given."""
    principal = security.of_listener(accepted.listener).principal_of(accepted.peer_name)
    if principal is None:
        fields = {"client_host": accepted.client_host, "listener": accepted.listener}
        reason = f"No rules apply to {accepted.peer_name}"
        effects(Fact("info", "authentication-failed", {**fields, "reason": reason}))
        effects(Close(accepted.connection_id))
    return principal
