"""Saying who we are where a node asks for SASL."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from falkirk.client.errors import NotAuthenticatedError
from falkirk.protocol.sasl.client_exchange import SaslClientExchange, SaslQuestion, SaslRefusal, SaslStep

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.client.channel import Channel
    from falkirk.protocol.sasl.login import Login
    from falkirk.versions.supported_range import SupportedRange


async def authenticate(channel: Channel, login: Login, offered: Mapping[int, SupportedRange]) -> int | None:
    """Authenticate; give after how long (ms) to do so anew, None: the session does not end.

    Raises NotAuthenticatedError, or as `Channel.ask`.
    """
    exchange = SaslClientExchange(login, offered, random.SystemRandom())
    step: SaslStep = exchange.begin()
    while isinstance(step, SaslQuestion):
        step = exchange.take(await channel.ask(step.message, step.version))
    if isinstance(step, SaslRefusal):
        raise NotAuthenticatedError(channel.endpoint, step.reason)
    return step.reauthenticate_after_ms
