"""The file of a lift, `lift.yaml`: the cluster, the target, what may be lost, and where falkirk's controller runs.

bootstrap_servers: [kafka-1:9092, kafka-2:9092]
bootstrap_controllers: [kafka-1:9093, kafka-2:9093, kafka-3:9093]
target: "3.9"
accept_losses: [in_controlled_shutdown]
place: {node_id: 9001, listener: "lift-host:9093", directory: /var/lib/falkirk-lift}
state: lift-state
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
import yaml

from falkirk.client.config import parse_servers
from falkirk.client.errors import ClientConfigError
from falkirk.lift.errors import LiftFileError
from falkirk.logdir.errors import TargetError
from falkirk.logdir.target import Target, parse_target
from falkirk.protocol.endpoint import Endpoint  # noqa: TC001 - the annotations of properties
from falkirk.versions.errors import VersionsError
from falkirk.versions.release import Release, all_releases

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

IN_PLACE: Final = "in-place"
IN_PLACE_OF_ONE: Final = "in-place-of-one"
_BYTES_MAX: Final = 1 << 20
_NodeId = Annotated[int, msgspec.Meta(ge=0)]
_Seconds = Annotated[float, msgspec.Meta(gt=0)]
_Texts = Annotated[list[str], msgspec.Meta(min_length=1)]


class Place(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where falkirk's controller runs: on this machine, as a voter more.

    `listener`: host and port that every node of the cluster reaches and resolves. `directory`: durable, empty, with
    room for the metadata log, two snapshots and the undo bundle. `release`: what it runs as; default: the newest.
    `properties`: further keys of its server.properties, such as those of TLS and SASL.
    """

    node_id: _NodeId
    listener: str
    directory: str
    listener_name: str = "CONTROLLER"
    release: str | None = None
    properties: dict[str, str] = {}

    @property
    def endpoint(self) -> Endpoint:
        """The listener as host and port. Raises LiftFileError."""
        endpoints = _servers("place.listener", [self.listener])
        if len(endpoints) > 1:
            raise LiftFileError(f"place.listener: {self.listener} is more than one host and port")
        return endpoints[0]

    @property
    def run_as(self) -> Release:
        """The release as which it runs."""
        return all_releases()[-1] if self.release is None else Release.parse(self.release)


class Hooks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Commands for `/bin/sh -c` that stop and start a node on its machine; None: a person does it.

    Each gets LIFT_NODE_ID, LIFT_HOST, LIFT_PORT and LIFT_RELEASE (of the older binaries), ends when the process has
    ended or was started, and may be repeated. `stop`, `start`: Kafka's controller. `start_falkirk`, `stop_falkirk`:
    `falkirk serve` in its place. `roll`: stops a node, prepares it, and starts it with the older binaries.
    `keep_bundle`: copies the file LIFT_BUNDLE of that machine to LIFT_INTO here; None: it is the same machine.
    """

    stop: str | None = None
    start: str | None = None
    start_falkirk: str | None = None
    stop_falkirk: str | None = None
    roll: str | None = None
    keep_bundle: str | None = None


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long the cluster may go without a metadata write, and what a step and a hook may take, in seconds.

    `lag`: how many records behind the high watermark a replica may be that counts as having the metadata log, which
    is never still while the cluster works.
    """

    metadata_outage_s: _Seconds = 30.0
    step_s: _Seconds = 120.0
    hook_s: _Seconds = 120.0
    lag: Annotated[int, msgspec.Meta(ge=1)] = 100


class LiftFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file's fields. `accept_losses`: kinds of losses; any other stops the lift before the level is lowered.

    `place`: that of an extra voter, or `in-place`: falkirk runs in place of a majority of the controllers, or
    `in-place-of-one`.
    `upgrade_kraft_version`: whether static voters may be made dynamic, so that an extra one can join; that is not taken
    back while the cluster runs.
    `command_config` and `controller_command_config` name client properties for brokers and controllers. `state`: a
    directory for the journal, the undo bundle and the report. Relative paths are relative to the file.
    """

    bootstrap_servers: _Texts
    bootstrap_controllers: list[str] = []
    command_config: str | None = None
    controller_command_config: str | None = None
    target: str
    accept_losses: list[str] = []
    place: Place | Literal["in-place", "in-place-of-one"]
    hooks: Hooks = Hooks()
    upgrade_kraft_version: bool = False
    limits: Limits = Limits()
    state: str = "lift-state"

    @property
    def brokers(self) -> tuple[Endpoint, ...]:
        """Raise LiftFileError if one is no host and port."""
        return _servers("bootstrap_servers", self.bootstrap_servers)

    @property
    def controllers(self) -> tuple[Endpoint, ...]:
        """Raise LiftFileError if one is no host and port."""
        return _servers("bootstrap_controllers", self.bootstrap_controllers)

    def not_accepted(self, kinds: Iterable[str]) -> list[str]:
        """Return the kinds of losses that `accept_losses` does not name, sorted."""
        return sorted(set(kinds) - set(self.accept_losses))

    @property
    def extra_voter(self) -> Place | None:
        """The place of the extra voter; None in place."""
        return self.place if isinstance(self.place, Place) else None

    @property
    def parsed_target(self) -> Target:
        """The level and the oldest release that runs it. Raises LiftFileError."""
        try:
            return parse_target(self.target)
        except TargetError as error:
            raise LiftFileError(f"target: {error}") from error


def read_lift_file(path: Path) -> LiftFile:
    """Read and check a lift file; its relative paths become absolute. Raises LiftFileError naming file and field."""
    try:
        with path.open("rb") as file:
            data = file.read(_BYTES_MAX + 1)
        if len(data) > _BYTES_MAX:
            raise LiftFileError(f"{path}: more than {_BYTES_MAX} bytes")
        read = msgspec.convert(yaml.safe_load(data), LiftFile)
    except OSError as error:
        raise LiftFileError(f"{path}: {error.strerror}") from error
    except msgspec.ValidationError as invalid:
        raise LiftFileError(f"{path}: {invalid}") from invalid
    # What YAML takes for a number or a date may be none, and lists may be nested without end.
    except (yaml.YAMLError, ValueError, RecursionError) as malformed:
        raise LiftFileError(f"{path}: {' '.join(str(malformed).split())}") from malformed
    try:
        _check(read)
    except LiftFileError as wrong:
        raise LiftFileError(f"{path}: {wrong}") from wrong
    folder = path.absolute().parent
    return msgspec.structs.replace(
        read,
        state=str(folder / read.state),
        command_config=_within(folder, read.command_config),
        controller_command_config=_within(folder, read.controller_command_config),
        place=msgspec.structs.replace(read.place, directory=str(folder / read.place.directory))
        if isinstance(read.place, Place)
        else read.place,
    )


def _check(read: LiftFile) -> None:
    _ = (read.brokers, read.controllers, read.parsed_target)
    if read.extra_voter is not None:
        _check_place(read.extra_voter)


def _check_place(place: Place) -> None:
    _ = place.endpoint
    if place.release is not None:
        try:
            Release.parse(place.release)
        except VersionsError as error:
            raise LiftFileError(f"place.release: {error}") from error
    for key in place.properties:
        if key.startswith("falkirk.") or key in ("process.roles", "node.id", "listeners", "log.dirs", "log.dir"):
            raise LiftFileError(f"place.properties: {key} is set by the lift itself")


def _servers(field: str, texts: list[str]) -> tuple[Endpoint, ...]:
    try:
        return tuple(endpoint for text in texts for endpoint in parse_servers(text))
    except ClientConfigError as error:
        raise LiftFileError(f"{field}: {error}") from error


def _within(folder: Path, name: str | None) -> str | None:
    return None if name is None else str(folder / name)
