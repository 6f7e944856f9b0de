"""Checks of a registering node: its features and its log directories. Source: KIP-584, KIP-858.

The texts are Kafka's: operators search logs for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.uuid import is_reserved_uuid, uuid_text
from falkirk.versions.features import unsupported_features
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.metadata.image.cluster import ClusterImage


class FeatureRange(Protocol):
    """A feature of a registration, or of the request for one, of a broker or of a controller."""

    @property
    def name(self) -> str:
        """As in the tables of a release."""
        ...

    @property
    def min_supported_version(self) -> int:
        """The lowest level."""
        ...

    @property
    def max_supported_version(self) -> int:
        """The highest level."""
        ...


def unsupported_feature_error(
    node: str, features: Iterable[FeatureRange], finalized: Mapping[str, int]
) -> ApiError | None:
    """Return UNSUPPORTED_VERSION for the first finalized level that the node does not support; None if all are.

    `node`: the node as the sentence names it. A feature that the node does not list is supported at level 0.
    Differs from Kafka: level 0 is never refused. Kafka 4 refuses it from brokers that report 1 as their lowest level
    because versions below 4 of the request cannot carry 0 (KAFKA-17492).
    """
    ranges = {
        feature.name: SupportedRange(feature.min_supported_version, feature.max_supported_version)
        for feature in features
    }
    found = next(iter(unsupported_features(finalized, ranges)), None)
    if found is None:
        return None
    lowest, highest = (0, 0) if found.supported is None else (found.supported.lowest, found.supported.highest)
    return ApiError(
        ErrorCode.UNSUPPORTED_VERSION,
        f"Unable to register because the {node} does not support finalized version {found.level} of {found.name}. "
        f"The {node} wants a version between {lowest} and {highest}, inclusive.",
    )


def directories_error(broker_id: int, directories: Sequence[bytes], cluster: ClusterImage) -> ApiError | None:
    """Return INVALID_REGISTRATION if log directories are missing, reserved or taken; None if they are valid."""
    problem = _directory_problem(broker_id, directories, cluster)
    return None if problem is None else ApiError(ErrorCode.INVALID_REGISTRATION, problem)


def _directory_problem(broker_id: int, directories: Sequence[bytes], cluster: ClusterImage) -> str | None:
    if not directories:
        return "No directories specified in request"
    if any(is_reserved_uuid(directory) for directory in directories):
        return "Reserved directory ID in request"
    if len(set(directories)) != len(directories):
        return "Duplicate directory ID in request"
    for other in cluster.brokers.values():
        if other.broker_id != broker_id:
            for directory in directories:
                if directory in other.log_dirs:
                    return f"Broker {other.broker_id} is already registered with directory {uuid_text(directory)}"
    return None
