"""How much one request of an operator may change: its records go to the log as one batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.records.batch import VersionedRecord

RECORDS_MAX: Final = 10_000
PARTITIONS_MAX: Final = 10_000

TOO_MANY_PARTITIONS: Final = ApiError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
BATCH_TOO_LARGE: Final = ApiError(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")


def is_too_large(records: Sequence[VersionedRecord]) -> bool:
    """Return whether there are more records than one request may cause, as in Kafka."""
    return len(records) > RECORDS_MAX
