"""The result of `falkirk api-versions`, as text in the manner of kafka-broker-api-versions and as a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from falkirk.client.node_versions import NodeVersions, api_name
from falkirk.versions.negotiation import common_ranges
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from falkirk.client.cluster_description import ClusterDescription, ClusterNode
    from falkirk.client.errors import ClientError
    from falkirk.operations.api_usability import ClientApis
    from falkirk.versions.negotiation import ApiRanges, UnsupportedApiError


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsView:
    """A `Result`. `features`: what each client feature lacks; None: without client features."""

    kind: str  # broker or controller
    cluster: ClusterDescription
    versions: Mapping[int, NodeVersions | ClientError]
    client: ClientApis
    features: Mapping[str, tuple[UnsupportedApiError, ...]] | None

    @property
    def failures(self) -> list[ClientError]:
        """The errors of nodes that did not answer."""
        return [found for found in self.versions.values() if not isinstance(found, NodeVersions)]

    def text(self) -> Iterator[str]:
        """Yield a block for each node, one for what several nodes have in common, and one for features."""
        for node in self.cluster.nodes:
            yield from self._node_lines(node)
        answered = self._answered()
        if not answered:
            return
        nodes = f"{len(answered)} {self.kind}{'s' if len(answered) != 1 else ''}"
        if len(answered) > 1:
            yield f"Common to {nodes} -> ("
            yield from _block(self._api_lines(common_ranges(found.api_ranges for found in answered)))
        newest, supported = _newest(answered), _common_features(answered)
        finalized = _finalized(newest)
        epoch = newest.finalized_features_epoch
        yield f"Features (finalized epoch: {'none' if epoch is None else epoch}) -> ("
        yield from _block(
            f"{name}: {_levels(supported.get(name))}, finalized: {finalized.get(name, 'no')}"
            for name in sorted(supported.keys() | finalized.keys())
        )
        if self.features is not None:
            yield f"Client features on {nodes} -> ("
            yield from _block(_feature_line(name, missing) for name, missing in self.features.items())

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the same by fields; `software` is null, as no node reports it."""
        answered = self._answered()
        newest = _newest(answered) if answered else None
        return {
            "kind": self.kind,
            "cluster_id": self.cluster.cluster_id,
            "controller_id": self.cluster.controller_id,
            "client_release": self.client.release,
            "nodes": [self._node_document(node) for node in self.cluster.nodes],
            "common_apis": self._api_documents(common_ranges(found.api_ranges for found in answered)),
            "features": {
                "epoch": newest.finalized_features_epoch if newest else None,
                "finalized": _finalized(newest) if newest else {},
                "supported": _ranges_document(_common_features(answered)),
            },
            "client_features": None
            if self.features is None
            else {name: _feature_document(missing) for name, missing in self.features.items()},
        }

    def _answered(self) -> list[NodeVersions]:
        return [found for found in self.versions.values() if isinstance(found, NodeVersions)]

    def _node_lines(self, node: ClusterNode) -> Iterator[str]:
        found = self.versions[node.node_id]
        fenced = f" isFenced: {str(node.is_fenced).lower()}" if self.client.shows_fencing else ""
        head = f"{node.endpoint} (id: {node.node_id} rack: {'null' if node.rack is None else node.rack}{fenced}) -> "
        if isinstance(found, NodeVersions):
            yield head + "("
            yield from _block(self._api_lines(found.api_ranges))
        else:
            yield f"{head}ERROR: {found}"

    def _api_lines(self, offered: ApiRanges) -> Iterator[str]:
        for key in sorted(offered.keys() | self.client.expected):
            versions = offered.get(key)
            name = f"{api_name(key) or 'UNKNOWN'}({key}): "
            yield name + ("UNSUPPORTED" if versions is None else _levels(versions) + self._use(key, versions))

    def _use(self, key: int, versions: SupportedRange) -> str:
        usable, reason = self.client.usable(key, versions), self.client.reason_unusable(key, versions)
        if usable is not None:
            return f" [usable: {usable}]"
        return f" [unusable: {reason}]" if reason else ""

    def _node_document(self, node: ClusterNode) -> dict[str, Any]:  # Any: a JSON document
        found = self.versions[node.node_id]
        document: dict[str, Any] = {
            "id": node.node_id,
            "host": node.endpoint.host,
            "port": node.endpoint.port,
            "rack": node.rack,
            "software": None,
            "error": None if isinstance(found, NodeVersions) else str(found),
        }
        if isinstance(found, NodeVersions):
            document["apis"] = self._api_documents(found.api_ranges)
            document["supported_features"] = _ranges_document(found.supported_features)
            document["finalized_features"] = _finalized(found)
            document["finalized_features_epoch"] = found.finalized_features_epoch
        return document

    def _api_documents(self, offered: ApiRanges) -> list[dict[str, Any]]:  # Any: a JSON document
        return [
            {
                "key": key,
                "name": api_name(key),
                "min_version": versions.lowest,
                "max_version": versions.highest,
                "usable_version": self.client.usable(key, versions),
                "unusable_because": self.client.reason_unusable(key, versions),
            }
            for key, versions in sorted(offered.items())
        ]


def _block(lines: Iterable[str]) -> Iterator[str]:
    """Indent lines, with commas between them, and close the parenthesis."""
    before: str | None = None
    for line in lines:
        if before is not None:
            yield f"\t{before},"
        before = line
    if before is not None:
        yield f"\t{before}"
    yield ")"


def _levels(versions: SupportedRange | None) -> str:
    if versions is None:
        return "not supported by all"
    return str(versions.lowest) if versions.lowest == versions.highest else f"{versions.lowest} to {versions.highest}"


def _newest(answered: list[NodeVersions]) -> NodeVersions:
    """Return the answer with the newest features: a node may lag. Source: KIP-584."""
    return max(answered, key=lambda found: -1 if (epoch := found.finalized_features_epoch) is None else epoch)


def _finalized(found: NodeVersions) -> dict[str, int]:
    return {name: levels.max_version_level for name, levels in found.finalized_features.items()}


def _common_features(answered: list[NodeVersions]) -> dict[str, SupportedRange]:
    common: dict[str, SupportedRange] = {}
    for name in {name for found in answered for name in found.supported_features}:
        versions: SupportedRange | None = SupportedRange(0, 32767)
        for found in answered:
            supported = found.supported_features.get(name)
            versions = None if versions is None or supported is None else versions.intersection(supported)
        if versions is not None:
            common[name] = versions
    return dict(sorted(common.items()))


def _feature_line(name: str, missing: tuple[UnsupportedApiError, ...]) -> str:
    return f"{name}: " + (f"unusable: {'; '.join(map(str, missing))}" if missing else "usable")


def _feature_document(missing: tuple[UnsupportedApiError, ...]) -> dict[str, Any]:  # Any: a JSON document
    return {
        "usable": not missing,
        "missing": [
            {
                "key": error.api_key,
                "name": api_name(error.api_key),
                "wanted": _range_document(error.wanted),
                "offered": _range_document(error.offered),
                "avoided": sorted(error.avoided),
            }
            for error in missing
        ],
    }


def _range_document(versions: SupportedRange | None) -> dict[str, int] | None:
    return None if versions is None else {"min_version": versions.lowest, "max_version": versions.highest}


def _ranges_document(ranges: Mapping[str, SupportedRange]) -> dict[str, dict[str, int] | None]:
    return {name: _range_document(versions) for name, versions in sorted(ranges.items())}
