"""What clients can use: tables of versions, and a file of client features."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from falkirk.cli.api_versions_view import ClientTable
from falkirk.cli.failure import CommandFailedError
from falkirk.client.node_versions import NodeVersions, api_name, known_range
from falkirk.protocol.messages import REQUESTS
from falkirk.versions.api_support import Listener
from falkirk.versions.negotiation import UnsupportedApiError, common_ranges, missing_of_features
from falkirk.versions.release import Release, latest_release
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.client.errors import ClientError
    from falkirk.versions.negotiation import ApiRanges, AvoidedVersions


def client_table(release: str | None, listener: Listener, avoided: AvoidedVersions) -> ClientTable:
    """Give the versions of a Java client of a release, None: falkirk's own. Raises UnknownReleaseError."""
    if release is None:
        known = {key: versions for key in REQUESTS if (versions := known_range(key)) is not None}
        expected = frozenset(latest_release().api_ranges(listener))
        return ClientTable(release=None, ranges=known, expected=expected, avoided=avoided)
    found = Release.parse(release)
    ranges = {key: api.stable_versions for key, api in found.apis.items() if api.stable_versions is not None}
    served = Listener.ZK_BROKER if found.has_zookeeper and listener is Listener.BROKER else listener
    return ClientTable(release=found.name, ranges=ranges, expected=frozenset(found.api_ranges(served)), avoided=avoided)


def read_features(file: str) -> dict[str, dict[int, SupportedRange]]:
    """Read the map of client features to the versions that each works with. Raises CommandFailedError, OSError."""
    try:
        named = msgspec.json.decode(Path(file).read_bytes(), type=dict[str, dict[str, str]])
    except msgspec.MsgspecError as error:
        raise CommandFailedError(f"{file}: {error}") from error
    keys = {api_name(key): key for key in REQUESTS}
    features: dict[str, dict[int, SupportedRange]] = {}
    for feature, apis in named.items():
        features[feature] = {}
        for api, text in apis.items():
            key = int(api) if api.isascii() and api.isdigit() else keys.get(api)
            versions = _parse_versions(text)
            if key is None or versions is None:
                raise CommandFailedError(f"{file}: {feature}: '{api}': '{text}' is no API with its versions")
            features[feature][key] = versions
    return features


def missing_features(
    features: Mapping[str, ApiRanges], versions: Mapping[int, NodeVersions | ClientError], avoided: AvoidedVersions
) -> dict[str, tuple[UnsupportedApiError, ...]]:
    """Give what each feature lacks on the nodes that answered."""
    offered = common_ranges(found.api_ranges for found in versions.values() if isinstance(found, NodeVersions))
    return missing_of_features(features, offered, avoided)


def _parse_versions(text: str) -> SupportedRange | None:
    try:
        versions = SupportedRange.parse(text)
    except ValueError:
        return None
    return versions if versions is None or versions.lowest <= versions.highest else None
