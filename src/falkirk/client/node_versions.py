"""A node's answer to ApiVersions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from falkirk.protocol.messages import REQUESTS, message_class
from falkirk.protocol.metadata_progress_tags import decode_metadata_progress
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.messages import ApiVersionsResponse
    from falkirk.protocol.metadata_progress_tags import MetadataProgress

API_VERSIONS: Final = 18


@dataclass(frozen=True, slots=True)
class FinalizedVersionRange:
    """The finalized levels of a feature: those below the minimum are deprecated.

    From nodes with a quorum both ends are the same (KIP-778); on ZooKeeper they may differ (KIP-584).
    """

    min_version_level: int
    max_version_level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeVersions:
    """APIs by key; features by name, in the node's order. `finalized_features_epoch`: None if there was none.

    Below version 4 of the response, supported features whose lowest level is 0 are missing. `metadata_progress`: the
    node's progress in the metadata log; None if it was not requested, or the node is none of falkirk's.
    """

    api_ranges: Mapping[int, SupportedRange]
    supported_features: Mapping[str, SupportedRange]
    finalized_features: Mapping[str, FinalizedVersionRange]
    finalized_features_epoch: int | None
    metadata_progress: MetadataProgress | None = None

    @classmethod
    def of(cls, response: ApiVersionsResponse) -> NodeVersions:
        """Convert a response without an error."""
        epoch = response.finalized_features_epoch
        return cls(
            api_ranges={key.api_key: SupportedRange(key.min_version, key.max_version) for key in response.api_keys},
            supported_features={
                feature.name: SupportedRange(feature.min_version, feature.max_version)
                for feature in response.supported_features
            },
            finalized_features={
                feature.name: FinalizedVersionRange(feature.min_version_level, feature.max_version_level)
                for feature in response.finalized_features
            },
            finalized_features_epoch=None if epoch < 0 else epoch,
            metadata_progress=decode_metadata_progress(response.unknown_tagged_fields),
        )


@cache
def known_range(api_key: int) -> SupportedRange | None:
    """Return the versions of an API that falkirk can read and write; None for an unknown API."""
    name = REQUESTS.get(api_key)
    if name is None:
        return None
    versions = message_class(name).SCHEMA.info.versions.ranges
    return SupportedRange(versions[0][0], versions[-1][1])


def api_name(api_key: int) -> str | None:
    """Return the name of an API as Kafka's tools print it; None for an unknown API."""
    name = REQUESTS.get(api_key)
    return None if name is None else name.removesuffix("Request")
