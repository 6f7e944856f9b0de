"""A manager's decision: records to append, and the response to send when they are committed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from falkirk.metadata.controller.state.prepared_lowering import PreparedLowering
    from falkirk.metadata.records.batch import VersionedRecord

R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ControllerResult(Generic[R_co]):
    """Nothing has changed yet: the driver appends `records`, replays them, and answers once they are committed.

    Without records the answer still waits for what was appended before: it may rest on it. `is_atomic`: all records
    take effect together or not at all, so they go into one batch; others may be spread over several. `transaction`:
    what goes before them over as many batches as it takes, from the BeginTransactionRecord on whose
    EndTransactionRecord is the last of `records`. `answer_by_ms`: from then on the answer is REQUEST_TIMED_OUT,
    whatever becomes of the records; None: it waits as long as it takes. `prepared`: what replaying them does to topics.
    """

    records: "tuple[VersionedRecord, ...]"
    response: R_co
    is_atomic: bool = True
    transaction: "tuple[VersionedRecord, ...]" = ()
    answer_by_ms: int | None = None
    prepared: "PreparedLowering | None" = None
