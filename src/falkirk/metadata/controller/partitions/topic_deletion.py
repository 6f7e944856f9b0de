"""Topic deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.state.operation_limit import BATCH_TOO_LARGE, is_too_large
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.metadata.requests.api_error import NO_ERROR, ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import RemoveTopicRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.metadata.controller.state.controller_state import ControllerState


def delete_topics(state: ControllerState, topic_ids: Iterable[bytes]) -> ControllerResult[dict[bytes, ApiError]]:
    """Remove topics by id, each with its configs, in one atomic batch; say what became of each id."""
    records, errors = [], {}
    for topic_id in topic_ids:
        if topic_id in errors:
            continue
        errors[topic_id] = NO_ERROR
        if topic_id in state.image.topics.names:
            records.append(VersionedRecord(RemoveTopicRecord(topic_id), 0))
        else:
            errors[topic_id] = ApiError(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
    if is_too_large(records):
        return ControllerResult((), dict.fromkeys(errors, BATCH_TOO_LARGE))
    return ControllerResult(tuple(records), errors)
