"""What a run's history of transactions accepts and what it does not."""

import pytest

from falkirk.simulation.history.data_history import PartitionKey
from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.simulation.history.transaction_history import Fate, Owner, TransactionHistory

KEYS = (PartitionKey(b"t" * 16, 0), PartitionKey(b"t" * 16, 1))


def begun():
    history = TransactionHistory()
    return history, history.begin("id", "ann", [0, 1], has_offset=True)


def test_a_committed_transaction_is_read_whole():
    history, transaction = begun()
    transaction.fate = Fate.COMMITTING
    history.record_read(KEYS[0], transaction.values[0], "reader")
    with pytest.raises(InvariantViolatedError, match="TransactionsAreAtomic: 1 of 2 records are read"):
        history.check_atomic()
    history.record_read(KEYS[1], transaction.values[1], "reader")
    history.check_atomic()
    assert history.unfit_offset({"id": -1}) is not None
    assert history.unfit_offset({"id": 1}) is None


def test_what_is_committed_is_not_lost():
    history, transaction = begun()
    transaction.fate = Fate.COMMITTED
    with pytest.raises(InvariantViolatedError, match="0 of 2 records are read"):
        history.check_atomic()
    with pytest.raises(InvariantViolatedError, match="reader is told offset -1 of id, 1 was committed"):
        history.check_offset("id", -1, history.offset_at_least("id"), "reader")


def test_nothing_is_read_of_a_transaction_that_is_not_to_be_committed():
    history, transaction = begun()
    with pytest.raises(InvariantViolatedError, match="NoAbortedRecordIsRead: reader reads id-0:1"):
        history.record_read(KEYS[0], transaction.values[0], "reader")
    with pytest.raises(InvariantViolatedError, match="NoAbortedRecordIsRead: reader is told an offset"):
        history.check_offset("id", 1, -1, "reader")


def test_nothing_is_read_twice():
    history, transaction = begun()
    transaction.fate = Fate.COMMITTED
    history.record_read(KEYS[0], transaction.values[0], "reader")
    with pytest.raises(InvariantViolatedError, match="twice"):
        history.record_read(KEYS[0], transaction.values[0], "reader")


def test_an_epoch_has_one_owner():
    history, transaction = begun()
    history.record_owner("ann", Owner(7, 0))
    with pytest.raises(InvariantViolatedError, match="OneEpochOwner"):
        history.record_owner("bea", Owner(7, 0))
    assert not history.is_fenced("ann", Owner(7, 0))
    history.record_owner("bea", Owner(7, 1))
    assert history.is_fenced("ann", Owner(7, 0))
    with pytest.raises(InvariantViolatedError, match="is ended by a client that was fenced before"):
        history.record_ended(transaction, Fate.COMMITTED, was_fenced=True)
