"""Formatting a node's log directories: decides everything, then writes (Kafka's Formatter).

A directory gets `meta.properties`, last, so that a directory that has it is complete; before it `bootstrap.checkpoint`
with the first records, and for dynamic voters the snapshot 0-0 in the metadata partition. From 4.4 on that snapshot is
always written and has all records, and there is no `bootstrap.checkpoint`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from falkirk.protocol.messages.feature_level_record import FeatureLevelRecord
from falkirk.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.protocol.uuid import random_uuid
from falkirk.storage import bootstrap_checkpoint, meta_properties
from falkirk.storage.bootstrap_checkpoint import (
    BOOTSTRAP_SNAPSHOT,
    write_bootstrap_checkpoint,
    write_bootstrap_snapshot,
)
from falkirk.storage.formatting.dynamic_voters import DynamicVoter, parse_dynamic_voters, voters_record
from falkirk.storage.formatting.errors import FormatterError
from falkirk.storage.formatting.initial_features import RequestedFeatures, choose_initial_features, parse_feature_levels
from falkirk.storage.formatting.rules import format_rules
from falkirk.storage.formatting.scram_arguments import parse_older_scram_argument, parse_scram_argument
from falkirk.storage.meta_properties import format_meta_properties, make_meta_properties
from falkirk.storage.node_directories import read_node_directories
from falkirk.storage.partition_directory import METADATA_DIRECTORY
from falkirk.storage.snapshot_file import format_snapshot_name
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage
    from falkirk.storage.disk import Disk
    from falkirk.storage.formatting.initial_features import InitialFeatures
    from falkirk.storage.formatting.rules import FormatRules
    from falkirk.storage.node_directories import NodeDirectories
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release


class DirectoryType(Enum):
    """The purpose of a log directory. The values are the tools' names."""

    LOG = "data directory"
    STATIC_METADATA = "metadata directory"
    DYNAMIC_METADATA_NON_VOTER = "dynamic metadata directory"
    DYNAMIC_METADATA_VOTER = "dynamic metadata voter directory"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatRequest:
    """What to format, and as which release's tool. Options are as given, None or empty where they are missing.

    `controller_endpoint`: that of this node's controller, None without that role.
    """

    release: "Release"
    cluster_id: str
    node_id: int
    log_dirs: tuple[str, ...]
    metadata_log_dir: str
    is_controller: bool
    controller_listener_name: str
    controller_endpoint: "Endpoint | None"
    has_static_voters: bool
    is_unstable_enabled: bool = False
    inter_broker_protocol: str | None = None
    ignore_formatted: bool = False
    release_version: str | None = None
    features: tuple[str, ...] = ()
    standalone: bool = False
    initial_controllers: str | None = None
    no_initial_controllers: bool = False
    scram: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FormattedStorage:
    """The result. `directories` are those that were formatted; `warnings` are for the operator."""

    metadata_version: "MetadataVersion"
    features: "Mapping[str, int]"
    records: "tuple[WireMessage, ...]"
    directories: "Mapping[str, DirectoryType]"
    warnings: tuple[str, ...]
    lines: tuple[str, ...]


