"""inter.broker.protocol.version: the protocol between brokers on ZooKeeper, by name or as a feature's level.

As a feature it is called `ibp-feature`, with level 1 for the first protocol that has finalized features. Once that is
finalized, the feature takes precedence over the brokers' configuration.
Source: KIP-584, deployment, IBP deprecation and avoidance of double rolls.
"""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.versions.errors import UnknownInterBrokerProtocolError
from falkirk.versions.metadata_version_rows import METADATA_VERSION_ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.release import Release

IBP_FEATURE: Final = "ibp-feature"
IBP_CONFIG: Final = "inter.broker.protocol.version"


@dataclass(frozen=True, slots=True, order=True)
class InterBrokerProtocol:
    """One value of inter.broker.protocol.version. Compared by age; made by `parse` and `of_feature_level`."""

    index: int

    @property
    def name(self) -> str:
        """Return the full name, as `2.7-IV0`."""
        return METADATA_VERSION_ROWS[self.index].name

    @property
    def supports_features(self) -> bool:
        """Return whether brokers advertise features and the controller finalizes them."""
        return self >= MIGRATION_IBP

    def __str__(self) -> str:
        """Return the name that operators use."""
        return self.name


class IbpSource(enum.Enum):
    """The source of the protocol: the finalized feature, or each broker's configuration."""

    FEATURE = IBP_FEATURE
    CONFIG = IBP_CONFIG


class EffectiveProtocol(NamedTuple):
    """The protocol in force, and its source."""

    protocol: InterBrokerProtocol
    source: IbpSource


def parse(text: str) -> InterBrokerProtocol:
    """Read `2.7-IV0`, or a release (`2.7`, `2.7.2`, `0.10.2.1`: the last protocol that it brought).

    Raises UnknownInterBrokerProtocolError.
    """
    segments = text.split(".")[: 3 if text.startswith("0.") else 2]
    found = _by_name().get(".".join(segments))
    if found is None:
        raise UnknownInterBrokerProtocolError(
            f"unknown {IBP_CONFIG} '{text}': known are {METADATA_VERSION_ROWS[0].name} to "
            f"{METADATA_VERSION_ROWS[-1].name}, and releases"
        )
    return found


def latest(release: Release) -> InterBrokerProtocol:
    """Return the highest protocol of a release: what its brokers speak by default."""
    return parse(release.latest_metadata_version.name)


def feature_level(protocol: InterBrokerProtocol) -> int:
    """Return the protocol's level as `ibp-feature`; it must not be older than MIGRATION_IBP."""
    assert protocol.supports_features
    return protocol.index - MIGRATION_IBP.index + 1


def of_feature_level(level: int) -> InterBrokerProtocol:
    """Return the protocol of a level of `ibp-feature`. Raises UnknownInterBrokerProtocolError."""
    index = MIGRATION_IBP.index + level - 1
    if not MIGRATION_IBP.index <= index < len(METADATA_VERSION_ROWS):
        highest = len(METADATA_VERSION_ROWS) - MIGRATION_IBP.index
        raise UnknownInterBrokerProtocolError(f"unknown level {level} of {IBP_FEATURE}: known are 1 to {highest}")
    return InterBrokerProtocol(index)


def effective(static: InterBrokerProtocol, finalized_level: int | None) -> EffectiveProtocol:
    """Return the protocol in force where `static` is configured; `finalized_level` None: the feature is not finalized.

    Raises UnknownInterBrokerProtocolError. Source: KIP-584, phase 3.
    """
    if finalized_level is None or not static.supports_features:
        return EffectiveProtocol(static, IbpSource.CONFIG)
    return EffectiveProtocol(of_feature_level(finalized_level), IbpSource.FEATURE)


@functools.cache
def _by_name() -> Mapping[str, InterBrokerProtocol]:
    """Return every protocol by its full name and the last one of each release also by the release."""
    named = {row.name: InterBrokerProtocol(index) for index, row in enumerate(METADATA_VERSION_ROWS)}
    releases = {name.partition("-")[0]: protocol for name, protocol in named.items()}
    return {**named, **releases}


MIGRATION_IBP: Final = parse("2.7-IV0")
"""The first protocol with which brokers advertise features: migration_ibp_version of KIP-584."""
