"""The transactional ids of a shard and their states."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.coordinator.runtime.outcome import Outcome
from falkirk.coordinator.transactions.transaction_records import recorded_metadata, transaction_record
from falkirk.coordinator.transactions.transaction_rules import transaction_rules
from falkirk.parted_dict import PartedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from falkirk.coordinator.runtime.outcome import Reply
    from falkirk.coordinator.runtime.transaction_markers import TransactionMarkers
    from falkirk.coordinator.transactions.context import TransactionContext
    from falkirk.coordinator.transactions.transaction_metadata import TransactionMetadata
    from falkirk.protocol.error_codes import ErrorCode
    from falkirk.protocol.messages import TransactionLogValue
    from falkirk.protocol.topic_partition import TopicPartition


class TransactionStore:
    """`ongoing`: ids with an open transaction. `unmarked`: by id of a decided one, its partitions without marker."""

    def __init__(self, context: TransactionContext) -> None:
        self._context = context
        self._rules = transaction_rules(context.release)
        self._by_id: PartedDict[str, TransactionMetadata] = PartedDict()
        self.ongoing: dict[str, None] = {}
        self.unmarked: dict[str, set[TopicPartition]] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def get(self, transactional_id: str) -> TransactionMetadata | None:
        """Return the state of an id; None if it is unknown, or has expired."""
        return self._by_id.get(transactional_id)

    def ids(self) -> Sequence[str]:
        """Return all ids."""
        return list(self._by_id)

    def all(self) -> Iterable[TransactionMetadata]:
        """Return the states of all ids."""
        return self._by_id.values()

    def replay(self, transactional_id: str, value: TransactionLogValue | None) -> None:
        """Replay a record. Raises ValueError for an unknown state."""
        if value is None:
            self._by_id.pop(transactional_id)
            self.ongoing.pop(transactional_id, None)
            self.unmarked.pop(transactional_id, None)
        else:
            self._put(recorded_metadata(transactional_id, value))

    def write(
        self,
        metadata: TransactionMetadata,
        *,
        replies: Sequence[Reply] = (),
        markers: Sequence[TransactionMarkers] = (),
        on_refused: Callable[[ErrorCode], Sequence[Reply]] | None = None,
    ) -> Outcome:
        """Return the outcome that leads to a state. What no record of its version holds is kept in memory."""
        record = transaction_record(metadata, self._context.transaction_version, self._rules)
        return Outcome(
            records=(record,),
            replies=replies,
            markers=markers,
            on_written=partial(self._remember, metadata),
            on_refused=on_refused,
        )

    def _remember(self, metadata: TransactionMetadata) -> Sequence[Reply]:
        self._put(metadata)
        return ()

    def _put(self, metadata: TransactionMetadata) -> None:
        transactional_id = metadata.transactional_id
        self._by_id[transactional_id] = metadata
        if metadata.state is TransactionState.ONGOING:
            self.ongoing[transactional_id] = None
        else:
            self.ongoing.pop(transactional_id, None)
        if metadata.is_prepared:
            self.unmarked[transactional_id] = set(metadata.partitions)
        else:
            self.unmarked.pop(transactional_id, None)
