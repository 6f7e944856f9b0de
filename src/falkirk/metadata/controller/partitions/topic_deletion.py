"""Topic deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.state.operation_limit import BATCH_TOO_LARGE, is_too_large
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import RemoveTopicRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.controller.state.mutation_quota import MutationQuota


def delete_topics(
    state: ControllerState, topic_ids: Iterable[bytes], quota: MutationQuota
) -> ControllerResult[dict[bytes, ApiError]]:
    """Remove topics by id, each with its configs, in one atomic batch; return the result of each id."""
    records, errors = [], {}
    for topic_id in topic_ids:
        if topic_id in errors:
            continue
        name = state.image.topics.names.get(topic_id)
        if name is None:
            errors[topic_id] = ApiError(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
            continue
        errors[topic_id] = error = quota.accept(state.image.topics.by_name[name].partition_count)
        if not error.is_failure:
            records.append(VersionedRecord(RemoveTopicRecord(topic_id), 0))
    if is_too_large(records):
        return ControllerResult((), dict.fromkeys(errors, BATCH_TOO_LARGE))
    return ControllerResult(tuple(records), errors)
