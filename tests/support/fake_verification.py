"""A fake of the verification of transactions, for handler tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.node.broker.transaction_verification.transaction_verification import (
    TransactionalAppend,
    TransactionVerification,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.error_codes import ErrorCode
    from falkirk.protocol.topic_partition import TopicPartition

GUARD = 7


class FakeVerification(TransactionVerification):
    """Records what is to be verified, and answers at once; `errors` by partition."""

    def __init__(self, errors: Mapping[TopicPartition, ErrorCode] | None = None) -> None:
        self.errors = errors or {}
        self.asked: list[TransactionalAppend] = []

    def verify(self, append: TransactionalAppend) -> None:
        self.asked.append(append)
        keys = {key.topic_partition: key for key in append.sequences}
        errors = {keys[partition]: error for partition, error in self.errors.items()}
        append.done(Verdict(errors, {key: GUARD for key in append.sequences if key not in errors}))
