"""The guarantees to transactions: all of one is seen or nothing, once, and only its owner ends it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from falkirk.simulation.history.data_history import PartitionKey, make_value, shown
from falkirk.simulation.history.invariant import InvariantViolatedError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Fate(Enum):
    """What a client knows of its transaction."""

    OPEN = "open"
    """No commit was requested: it can only be aborted."""
    COMMITTING = "committing"
    """A commit was requested, its outcome is unknown."""
    COMMITTED = "committed"
    ABORTED = "aborted"


class Owner(NamedTuple):
    """A producer id and epoch: one client at a time has them."""

    producer_id: int
    epoch: int


@dataclass(slots=True, eq=False)
class Transaction:
    """One transaction: its records by partition of the topic, and the offset that it commits (None: none).

    `number` counts the transactions of a transactional id, so that later ones commit higher offsets.
    """

    transactional_id: str
    number: int
    client: str
    values: "Mapping[int, bytes]"
    has_offset: bool
    fate: Fate = Fate.OPEN
    seen: set[PartitionKey] = field(default_factory=set)

    def __str__(self) -> str:
        """Return its name for messages."""
        return f"transaction {self.number} of {self.transactional_id} by {self.client}, {self.fate.value}"


class TransactionHistory:
    """All transactions of a run. Raises InvariantViolatedError where a guarantee is violated."""

    def __init__(self) -> None:
        self.transactions: dict[str, list[Transaction]] = {}
        self._by_value: dict[bytes, Transaction] = {}
        self._owners: dict[Owner, str] = {}
        # By producer id.
        self._newest: dict[int, Owner] = {}

    def begin(self, transactional_id: str, client: str, partitions: list[int], *, has_offset: bool) -> Transaction:
        """Begin a transaction with a record in each of some partitions."""
        mine = self.transactions.setdefault(transactional_id, [])
        number = len(mine) + 1
        values = {each: make_value(f"{transactional_id}-{each}", number, 10) for each in partitions}
        transaction = Transaction(transactional_id, number, client, values, has_offset)
        mine.append(transaction)
        self._by_value.update(dict.fromkeys(values.values(), transaction))
        return transaction

    def count(self, fate: Fate) -> int:
        """Return how many transactions have a fate."""
        return sum(each.fate is fate for mine in self.transactions.values() for each in mine)

    # --- One owner

    def record_owner(self, client: str, owner: Owner) -> None:
        """Record a producer id and epoch that a client was given, by InitProducerId or for its next transaction."""
        known = self._owners.setdefault(owner, client)
        if known != client:
            raise InvariantViolatedError("OneEpochOwner", f"{owner} is given to {client}, {known} has had it")
        self._newest[owner.producer_id] = max(owner, self._newest.get(owner.producer_id, owner))

    def is_fenced(self, client: str, owner: Owner) -> bool:
        """Return whether another client was given a later epoch of the producer id."""
        return self._owners[self._newest[owner.producer_id]] != client

    def record_ended(self, transaction: Transaction, fate: Fate, *, was_fenced: bool) -> None:
        """Record an acknowledged end; `was_fenced`: its client was, before it requested the end."""
        if was_fenced:
            raise InvariantViolatedError("OneEpochOwner", f"{transaction} is ended by a client that was fenced before")
        transaction.fate = fate

    # --- Atomicity

    def record_read(self, key: PartitionKey, value: bytes, reader: str) -> None:
        """Record a value that READ_COMMITTED has shown: its transaction must be committed, and shows it once."""
        transaction = self._by_value[value]
        if transaction.fate in {Fate.OPEN, Fate.ABORTED}:
            raise InvariantViolatedError("NoAbortedRecordIsRead", f"{reader} reads {shown(value)}: {transaction}")
        if key in transaction.seen:
            raise InvariantViolatedError("TransactionsAreAtomic", f"{reader} reads {shown(value)} twice")
        transaction.seen.add(key)

    def offset_at_least(self, transactional_id: str) -> int:
        """Return the highest offset whose transaction is known to be committed; -1 if there is none."""
        mine = self.transactions.get(transactional_id, [])
        return max((each.number for each in mine if each.has_offset and each.fate is Fate.COMMITTED), default=-1)

    def check_offset(self, transactional_id: str, offset: int, at_least: int, reader: str) -> None:
        """Check a stable offset that was fetched, -1 for none, when those up to `at_least` were committed."""
        if offset < at_least:
            raise InvariantViolatedError(
                "TransactionsAreAtomic",
                f"{reader} is told offset {offset} of {transactional_id}, {at_least} was committed",
            )
        if offset < 0:
            return
        transaction = self.transactions[transactional_id][offset - 1]
        if transaction.fate in {Fate.OPEN, Fate.ABORTED}:
            raise InvariantViolatedError("NoAbortedRecordIsRead", f"{reader} is told an offset of {transaction}")

    def unfit_offset(self, offsets: Mapping[str, int]) -> str | None:
        """Return which of the last offsets is not that of the last transaction whose records are read; None if all are.

        `offsets`: by transactional id.
        """
        for transactional_id, mine in self.transactions.items():
            expected = max((each.number for each in mine if each.seen and each.has_offset), default=-1)
            offset = offsets.get(transactional_id)
            if offset != expected:
                return f"the offset of {transactional_id} is {offset}, records are read of transaction {expected}"
        return None

    def check_atomic(self) -> None:
        """Check that records of a transaction are read all or not at all, when everything has been read."""
        for mine in self.transactions.values():
            for each in mine:
                whole = len(each.values)
                if len(each.seen) != whole and (each.seen or each.fate is Fate.COMMITTED):
                    raise InvariantViolatedError(
                        "TransactionsAreAtomic", f"{len(each.seen)} of {whole} records are read of {each}"
                    )
