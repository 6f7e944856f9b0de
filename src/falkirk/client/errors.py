"""Errors between a client and a cluster; each names the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.error_codes import error_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.endpoint import Endpoint


class ClientError(Exception):
    """Base of the client's errors; the text is one line for an operator."""


class ClientConfigError(ClientError):
    """A property of the connection has an invalid or unsupported value."""


class ConnectionFailedError(ClientError):
    """The connection cannot be opened, broke, or carried bytes that do not parse."""

    def __init__(self, endpoint: Endpoint, reason: str) -> None:
        self.endpoint = endpoint
        self.reason = reason
        super().__init__(f"{endpoint}: {reason}")


class NotAuthenticatedError(ClientError):
    """SASL failed: the node rejected the credentials, or could not prove that it knows them."""

    def __init__(self, endpoint: Endpoint, reason: str) -> None:
        self.endpoint = endpoint
        self.reason = reason
        super().__init__(f"{endpoint}: authentication failed: {reason}")


class RequestTimedOutError(ConnectionFailedError):
    """The node did not answer in time; the connection is closed."""


class NodeRefusedError(ClientError):
    """The node answered with an error."""

    def __init__(self, endpoint: Endpoint, api_name: str, error_code: int, message: str | None = None) -> None:
        self.endpoint = endpoint
        self.api_name = api_name
        self.error_code = error_code
        super().__init__(f"{endpoint}: {api_name}: {error_name(error_code)}{': ' + message if message else ''}")


class NoNodeReachedError(ClientError):
    """No bootstrap server answered; one line for each."""

    def __init__(self, failures: Sequence[ClientError]) -> None:
        self.failures = tuple(failures)
        super().__init__("\n".join(map(str, failures)))


class NoControllerError(ClientError):
    """The node knows no active controller, or not its address."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        super().__init__(f"{endpoint}: the node knows no active controller")


class UnknownNodeError(ClientError):
    """The cluster has no node of this id, of the kind that the bootstrap servers are."""

    def __init__(self, endpoint: Endpoint, node_id: int) -> None:
        self.endpoint = endpoint
        self.node_id = node_id
        super().__init__(f"{endpoint}: the cluster has no node {node_id}")


class UnsupportedUpdateError(ClientError):
    """The controller has version 0 of UpdateFeatures alone, which cannot express the request."""

    def __init__(self, endpoint: Endpoint, requested: str) -> None:
        self.endpoint = endpoint
        self.requested = requested
        super().__init__(
            f"{endpoint}: {requested} needs version 1 of UpdateFeatures, and the controller has version 0 alone"
        )


class FeatureUpdateFailedError(ClientError):
    """A feature was not changed."""

    def __init__(self, endpoint: Endpoint, feature: str, error_code: int, message: str) -> None:
        self.endpoint = endpoint
        self.feature = feature
        self.error_code = error_code
        super().__init__(f"{endpoint}: {feature}: {error_name(error_code)}: {message}")
