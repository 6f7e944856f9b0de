"""Rules of feature updates that hold in KRaft and ZooKeeper mode alike.

What is wrong with an update is a value; each mode answers it with the message and error code that Kafka has there.
Source: KIP-584, validations; KIP-778, UpgradeType.
"""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.upgrade_type import UpgradeType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.protocol.messages import UpdateFeaturesRequest
    from falkirk.versions.supported_range import SupportedRange

_UPGRADE_TYPE_FROM: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureUpdate:
    """A requested level of a feature; 0 removes it. `upgrade_type` is None if the request's number is unknown."""

    name: str
    level: int
    upgrade_type: UpgradeType | None

    @property
    def is_downgrade(self) -> bool:
        """True if the request allows the level to fall."""
        return self.upgrade_type in {UpgradeType.SAFE_DOWNGRADE, UpgradeType.UNSAFE_DOWNGRADE}


class Fault(enum.Enum):
    """What is wrong with an update, whatever servers support."""

    NO_NAME = "no name"
    REPEATED = "repeated"
    UNANNOUNCED_DOWNGRADE = "unannounced downgrade"
    RISING_DOWNGRADE = "rising downgrade"


def read_updates(request: UpdateFeaturesRequest, api_version: int) -> tuple[FeatureUpdate, ...]:
    """Return the updates in the request's order.

    Version 0's AllowDowngrade is a SAFE downgrade, as on ZooKeeper. Differs from Kafka, whose KRaft controllers
    ignore it.
    """
    return tuple(
        FeatureUpdate(
            name=each.feature,
            level=each.max_version_level,
            upgrade_type=_of_flag(allow_downgrade=each.allow_downgrade)
            if api_version < _UPGRADE_TYPE_FROM
            else _of_number(each.upgrade_type),
        )
        for each in request.feature_updates
    )


def malformed(updates: Iterable[FeatureUpdate]) -> dict[str, Fault]:
    """Return the features whose updates are ambiguous: NO_NAME, and REPEATED if named twice.

    Differs from Kafka, which applies one of two updates of one feature.
    """
    counts = Counter(update.name for update in updates)
    return {name: Fault.REPEATED if name else Fault.NO_NAME for name, count in counts.items() if count > 1 or not name}


def direction_fault(update: FeatureUpdate, current: int) -> Fault | None:
    """Return the fault of a level that falls although the request does not allow it, or rises in a downgrade."""
    if update.level < current and not update.is_downgrade:
        return Fault.UNANNOUNCED_DOWNGRADE
    if update.level > current and update.is_downgrade:
        return Fault.RISING_DOWNGRADE
    return None


def unsupported_clause(server: str, supported: SupportedRange | None) -> str:
    """Return in Kafka's words what a server, as `Broker 1`, supports instead, without a full stop."""
    if supported is None or supported.highest == 0:
        return f"{server} does not support this feature"
    return f"{server} only supports versions {supported}"


def _of_flag(*, allow_downgrade: bool) -> UpgradeType:
    return UpgradeType.SAFE_DOWNGRADE if allow_downgrade else UpgradeType.UPGRADE


def _of_number(number: int) -> UpgradeType | None:
    return next((known for known in UpgradeType if known == number), None)
