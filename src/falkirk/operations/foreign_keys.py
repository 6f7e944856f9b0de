"""Configs about groups that a release does not accept: in the metadata, in server.properties, in consumers' files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.records.loader_rules import unknown_protocols
from falkirk.storage.properties_file import parse_properties
from falkirk.versions.configs.definition import ConfigError
from falkirk.versions.configs.resources import group_definitions
from falkirk.versions.configs.server import definitions
from falkirk.versions.features import GROUP_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from falkirk.versions.release import Release

_GROUP_PROTOCOL: Final = "group.protocol"
CONSUMER_KEYS: Final = frozenset({_GROUP_PROTOCOL, "group.remote.assignor"})
"""Configs of consumers of the new protocol, which classic consumers must not have."""
_OF_CONSUMERS: Final = CONSUMER_KEYS | {"group.id", "group.instance.id"}
_OF_COORDINATOR: Final = "group."
_PROTOCOLS: Final = "group.coordinator.rebalance.protocols"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """A config to remove before the release runs. `where`: a file, or the group whose config it is."""

    where: str
    name: str
    value: str | None
    reason: str

    def __str__(self) -> str:
        """Return one line for an operator."""
        return f"{self.where}: {self.name}={'' if self.value is None else self.value}: {self.reason}"


def read_properties(file: Path) -> Mapping[str, str]:
    """Read a properties file. Raises OSError, CorruptFileError."""
    return parse_properties(file.read_bytes(), file=str(file)).as_dict()


def foreign_group_configs(release: Release, configs: Mapping[str, Mapping[str, str | None]]) -> tuple[ForeignKey, ...]:
    """Return the configs of groups that a release does not know, by group and name."""
    known = group_definitions(release)
    found = []
    for group_id, values in sorted(configs.items()):
        for name, value in sorted(values.items()):
            if name not in known:
                reason = f"Kafka {release.word} has no such config of groups"
                found.append(ForeignKey(where=group_id, name=name, value=value, reason=reason))
    return tuple(found)


def foreign_keys(release: Release, where: str, properties: Mapping[str, str]) -> Iterator[ForeignKey]:
    """Yield the configs of a broker's or consumer's file that a release does not know, or whose value it refuses."""
    if not has_consumer_groups(release):
        for name in sorted(CONSUMER_KEYS & properties.keys()):
            if name != _GROUP_PROTOCOL or properties[name].strip().lower() == "consumer":
                reason = f"Kafka {release.word} has no groups of the new protocol"
                yield ForeignKey(where=where, name=name, value=properties[name], reason=reason)
    known = definitions(release)
    for name, value in sorted(properties.items()):
        if not name.startswith(_OF_COORDINATOR) or name in _OF_CONSUMERS:
            continue
        if name not in known:
            reason = f"Kafka {release.word} does not know it"
        elif name == _PROTOCOLS and (unknown := unknown_protocols(release, properties)):
            reason = f"Kafka {release.word} does not start with {', '.join(unknown)} in it"
        else:
            try:
                known[name].parse(name, value)
            except ConfigError as error:
                reason = str(error)
            else:
                continue
        yield ForeignKey(where=where, name=name, value=value, reason=reason)


def foreign_keys_of_files(release: Release, files: Iterable[Path]) -> tuple[ForeignKey, ...]:
    """Return the foreign configs of files, in the order of the files. Raises OSError, CorruptFileError."""
    return tuple(each for file in files for each in foreign_keys(release, str(file), read_properties(file)))


def has_consumer_groups(release: Release) -> bool:
    """Return whether the release supports groups of KIP-848's protocol, other than as an early access."""
    return GROUP_VERSION in release.supported_features()
