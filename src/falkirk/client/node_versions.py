"""What a node told of itself in its answer to ApiVersions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from falkirk.client.feature_metadata import FinalizedVersionRange
from falkirk.protocol.messages import REQUESTS, message_class
from falkirk.protocol.metadata_progress_tags import decode_metadata_progress
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.messages import ApiVersionsResponse
    from falkirk.protocol.metadata_progress_tags import MetadataProgress

API_VERSIONS: Final = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeVersions:
    """APIs by key; features by name, in the node's order. `finalized_features_epoch` is None if none was told.

    Below version 4 of the answer, supported features whose lowest level is 0 are not told. `metadata_progress`: how far
    the node is with the metadata log; None if it was not asked, or is none of ours.
    """

    api_ranges: Mapping[int, SupportedRange]
    supported_features: Mapping[str, SupportedRange]
    finalized_features: Mapping[str, FinalizedVersionRange]
    finalized_features_epoch: int | None
    metadata_progress: MetadataProgress | None = None

    @classmethod
    def of(cls, response: ApiVersionsResponse) -> NodeVersions:
        """Take it from an answer without an error."""
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


def fallback_version(asked: int, response: ApiVersionsResponse) -> int | None:
    """Give the version in which to ask again after UNSUPPORTED_VERSION; None: there is no lower one.

    Nodes from 2.4 on tell their versions of ApiVersions with that error (KIP-511); others speak version 0.
    """
    told = next((key for key in response.api_keys if key.api_key == API_VERSIONS), None)
    highest = 0 if told is None else min(max(told.max_version, 0), asked - 1)
    return highest if highest < asked else None


@cache
def known_range(api_key: int) -> SupportedRange | None:
    """Give the versions of an API that we can read and write; None: we do not know it."""
    name = REQUESTS.get(api_key)
    if name is None:
        return None
    versions = message_class(name).SCHEMA.info.versions.ranges
    return SupportedRange(versions[0][0], versions[-1][1])


def api_name(api_key: int) -> str | None:
    """Give the name of an API as Kafka's tools print it; None: we do not know it."""
    name = REQUESTS.get(api_key)
    return None if name is None else name.removesuffix("Request")
