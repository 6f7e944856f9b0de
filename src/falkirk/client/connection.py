"""A node's connection: opened on demand, with the node's API versions learned anew on each TCP connection.

API versions hold for one TCP connection only: after a break the node may run another release. Source: KIP-35.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Final, assert_never

import falkirk
from falkirk.client.channel import Channel
from falkirk.client.errors import (
    ConnectionFailedError,
    NodeRefusedError,
    NotAuthenticatedError,
    RequestTimedOutError,
)
from falkirk.client.node_versions import API_VERSIONS, NodeVersions, known_range
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ApiVersionsRequest, ApiVersionsResponse
from falkirk.protocol.metadata_progress_tags import METADATA_PROGRESS_SINCE, metadata_progress_question
from falkirk.protocol.sasl.client_exchange import NextRequest, SaslRefusal
from falkirk.versions.client_handshake import ClientHandshake, ConnectionReady, VersionsRefusal
from falkirk.versions.negotiation import usable_version
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from falkirk.client.config import ClientConfig
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.sasl.login import Login
    from falkirk.protocol.schema import WireMessage

_WITH_TAGS: Final = SupportedRange(METADATA_PROGRESS_SINCE, max(ApiVersionsRequest.SCHEMA.info.versions))


class NodeConnection:
    """Connects on the first request, and again after the TCP connection breaks."""

    def __init__(self, endpoint: Endpoint, config: ClientConfig) -> None:
        self.endpoint = endpoint
        self._config = config
        self._connecting = asyncio.Lock()
        self._channel: Channel | None = None
        self._versions: NodeVersions | None = None
        self._session_end_s: float | None = None

    async def versions(self) -> NodeVersions:
        """Return the API versions of the current TCP connection. Raises as `request`."""
        return (await self._connected())[1]

    async def refreshed_versions(self) -> NodeVersions:
        """Fetch the API versions again, on the same TCP connection: features change meanwhile. Raises as `request`."""
        if self._is_open:
            channel, _ = await self._connected()
            try:
                self._versions = await self._shake_hands(channel)
            except RequestTimedOutError:
                raise
            except ConnectionFailedError:
                pass  # it had been broken before we asked
            else:
                return self._versions
        return await self.versions()

    async def versions_with_progress(self) -> NodeVersions:
        """Fetch the API versions again, with the node's progress in the metadata log. Raises as `request`."""
        request = _versions_request()
        request.unknown_tagged_fields = metadata_progress_question()
        response = await self.request(request, wanted=_WITH_TAGS, is_idempotent=True)
        assert isinstance(response, ApiVersionsResponse)
        if response.error_code != ErrorCode.NONE:
            raise NodeRefusedError(self.endpoint, "ApiVersions", response.error_code)
        return NodeVersions.of(response)

    async def request(
        self,
        message: WireMessage,
        *,
        wanted: SupportedRange | None = None,
        is_idempotent: bool = False,
        timeout_ms: int | None = None,
    ) -> WireMessage:
        """Send a request in the highest version that both sides have, and return the response.

        `wanted`: versions that the caller can use, None: all that we know. Error codes are left to the caller.
        `is_idempotent`: it is sent again on a new connection if the old one turns out to be broken.
        `timeout_ms`: of the response, None: request.timeout.ms.
        Raises UnsupportedApiError naming both ranges; ConnectionFailedError, RequestTimedOutError; NodeRefusedError if
        the node answers ApiVersions with an error.
        """
        was_open = self._is_open
        channel, versions = await self._connected()
        try:
            return await channel.request(message, self._version(message, versions, wanted), timeout_ms=timeout_ms)
        except RequestTimedOutError:
            raise
        except ConnectionFailedError:
            if not (was_open and is_idempotent):
                raise
        channel, versions = await self._connected()
        return await channel.request(message, self._version(message, versions, wanted), timeout_ms=timeout_ms)

    async def close(self) -> None:
        """Close the TCP connection, if there is one."""
        if self._channel is not None:
            await self._channel.close()

    @property
    def _is_open(self) -> bool:
        return self._channel is not None and self._channel.is_open

    def _version(self, message: WireMessage, versions: NodeVersions, wanted: SupportedRange | None) -> int:
        info = message.SCHEMA.info
        assert info.key is not None, "a request has a key"
        known = known_range(info.key)
        assert known is not None, "we know the messages that we have"
        avoided = self._config.avoided.get(info.key, frozenset())
        offered = versions.api_ranges.get(info.key)
        name = info.name.removesuffix("Request")
        return usable_version(name, info.key, wanted or known, offered, avoided, node=str(self.endpoint))

    async def _connected(self) -> tuple[Channel, NodeVersions]:
        async with self._connecting:
            if self._channel is not None and self._session_has_ended:
                await self._channel.close()
            if self._channel is None or self._versions is None or not self._channel.is_open:
                self._channel = await Channel.open(self.endpoint, self._config)
                try:
                    self._session_end_s = None
                    self._versions = await self._shake_hands(self._channel, self._config.login)
                except BaseException:
                    await self._channel.close()
                    self._channel = None
                    raise
            return self._channel, self._versions

    @property
    def _session_has_ended(self) -> bool:
        """Whether a new connection is due: the node closes one whose SASL session has ended."""
        return self._session_end_s is not None and asyncio.get_running_loop().time() >= self._session_end_s

    async def _shake_hands(self, channel: Channel, login: Login | None = None) -> NodeVersions:
        known = known_range(API_VERSIONS)
        assert known is not None, "we know ApiVersions"
        avoided = self._config.avoided.get(API_VERSIONS, frozenset())
        handshake = ClientHandshake(
            _versions_request(), known, avoided=avoided, login=login, random=random.SystemRandom()
        )
        step = handshake.begin()
        while isinstance(step, NextRequest):
            step = handshake.receive(await channel.request(step.message, step.version))
        match step:
            case ConnectionReady(reauthenticate_after_ms):
                if reauthenticate_after_ms is not None:
                    self._session_end_s = asyncio.get_running_loop().time() + reauthenticate_after_ms / 1000
            case VersionsRefusal(error_code):
                raise NodeRefusedError(self.endpoint, "ApiVersions", error_code)
            case SaslRefusal(reason):
                raise NotAuthenticatedError(self.endpoint, reason)
            case _:
                assert_never(step)
        assert handshake.versions is not None, "the connection is ready"
        return NodeVersions.of(handshake.versions)


def _versions_request() -> ApiVersionsRequest:
    return ApiVersionsRequest(
        client_software_name="falkirk", client_software_version=falkirk.__version__.replace("+", "-")
    )
