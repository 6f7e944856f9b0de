"""The transaction coordinator's settings in server.properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.transactions.context import TransactionSettings
from falkirk.node.config.static_configs import static_value
from falkirk.versions.configs.server import definitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.release import Release

_NUMBERS: Final[Mapping[str, str]] = {
    "transactional_id_expiration_ms": "transactional.id.expiration.ms",
    "transaction_max_timeout_ms": "transaction.max.timeout.ms",
    "abort_timed_out_transaction_cleanup_interval_ms": "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    "remove_expired_transaction_cleanup_interval_ms": "transaction.remove.expired.transaction.cleanup.interval.ms",
}
_TWO_PHASE_COMMIT: Final = "transaction.two.phase.commit.enable"


def transaction_settings(properties: Mapping[str, str], release: Release) -> TransactionSettings:
    """Return the settings; a release without two-phase commit does not enable it."""
    numbers: dict[str, int] = {}
    for field, key in _NUMBERS.items():
        value = static_value(properties, release, key)
        assert isinstance(value, int), f"{key} is a number"
        numbers[field] = value
    knows_two_phase_commit = _TWO_PHASE_COMMIT in definitions(release)
    return TransactionSettings(
        **numbers,
        two_phase_commit_enable=knows_two_phase_commit and static_value(properties, release, _TWO_PHASE_COMMIT) is True,
    )
