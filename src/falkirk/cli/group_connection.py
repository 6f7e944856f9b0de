"""How `falkirk groups` reaches a cluster, and how it says what a broker refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.cli.client_config import read_client_config
from falkirk.cli.failure import CommandFailedError, WrongUsageError
from falkirk.cli.kafka_exceptions import exception_text
from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import parse_servers

if TYPE_CHECKING:
    from falkirk.client.config import ClientConfig
    from falkirk.client.refusal import Refusal
    from falkirk.protocol.endpoint import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConnection:
    """Brokers to ask, and how long (ms) each question goes on while coordinators move."""

    servers: tuple[Endpoint, ...]
    config: ClientConfig
    timeout_ms: int

    def admin(self) -> AsyncAdmin:
        """Give an Admin of them."""
        return AsyncAdmin(self.servers, self.config)


def group_connection(servers: str | None, command_config: str | None, timeout_ms: int) -> GroupConnection:
    """Read the options. Raises WrongUsageError without servers; ClientConfigError, OSError."""
    if servers is None:
        raise WrongUsageError('Missing required argument "[bootstrap-server]"')
    config = read_client_config(command_config).within(timeout_ms)
    return GroupConnection(servers=parse_servers(servers), config=config, timeout_ms=timeout_ms)


def command_failed(reason: str) -> CommandFailedError:
    """Give the error that ends a command, in the words of kafka-consumer-groups."""
    return CommandFailedError(f"\nError: Executing consumer group command failed due to {reason}")


def refused(refusal: Refusal) -> CommandFailedError:
    """Give it for what a broker refused."""
    return command_failed(exception_text(refusal))
