"""What can go wrong between us and a cluster; each error names the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.error_codes import error_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.endpoint import Endpoint


class ClientError(Exception):
    """Base of everything that the client raises on purpose; its text is one line for an operator."""


class ClientConfigError(ClientError):
    """A property of the connection has a value that we cannot work with."""


class ConnectionFailedError(ClientError):
    """No connection to the node, or it broke, or what came over it cannot be read."""

    def __init__(self, endpoint: Endpoint, reason: str) -> None:
        self.endpoint = endpoint
        self.reason = reason
        super().__init__(f"{endpoint}: {reason}")


class NotAuthenticatedError(ClientError):
    """The node does not take us for who we say we are, or we do not take it for a node that knows us."""

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
    """None of the bootstrap servers answered; one line for each."""

    def __init__(self, failures: Sequence[ClientError]) -> None:
        self.failures = tuple(failures)
        super().__init__("\n".join(map(str, failures)))


class NoControllerError(ClientError):
    """The node does not know who the active controller is, or at which address."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        super().__init__(f"{endpoint}: the node knows no active controller")


class UnknownNodeError(ClientError):
    """The cluster has no node of this id, among those that the bootstrap servers are of."""

    def __init__(self, endpoint: Endpoint, node_id: int) -> None:
        self.endpoint = endpoint
        self.node_id = node_id
        super().__init__(f"{endpoint}: the cluster has no node {node_id}")


class UnsupportedUpdateError(ClientError):
    """The controller has version 0 of UpdateFeatures alone, which cannot say what was asked for."""

    def __init__(self, endpoint: Endpoint, asked: str) -> None:
        self.endpoint = endpoint
        self.asked = asked
        super().__init__(
            f"{endpoint}: {asked} needs version 1 of UpdateFeatures, and the controller has version 0 alone"
        )


class FeatureUpdateFailedError(ClientError):
    """A feature was not changed."""

    def __init__(self, endpoint: Endpoint, feature: str, error_code: int, message: str) -> None:
        self.endpoint = endpoint
        self.feature = feature
        self.error_code = error_code
        super().__init__(f"{endpoint}: {feature}: {error_name(error_code)}: {message}")
