"""Which versions of APIs a client can use on a cluster, and which of its features work there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.client.node_versions import NodeVersions, api_name, known_range
from falkirk.operations.errors import OperationError
from falkirk.protocol.messages import REQUESTS
from falkirk.versions.api_support import Listener
from falkirk.versions.negotiation import UnsupportedApiError, common_ranges, highest_usable, missing_of_features
from falkirk.versions.release import Release, latest_release
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.client.errors import ClientError
    from falkirk.versions.negotiation import ApiRanges, AvoidedVersions

_DESCRIBE_CLUSTER: Final = 60
_GET_TELEMETRY_SUBSCRIPTIONS: Final = 71
# The version of DescribeCluster that returns whether a broker is fenced.
_FENCED_SINCE: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientApis:
    """The versions of a client. `release`: of a Java client; None: of falkirk's own.

    `expected`: APIs that are reported as UNSUPPORTED where a node lacks them; `avoided`: versions not to be used.
    `shows_fencing`: its tool prints whether a node is fenced (KIP-1073).
    """

    release: str | None
    ranges: ApiRanges
    expected: frozenset[int]
    avoided: AvoidedVersions
    shows_fencing: bool = True

    def usable(self, key: int, offered: SupportedRange) -> int | None:
        """Return the version that the client would use; None if it would use none."""
        known = self.ranges.get(key)
        return None if known is None else highest_usable(known, offered, self.avoided.get(key, frozenset()))

    def reason_unusable(self, key: int, offered: SupportedRange) -> str | None:
        """Return why it would use no version; None if it uses one, or does not know the API."""
        known = self.ranges.get(key)
        if known is None or self.usable(key, offered) is not None:
            return None
        if known.highest < offered.lowest:
            return "node too new"
        return "node too old" if offered.highest < known.lowest else "version avoided"


def client_apis(release: str | None, listener: Listener, avoided: AvoidedVersions) -> ClientApis:
    """Return the versions of a Java client of a release; None: falkirk's own. Raises UnknownReleaseError."""
    if release is None:
        known = {key: versions for key in REQUESTS if (versions := known_range(key)) is not None}
        expected = frozenset(latest_release().api_ranges(listener))
        return ClientApis(release=None, ranges=known, expected=expected, avoided=avoided)
    found = Release.parse(release)
    ranges = {key: api.stable_versions for key, api in found.apis.items() if api.stable_versions is not None}
    expected = frozenset(found.api_ranges(listener))
    if found.has_zookeeper and listener is Listener.BROKER:
        of_zookeeper = frozenset(found.api_ranges(Listener.ZK_BROKER))
        # Clients have expected APIs of KRaft brokers alone since there is one that is theirs (KIP-714).
        expected = of_zookeeper | (expected if _GET_TELEMETRY_SUBSCRIPTIONS in found.apis else frozenset())
    describe_cluster = ranges.get(_DESCRIBE_CLUSTER)
    return ClientApis(
        release=found.name,
        ranges=ranges,
        expected=expected,
        avoided=avoided,
        shows_fencing=describe_cluster is not None and describe_cluster.highest >= _FENCED_SINCE,
    )


def read_client_features(file: str) -> dict[str, dict[int, SupportedRange]]:
    """Read a JSON file of client features with the versions that each works with. Raises OperationError, OSError."""
    try:
        named = msgspec.json.decode(Path(file).read_bytes(), type=dict[str, dict[str, str]])
    except msgspec.MsgspecError as error:
        raise OperationError(f"{file}: {error}") from error
    keys = {api_name(key): key for key in REQUESTS}
    features: dict[str, dict[int, SupportedRange]] = {}
    for feature, apis in named.items():
        features[feature] = {}
        for api, text in apis.items():
            key = int(api) if api.isascii() and api.isdigit() else keys.get(api)
            versions = _parse_versions(text)
            if key is None or versions is None:
                raise OperationError(f"{file}: {feature}: '{api}': '{text}' is no API with its versions")
            features[feature][key] = versions
    return features


def missing_features(
    features: Mapping[str, ApiRanges], versions: Mapping[int, NodeVersions | ClientError], avoided: AvoidedVersions
) -> dict[str, tuple[UnsupportedApiError, ...]]:
    """Return what each feature lacks on the nodes that answered."""
    offered = common_ranges(found.api_ranges for found in versions.values() if isinstance(found, NodeVersions))
    return missing_of_features(features, offered, avoided)


def _parse_versions(text: str) -> SupportedRange | None:
    try:
        versions = SupportedRange.parse(text)
    except ValueError:
        return None
    return versions if versions is None or versions.lowest <= versions.highest else None
