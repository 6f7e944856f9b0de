"""Changes of the quorum's voters and removals of registrations, each decided by the active controller.

Sources: KIP-853 (AddRaftVoter, RemoveRaftVoter), KIP-631 (UnregisterBroker), Kafka 4.4 (UnregisterController).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.client.errors import NodeRefusedError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
    UnregisterControllerRequest,
    UnregisterControllerResponse,
)
from falkirk.protocol.messages.add_raft_voter_request import Listener

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.client.admin import AsyncAdmin
    from falkirk.protocol.endpoint import Endpoint

    Request = AddRaftVoterRequest | RemoveRaftVoterRequest | UnregisterBrokerRequest | UnregisterControllerRequest


async def add_voter(
    admin: AsyncAdmin, voter_id: int, directory_id: bytes, listeners: Mapping[str, Endpoint], *, timeout_ms: int
) -> None:
    """Make an observer a voter; `listeners`: its endpoints by listener name. Raises NodeRefusedError, as all here."""
    request = AddRaftVoterRequest(
        cluster_id=None,
        timeout_ms=timeout_ms,
        voter_id=voter_id,
        voter_directory_id=directory_id,
        listeners=[Listener(name, endpoint.host, endpoint.port) for name, endpoint in listeners.items()],
    )
    await _decide(admin, request, "AddRaftVoter", timeout_ms=timeout_ms)


async def remove_voter(admin: AsyncAdmin, voter_id: int, directory_id: bytes) -> None:
    """Make a voter an observer."""
    request = RemoveRaftVoterRequest(cluster_id=None, voter_id=voter_id, voter_directory_id=directory_id)
    await _decide(admin, request, "RemoveRaftVoter")


async def unregister_broker(admin: AsyncAdmin, broker_id: int) -> None:
    """Remove the registration of a broker."""
    await _decide(admin, UnregisterBrokerRequest(broker_id=broker_id), "UnregisterBroker")


async def unregister_controller(admin: AsyncAdmin, controller_id: int) -> None:
    """Remove the registration of a controller; from metadata.version 4.4-IV2 on."""
    await _decide(admin, UnregisterControllerRequest(controller_id=controller_id), "UnregisterController")


async def _decide(admin: AsyncAdmin, request: Request, api_name: str, *, timeout_ms: int = 0) -> None:
    node = await admin.deciding_node()
    response = await node.request(request, timeout_ms=timeout_ms + admin.config.request_timeout_ms)
    assert isinstance(
        response,
        AddRaftVoterResponse | RemoveRaftVoterResponse | UnregisterBrokerResponse | UnregisterControllerResponse,
    )
    if response.error_code != ErrorCode.NONE:
        raise NodeRefusedError(node.endpoint, api_name, response.error_code, response.error_message)
