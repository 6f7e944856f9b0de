"""`falkirk features export`: the finalized features of a cluster on ZooKeeper, and their counterparts in KRaft."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from falkirk.cli.console.padded_columns import padded, width
from falkirk.versions.inter_broker_protocol import IBP_CONFIG, IBP_FEATURE, IbpSource
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.metadata.zookeeper.broker_znode import BrokerZnode
    from falkirk.metadata.zookeeper.kraft_levels import Counterpart
    from falkirk.operations.zookeeper_export import ZooKeeperExport


@dataclass(frozen=True, slots=True)
class ExportView:
    """A `Result`."""

    found: ZooKeeperExport

    def text(self) -> Iterator[str]:
        """Yield the lines for people."""
        yield f"ZooKeeper: {self.found.state.connect}"
        yield f"Cluster id: {self.found.state.cluster_id or '-'}"
        yield f"Finalized features: {self._status()}"
        yield f"{IBP_CONFIG}: {self._protocol()}"
        yield from self._features()
        yield from self._brokers()
        if self.found.obstacles:
            yield ""
            yield "In the way:"
            yield from (f"  {sentence}" for sentence in self.found.obstacles)
        for one in self.found.levels.formats:
            yield ""
            yield f"To format with Kafka {one.release} (falkirk storage format --release {one.release.word}):"
            yield f"  {' '.join((*self._cluster_id(), *one.arguments))}"

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the same by fields; what does not exist is null."""
        cluster, levels = self.found.state, self.found.levels
        protocol, version, state = levels.protocol, levels.metadata_version, cluster.features
        return {
            "zookeeper": cluster.connect,
            "cluster_id": cluster.cluster_id,
            "controller_id": cluster.controller_id,
            "znode": cluster.features_path,
            "epoch": cluster.features_epoch,
            "enabled": None if state is None else state.is_enabled,
            "inter_broker_protocol": None
            if protocol is None
            else {"name": protocol.protocol.name, "source": protocol.source.value},
            "metadata_version": None if version is None else {"name": version.name, "level": version.level},
            "features": [_feature_document(feature) for feature in levels.features],
            "brokers": [_broker_document(broker_id, znode) for broker_id, znode in sorted(cluster.brokers.items())],
            "obstacles": list(self.found.obstacles),
            "formats": [{"release": one.release.name, "arguments": list(one.arguments)} for one in levels.formats],
        }

    def _status(self) -> str:
        if self.found.state.features is None:
            return "none: there is no znode for them"
        status = "enabled" if self.found.state.features.is_enabled else "disabled, so they do not count"
        return f"{self.found.state.features_path}, epoch {self.found.state.features_epoch}, {status}"

    def _protocol(self) -> str:
        protocol, version = self.found.levels.protocol, self.found.levels.metadata_version
        if protocol is None:
            return "-"
        source = f" (by {IBP_FEATURE})" if protocol.source is IbpSource.FEATURE else ""
        in_kraft = "" if version is None else f", in KRaft {METADATA_VERSION} {version} (level {version.level})"
        return f"{protocol.protocol}{source}{in_kraft}"

    def _features(self) -> Iterator[str]:
        rows = [("FEATURE", "MIN", "MAX", "IN KRAFT")]
        rows += [
            (feature.name, str(feature.levels.min_level), str(feature.levels.max_level), _in_kraft(feature))
            for feature in self.found.levels.features
        ]
        if len(rows) == 1:
            return
        yield ""
        widths = [width(0, (row[column] for row in rows)) for column in range(3)]
        yield from (padded(row, (*widths, 0)) for row in rows)

    def _brokers(self) -> Iterator[str]:
        yield ""
        if not self.found.state.brokers:
            yield "No broker is up."
        for broker_id, znode in sorted(self.found.state.brokers.items()):
            role = ", the controller," if broker_id == self.found.state.controller_id else ""
            yield f"Broker {broker_id}{role} {_supports(znode)}"

    def _cluster_id(self) -> tuple[str, ...]:
        return () if self.found.state.cluster_id is None else ("--cluster-id", self.found.state.cluster_id)


def _supports(znode: BrokerZnode) -> str:
    if znode.features is None:
        return "does not advertise supported features"
    if not znode.features:
        return "supports no features"
    return "supports " + ", ".join(f"{name} {levels}" for name, levels in sorted(znode.features.items()))


def _in_kraft(feature: Counterpart) -> str:
    if feature.kraft_level is None:
        return f"none: {'; '.join(feature.remarks)}"
    level = f"{feature.kraft_name} {_level_name(feature)}"
    since = "" if feature.since is None else f", from Kafka {feature.since.word} on"
    remarks = f" ({'; '.join(feature.remarks)})" if feature.remarks else ""
    return f"{level}{since}{remarks}"


def _level_name(feature: Counterpart) -> str:
    assert feature.kraft_level is not None
    if feature.kraft_name == METADATA_VERSION:
        return MetadataVersion.of_level(feature.kraft_level).name
    return str(feature.kraft_level)


def _feature_document(feature: Counterpart) -> dict[str, Any]:  # Any: a JSON document
    return {
        "feature": feature.name,
        "min_level": feature.levels.min_level,
        "max_level": feature.levels.max_level,
        "kraft_feature": feature.kraft_name,
        "kraft_level": feature.kraft_level,
        "since": None if feature.since is None else feature.since.name,
        "remarks": list(feature.remarks),
    }


def _broker_document(broker_id: int, znode: BrokerZnode) -> dict[str, Any]:  # Any: a JSON document
    supported = znode.features
    return {
        "broker_id": broker_id,
        "endpoints": [str(endpoint) for endpoint in znode.endpoints],
        "supported": None
        if supported is None
        else [
            {"feature": name, "min_version": levels.lowest, "max_version": levels.highest}
            for name, levels in sorted(supported.items())
        ],
    }
