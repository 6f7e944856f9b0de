"""Blocks of producer ids. Source: KIP-730."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.cluster.broker_epoch import broker_of_epoch
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.image.producer_ids import NO_PRODUCER_IDS
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import AllocateProducerIdsResponse, ProducerIdsRecord

if TYPE_CHECKING:
    from falkirk.metadata.controller.state.controller_state import ControllerState

BLOCK_SIZE: Final = 1000
_PRODUCER_ID_MAX: Final = 2**63 - 1


class ProducerIdControl:
    """Allocates blocks of producer ids to brokers; no id is allocated twice."""

    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def allocate(self, broker_id: int, broker_epoch: int) -> ControllerResult[AllocateProducerIdsResponse] | ApiError:
        """Allocate the next block. Errors: STALE_BROKER_EPOCH; UNKNOWN_SERVER_ERROR once all ids are used up."""
        broker = broker_of_epoch(self._state.image.cluster, broker_id, broker_epoch)
        if isinstance(broker, ApiError):
            return broker
        next_id = self._state.image.producer_ids.next_producer_id
        first = 0 if next_id == NO_PRODUCER_IDS else next_id
        if first > _PRODUCER_ID_MAX - BLOCK_SIZE:
            return ApiError(
                ErrorCode.UNKNOWN_SERVER_ERROR,
                "Exhausted all producerIds as the next block's end producerId has exceeded the int64 type limit",
            )
        record = ProducerIdsRecord(broker_id, broker_epoch, first + BLOCK_SIZE)
        response = AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=BLOCK_SIZE)
        return ControllerResult((VersionedRecord(record, 0),), response)
