"""How `falkirk groups` connects to a cluster, and how it words the refusals of brokers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from falkirk.cli.console.client_config import read_client_config
from falkirk.cli.console.failure import CommandFailedError, WrongUsageError
from falkirk.cli.groups.kafka_exceptions import exception_message, exception_text
from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import parse_servers
from falkirk.client.event_loop import run
from falkirk.operations.errors import (
    CommitRefusedError,
    InvalidInputError,
    OperationError,
    RefusedError,
    TopicRefusedError,
)

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from falkirk.client.config import ClientConfig
    from falkirk.protocol.endpoint import Endpoint

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConnection:
    """Bootstrap servers. `timeout_ms`: how long each call retries while coordinators move."""

    servers: tuple[Endpoint, ...]
    config: ClientConfig
    timeout_ms: int

    def admin(self) -> AsyncAdmin:
        """Return an Admin of these servers."""
        return AsyncAdmin(self.servers, self.config)


def group_connection(servers: str | None, command_config: str | None, timeout_ms: int) -> GroupConnection:
    """Read the connection options. Raises WrongUsageError without servers; ClientConfigError, OSError."""
    if servers is None:
        raise WrongUsageError("name the brokers with --bootstrap-server")
    config = read_client_config(command_config).within(timeout_ms)
    return GroupConnection(servers=parse_servers(servers), config=config, timeout_ms=timeout_ms)


def run_operation(operation: Coroutine[Any, Any, T]) -> T:  # Any: what a coroutine yields to its event loop
    """Run an operation on groups, and raise its errors in the words of kafka-consumer-groups."""
    try:
        return run(operation)
    except InvalidInputError:
        raise
    except (TopicRefusedError, CommitRefusedError) as error:
        raise _command_failed(exception_message(error.refusal)) from error
    except RefusedError as refused_error:
        raise _command_failed(exception_text(refused_error.refusal)) from refused_error
    except OperationError as operation_error:
        raise _command_failed(str(operation_error)) from operation_error


def _command_failed(reason: str) -> CommandFailedError:
    return CommandFailedError(f"\nError: Executing consumer group command failed due to {reason}")
