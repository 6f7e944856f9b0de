"""How the releases' transaction coordinators differ, found in their source and class files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode
from falkirk.versions.errors import IncompleteReleaseError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.release import Release

LATEST_CLIENT_VERSION_WITHOUT_EPOCH_BUMP: Final = 4
"""EndTxn above this version: the client takes a new epoch with every transaction (transaction.version 2)."""
LATEST_ADD_PARTITIONS_VERSION_OF_CLIENTS: Final = 3
"""AddPartitionsToTxn above this version comes from brokers, for clients of transaction.version 2, or to verify."""


@dataclass(frozen=True, slots=True)
class TransactionRules:
    """`missing_partition_error`: of a partition that verification does not find in the transaction.

    `bumps_epochs`: transactions can have epochs of their own (KIP-890). `checks_pending_first`: AddPartitionsToTxn
    while markers are written gets CONCURRENT_TRANSACTIONS whatever its producer id and epoch are. `fences_twice`: at
    transaction.version 2, InitProducerId and timeouts raise the epoch of an open transaction by two (KAFKA-19367).
    `records_producer_ids`: flexible records keep the previous and next producer id. `skips_newer_values`: values of an
    unknown version are skipped when loading, instead of ending it.
    """

    missing_partition_error: ErrorCode
    bumps_epochs: bool
    checks_pending_first: bool
    fences_twice: bool
    records_producer_ids: bool
    skips_newer_values: bool


def transaction_rules(release: Release) -> TransactionRules:
    """Return the rules of a release. Raises IncompleteReleaseError for one that is not in the tables."""
    found = _RULES.get(release.name)
    if found is None:
        raise IncompleteReleaseError(f"the transaction coordinator of Kafka {release.name} is not known")
    return found


_3_8: Final = TransactionRules(
    missing_partition_error=ErrorCode.TRANSACTION_ABORTABLE,
    bumps_epochs=False,
    checks_pending_first=False,
    fences_twice=False,
    records_producer_ids=False,
    skips_newer_values=False,
)
_4_1: Final = replace(_3_8, bumps_epochs=True, checks_pending_first=True)
_4_3: Final = replace(_4_1, records_producer_ids=True, skips_newer_values=True)

_RULES: Final[Mapping[str, TransactionRules]] = {
    "3.7.2": replace(_3_8, missing_partition_error=ErrorCode.INVALID_TXN_STATE),
    "3.8.1": _3_8,
    "3.9.1": _3_8,
    "4.0.0": replace(_4_1, fences_twice=True),
    "4.1.1": _4_1,
    "4.2.1": _4_1,
    "4.3.1": _4_3,
    "4.4.0": _4_3,
}