def format_storage(request: FormatRequest, disk: Disk, random: Chance, now_ms: int) -> FormattedStorage:
    """Format the directories that are not formatted yet.

    Raises FormatterError, before anything is written, in the words of the release's tool; OSError if a directory cannot
    be written: it then has no meta.properties and can be formatted again.
    """
    rules = format_rules(request.release)
    voters = _initial_voters(request, rules, random)
    features = choose_initial_features(_requested_features(request, rules, voters))
    records = _records(request, rules, features, random)
    directories = read_node_directories(disk, (*request.log_dirs, request.metadata_log_dir))
    _check_directories(request, rules, directories)
    notices = features.notices + tuple(
        f"I/O error trying to read log directory {path}. Ignoring..." for path in directories.unreadable
    )
    _check_readable(directories, notices)
    types = {path: _directory_type(request, voters, path) for path in directories.empty}
    lines = [*notices]
    if types and rules.tells_records:
        lines.append(_records_line(records, features.metadata_version))
    for path, kind in types.items():
        name = f"{kind.value} {path}" if rules.has_dynamic_voters else path
        lines.append(f"Formatting {name} with {METADATA_VERSION} {features.metadata_version}.")
    if not types:
        lines.append("All of the log directories are already formatted.")
    writer = _Writer(
        request=request,
        features=features,
        voters=voters,
        values=tuple(encode_metadata_record(record, 0) for record in records),
        disk=disk,
        now_ms=now_ms,
    )
    for path, kind in types.items():
        is_voter = kind is DirectoryType.DYNAMIC_METADATA_VOTER
        directory_id = voters[request.node_id].directory_id if is_voter else directories.new_directory_id(random)
        writer.write(path, kind, directory_id)
    return FormattedStorage(
        metadata_version=features.metadata_version,
        features=features.levels,
        records=records,
        directories=types,
        warnings=tuple(directories.unreadable.values()),
        lines=tuple(lines),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writer:
    """Writes one directory after the other."""

    request: FormatRequest
    features: "InitialFeatures"
    voters: dict[int, DynamicVoter]
    values: tuple[bytes, ...]
    disk: "Disk"
    now_ms: int

    def write(self, path: str, kind: DirectoryType, directory_id: bytes) -> None:
        """Write the files of one directory."""
        request = self.request
        self.disk.make_directory(path)
        if not request.release.bootstraps_from_snapshot:
            chunks = write_bootstrap_checkpoint(self.values, clock=self._clock)
            self.disk.write(f"{path}/{bootstrap_checkpoint.FILE_NAME}", chunks)
        has_snapshot = request.is_controller if request.release.bootstraps_from_snapshot else bool(self.voters)
        if kind is not DirectoryType.LOG and has_snapshot:
            self._write_snapshot(f"{path}/{METADATA_DIRECTORY}")
        meta = make_meta_properties(
            cluster_id=request.cluster_id, node_id=request.node_id, directory_id=directory_id, now_ms=self.now_ms
        )
        self.disk.write(f"{path}/{meta_properties.FILE_NAME}", [format_meta_properties(meta)])

    def _write_snapshot(self, directory: str) -> None:
        self.disk.make_directory(directory)
        chunks = write_bootstrap_snapshot(
            self.values if self.request.release.bootstraps_from_snapshot else (),
            clock=self._clock,
            kraft_version=self.features.levels[KRAFT_VERSION],
            voters=voters_record(self.voters, self.request.controller_listener_name) if self.voters else None,
        )
        self.disk.write(f"{directory}/{format_snapshot_name(BOOTSTRAP_SNAPSHOT)}", chunks)

    def _clock(self) -> int:
        return self.now_ms


def _initial_voters(request: FormatRequest, rules: FormatRules, random: Chance) -> dict[int, DynamicVoter]:
    """Return the first voters of a dynamic quorum, none for a static one."""
    if not rules.has_dynamic_voters:
        return {}
    given = request.initial_controllers
    if rules.configuration_decides and request.has_static_voters and (given is not None or request.standalone):
        raise FormatterError(
            "You cannot specify controller.quorum.voters and format the node with --initial-controllers or "
            "--standalone. If you want to use dynamic quorum, please remove controller.quorum.voters and specify "
            "controller.quorum.bootstrap.servers instead."
        )
    if request.standalone:
        return _standalone_voter(request, random)
    if given is not None:
        return parse_dynamic_voters(given)
    if request.is_controller and not request.has_static_voters and not request.no_initial_controllers:
        raise FormatterError(
            "Because controller.quorum.voters is not set on this controller, you must specify one of the following: "
            "--standalone, --initial-controllers, or --no-initial-controllers."
        )
    return {}


def _standalone_voter(request: FormatRequest, random: Chance) -> dict[int, DynamicVoter]:
    endpoint = request.controller_endpoint
    if not request.is_controller:
        raise FormatterError("You can only use --standalone on a controller.")
    if endpoint is None:
        raise FormatterError("No controller listeners found.")
    voter = DynamicVoter(
        node_id=request.node_id, host=endpoint.host, port=endpoint.port, directory_id=random_uuid(random)
    )
    return {voter.node_id: voter}


def _requested_features(
    request: FormatRequest, rules: FormatRules, voters: dict[int, DynamicVoter]
) -> RequestedFeatures:
    release_version = request.release_version
    if release_version is not None and request.features and not rules.writes_features:
        raise FormatterError("Both --release-version and --feature were set. Only one of the two flags can be set.")
    if release_version is None and rules.reads_inter_broker_protocol:
        release_version = request.inter_broker_protocol
    is_dynamic = bool(voters) or request.no_initial_controllers
    return RequestedFeatures(
        release=request.release,
        rules=rules,
        release_version=release_version,
        levels=parse_feature_levels(request.features),
        is_unstable_enabled=request.is_unstable_enabled,
        has_dynamic_quorum=not request.has_static_voters if rules.configuration_decides else is_dynamic,
    )


def _records(
    request: FormatRequest, rules: FormatRules, features: InitialFeatures, random: Chance
) -> tuple[WireMessage, ...]:
    records: list[WireMessage] = [
        FeatureLevelRecord(name=METADATA_VERSION, feature_level=features.metadata_version.level)
    ]
    # kraft.version is in control records.
    records += [
        FeatureLevelRecord(name=name, feature_level=level)
        for name, level in features.levels.items()
        if level > 0 and name != KRAFT_VERSION
    ]
    if request.scram:
        if not features.metadata_version.scram_supported:
            raise FormatterError("SCRAM is only supported in metadata.version 3.5-IV2 or later.")
        parse = parse_scram_argument if rules.writes_features else parse_older_scram_argument
        records += [parse(text, random) for text in request.scram]
    return tuple(records)


def _check_directories(request: FormatRequest, rules: FormatRules, directories: NodeDirectories) -> None:
    reason = directories.reason_refused(cluster_id=request.cluster_id, node_id=request.node_id)
    if reason is not None:
        raise FormatterError(reason)
    if directories.formatted and not request.ignore_formatted:
        raise FormatterError(
            f"Log directory {next(iter(directories.formatted))} is already formatted. Use --ignore-formatted to "
            "ignore this directory and format the others."
        )
    if directories.unreadable and not rules.skips_unreadable:
        path, reason = next(iter(directories.unreadable.items()))
        raise FormatterError(f"{reason}\nI/O error trying to read log directory {path}.")


def _check_readable(directories: NodeDirectories, notices: tuple[str, ...]) -> None:
    if directories.unreadable and not directories.formatted and not directories.empty:
        reasons = "\n".join(directories.unreadable.values())
        raise FormatterError(f"{reasons}\nNo available log directories to format.", notices=notices)


def _directory_type(request: FormatRequest, voters: dict[int, DynamicVoter], path: str) -> DirectoryType:
    if path != request.metadata_log_dir:
        return DirectoryType.LOG
    if not voters:
        return DirectoryType.STATIC_METADATA
    if request.node_id in voters:
        return DirectoryType.DYNAMIC_METADATA_VOTER
    return DirectoryType.DYNAMIC_METADATA_NON_VOTER


def _records_line(records: tuple[WireMessage, ...], metadata_version: MetadataVersion) -> str:
    shown = ", ".join(f"ApiMessageAndVersion({_shown(record)} at version 0)" for record in records)
    return (
        f"Bootstrap metadata: BootstrapMetadata(records=[{shown}], "
        f"metadataVersionLevel={metadata_version.level}, source=format command)"
    )


def _shown(record: WireMessage) -> str:
    match record:
        case FeatureLevelRecord():
            return f"FeatureLevelRecord(name='{record.name}', featureLevel={record.feature_level})"
        case UserScramCredentialRecord():
            # Differs from Kafka: its tool prints salt and keys, whatever the terminal is logged to.
            return (
                f"UserScramCredentialRecord(name='{record.name}', mechanism={record.mechanism}, salt=[hidden], "
                f"storedKey=[hidden], serverKey=[hidden], iterations={record.iterations})"
            )
        case _:
            raise AssertionError(record)
