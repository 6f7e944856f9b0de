"""Changes of the voters of a dynamic quorum (KIP-853): which controller, with which directory and endpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.client import registrations
from falkirk.client.config import parse_servers
from falkirk.client.errors import ClientConfigError
from falkirk.client.feature_update import FeatureUpdate
from falkirk.node.config.server_properties import read_server_properties
from falkirk.operations.errors import InvalidInputError, OperationError
from falkirk.protocol.errors import ProtocolError
from falkirk.protocol.uuid import parse_uuid, uuid_text
from falkirk.storage.meta_properties import FILE_NAME, parse_meta_properties
from falkirk.versions.configs.definition import ConfigError
from falkirk.versions.features import KRAFT_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.feature_update import UpdateFeaturesResult
    from falkirk.client.quorum_description import ReplicaState
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.storage.disk import Disk
    from falkirk.versions.release import Release

# A new voter must catch up before its record is committed.
ADD_TIMEOUT_MS: Final = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumMember:
    """A controller with its directory. `listeners`: endpoints by listener name, for one that is to become a voter."""

    node_id: int
    directory_id: bytes
    listeners: Mapping[str, Endpoint]

    @property
    def endpoints_text(self) -> str:
        """The endpoints as kafka-metadata-quorum prints them."""
        return ", ".join(f"{name}://{endpoint}" for name, endpoint in self.listeners.items())


def member_of_properties(properties: Mapping[str, str], release: Release, disk: Disk) -> QuorumMember:
    """Return the controller of a server.properties, with the directory id of its metadata log dir.

    Raises OperationError for a configuration that is wrong or not of a controller, and for a directory without an id;
    OSError, CorruptFileError.
    """
    try:
        config = read_server_properties(properties, release, hostname="localhost").config
    except ConfigError as error:
        raise OperationError(str(error)) from error
    if not config.is_controller:
        raise OperationError(
            "process.roles did not contain 'controller' in configuration file. Is this a valid controller "
            "configuration file?"
        )
    path = f"{config.metadata_log_dir}/{FILE_NAME}"
    directory_id = parse_meta_properties(disk.read(path), file=path).directory_id
    if directory_id is None:
        raise OperationError(f"{path} has no directory.id: format the directory, or start a release from 3.7 on in it")
    listeners = {listener.name: listener.advertised for listener in config.listeners if listener.is_controller}
    return QuorumMember(node_id=config.node_id, directory_id=directory_id, listeners=listeners)


async def find_observer(admin: AsyncAdmin, node_id: int) -> ReplicaState:
    """Return the observer of a node id. Raises OperationError if there is none, or one for each of several disks."""
    return _only(node_id, (await admin.describe_quorum()).observer_states, "observer")


async def find_voter(admin: AsyncAdmin, node_id: int) -> ReplicaState:
    """Return the voter of a node id. Raises OperationError if there is none."""
    return _only(node_id, (await admin.describe_quorum()).voter_states, "voter")


async def add_voter(admin: AsyncAdmin, member: QuorumMember) -> None:
    """Make a controller that observes a voter, and return when that is committed. Raises ClientError."""
    await registrations.add_voter(
        admin, member.node_id, member.directory_id, member.listeners, timeout_ms=ADD_TIMEOUT_MS
    )


async def upgrade_to_dynamic_voters(admin: AsyncAdmin, *, validate_only: bool) -> UpdateFeaturesResult:
    """Raise kraft.version to 1: static voters become dynamic, which cannot be undone while the cluster runs."""
    return await admin.update_features({KRAFT_VERSION: FeatureUpdate(1)}, validate_only=validate_only)


def parse_endpoint(text: str) -> tuple[str, Endpoint]:
    """Parse `NAME://host:port`. Raises InvalidInputError."""
    name, separator, server = text.partition("://")
    if not name or not separator:
        raise InvalidInputError(f"'{text}' is no endpoint of a controller: NAME://host:port was expected")
    try:
        [endpoint] = parse_servers(server)
    except (ClientConfigError, ValueError) as error:
        raise InvalidInputError(f"'{text}' is no endpoint of a controller: NAME://host:port was expected") from error
    return name, endpoint


def parse_directory_id(text: str) -> bytes:
    """Parse a directory id. Raises InvalidInputError."""
    try:
        return parse_uuid(text)
    except ProtocolError as error:
        raise InvalidInputError(f"Failed to parse --controller-directory-id: {error}") from error


def _only(node_id: int, states: tuple[ReplicaState, ...], kind: str) -> ReplicaState:
    found = [each for each in states if each.node_id == node_id]
    if not found:
        raise OperationError(f"node {node_id} is no {kind} of the quorum")
    if len(found) > 1:
        directories = ", ".join(uuid_text(each.directory_id) for each in found)
        raise OperationError(f"node {node_id} is in the quorum with several directories, name one: {directories}")
    return found[0]
