"""A node to talk to: connects when it is needed, learns what the node speaks, and learns it anew after each break.

What a node offers is good for one connection only: after a break it may run another release. Source: KIP-35.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import falkirk
from falkirk.client.authentication import authenticate
from falkirk.client.channel import Channel
from falkirk.client.errors import ConnectionFailedError, NodeRefusedError, RequestTimedOutError
from falkirk.client.node_versions import API_VERSIONS, NodeVersions, fallback_version, known_range
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ApiVersionsRequest, ApiVersionsResponse
from falkirk.protocol.metadata_progress_tags import METADATA_PROGRESS_SINCE, metadata_progress_question
from falkirk.versions.negotiation import highest_usable, usable_version
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from falkirk.client.config import ClientConfig
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage

_WITH_TAGS: Final = SupportedRange(METADATA_PROGRESS_SINCE, max(ApiVersionsRequest.SCHEMA.info.versions))


class NodeConnection:
    """Connects on the first request. Not tied to one TCP connection: a broken one is replaced by the next request."""

    def __init__(self, endpoint: Endpoint, config: ClientConfig) -> None:
        self.endpoint = endpoint
        self._config = config
        self._connecting = asyncio.Lock()
        self._channel: Channel | None = None
        self._versions: NodeVersions | None = None
        self._session_end_s: float | None = None

    async def versions(self) -> NodeVersions:
        """Give what the node told on this connection. Raises as `request`."""
        return (await self._connected())[1]

    async def refreshed_versions(self) -> NodeVersions:
        """Ask the node again, on the same connection: features change while it runs. Raises as `request`."""
        if self._is_open:
            channel, _ = await self._connected()
            try:
                self._versions = await self._negotiate(channel)
            except RequestTimedOutError:
                raise
            except ConnectionFailedError:
                pass  # it had been broken before we asked
            else:
                return self._versions
        return await self.versions()

    async def versions_with_progress(self) -> NodeVersions:
        """Ask anew, and how far the node is with the metadata log as well. Raises as `request`."""
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
        """Send a request in the highest version that both sides have; give the answer.

        `wanted`: versions that the caller can do with, None: all that we know. Errors in the answer are the caller's.
        `is_idempotent`: it is sent again on a new connection if the old one turns out to be broken.
        `timeout_ms`: how long the answer may take, None: as request.timeout.ms says.
        Raises UnsupportedApiError naming both ranges; ConnectionFailedError, RequestTimedOutError; NodeRefusedError if
        the node did not say what it speaks.
        """
        was_open = self._is_open
        channel, versions = await self._connected()
        try:
            return await channel.ask(message, self._version(message, versions, wanted), timeout_ms=timeout_ms)
        except RequestTimedOutError:
            raise
        except ConnectionFailedError:
            if not (was_open and is_idempotent):
                raise
        channel, versions = await self._connected()
        return await channel.ask(message, self._version(message, versions, wanted), timeout_ms=timeout_ms)

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
                    self._versions = await self._negotiate(self._channel)
                    await self._authenticate(self._channel, self._versions)
                except BaseException:
                    await self._channel.close()
                    self._channel = None
                    raise
            return self._channel, self._versions

    async def _authenticate(self, channel: Channel, versions: NodeVersions) -> None:
        self._session_end_s = None
        if self._config.login is not None:
            end_ms = await authenticate(channel, self._config.login, versions.api_ranges)
            if end_ms is not None:
                self._session_end_s = asyncio.get_running_loop().time() + end_ms / 1000

    @property
    def _session_has_ended(self) -> bool:
        """Say whether a new connection is due: the node closes one whose session has ended."""
        return self._session_end_s is not None and asyncio.get_running_loop().time() >= self._session_end_s

    async def _negotiate(self, channel: Channel) -> NodeVersions:
        """Ask in our highest version, and in a lower one as often as the node says that it has no such version."""
        known = known_range(API_VERSIONS)
        assert known is not None, "we know ApiVersions"
        version = highest_usable(known, known, self._config.avoided.get(API_VERSIONS, frozenset()))
        request = _versions_request()
        while version is not None:
            response = await channel.ask(request, version)
            assert isinstance(response, ApiVersionsResponse)
            if response.error_code == ErrorCode.NONE:
                return NodeVersions.of(response)
            if response.error_code != ErrorCode.UNSUPPORTED_VERSION:
                raise NodeRefusedError(self.endpoint, "ApiVersions", response.error_code)
            version = fallback_version(version, response)
        raise NodeRefusedError(self.endpoint, "ApiVersions", ErrorCode.UNSUPPORTED_VERSION)


def _versions_request() -> ApiVersionsRequest:
    return ApiVersionsRequest(
        client_software_name="falkirk", client_software_version=falkirk.__version__.replace("+", "-")
    )
