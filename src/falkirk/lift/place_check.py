"""Whether falkirk's controller could take part where the lift's file places it; nothing is started for it."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Final

from falkirk.client.config import ClientConfig
from falkirk.client.connection import NodeConnection
from falkirk.client.errors import ClientConfigError, ClientError, NodeRefusedError
from falkirk.client.key_store import read_key_store
from falkirk.lift.controller_process import controller_properties
from falkirk.lift.errors import LiftError
from falkirk.lift.lifted_cluster import fetches
from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.mirror.metadata_mirror import check_fetch_allowed
from falkirk.node.config.security_settings import listener_prefix
from falkirk.node.config.server_properties import read_security_settings, read_server_properties
from falkirk.operations.lift_rights import CONTROLLERS, Right
from falkirk.server.config_values import resolved_properties
from falkirk.server.errors import ServerError
from falkirk.server.listener_tls import ListenerTls
from falkirk.versions.configs.definition import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.client.quorum_description import QuorumDescription
    from falkirk.lift.lift_file import Place
    from falkirk.protocol.endpoint import Endpoint

_AUTHORIZER: Final = "authorizer.class.name"


async def check_place(
    place: Place,
    cluster_id: str,
    controllers: Iterable[Endpoint],
    configs: Mapping[int, Mapping[str, str | None]],
) -> None:
    """Raise LiftError if falkirk's controller could not start, or meet the controllers, with the place's properties.

    `controllers`: where they listen; each has to answer it. `configs`: of the nodes, as far as they were seen.
    """
    endpoint = place.endpoint
    try:
        await asyncio.get_running_loop().getaddrinfo(endpoint.host, endpoint.port)
    except socket.gaierror as unknown:
        raise LiftError(
            f"place.listener: {endpoint.host} does not resolve here ({unknown.strerror}), and every node of the "
            "cluster has to resolve it"
        ) from unknown
    _check_authorizer(place, configs)
    addresses = tuple(controllers)
    config = client_config(place, addresses)
    for address in addresses:
        connection = NodeConnection(address, config)
        try:
            await check_fetch_allowed(connection, cluster_id)
        except NodeRefusedError as refusal:
            right = Right(operation=AclOperation.CLUSTER_ACTION, principal=config.principal, nodes=CONTROLLERS)
            raise LiftError(f"missing right: {right} ({refusal})") from refusal
        except ClientError as error:
            raise LiftError(f"place.properties: falkirk's controller cannot meet a controller: {error}") from error
        finally:
            await connection.close()


def check_id(place: Place, view: QuorumDescription, *, brokers: Iterable[int]) -> None:
    """Raise LiftError if a node of the cluster has the id of falkirk's controller.

    A controller of an earlier lift that has ended is listed for minutes, and is no such node.
    """
    observers = (node_id for node_id in view.observers if fetches(view, node_id))
    if place.node_id in {*brokers, *view.voters, *observers}:
        raise LiftError(f"place.node_id: node {place.node_id} is there already: choose an id that no node has")


def check_release(place: Place, levels: Mapping[str, int]) -> None:
    """Raise LiftError if the release of falkirk's controller does not support the cluster's levels."""
    unsupported = place.run_as.unsupported_features(levels)
    if unsupported:
        raise LiftError(
            f"place.release: {place.run_as.word} is older than the cluster, whose finalized levels are "
            f"{', '.join(map(str, unsupported))}: leave it out, or name one that is not older"
        )


def _check_authorizer(place: Place, configs: Mapping[int, Mapping[str, str | None]]) -> None:
    """Raise LiftError if nodes have an authorizer, and falkirk's controller, while it leads, would have none."""
    if place.properties.get(_AUTHORIZER):
        return
    for node_id, found in sorted(configs.items()):
        if found.get(_AUTHORIZER):
            raise LiftError(
                f"place.properties: {_AUTHORIZER} is not set, and node {node_id} has {found[_AUTHORIZER]}: without it "
                "falkirk's controller would allow everything while it leads"
            )


def client_config(place: Place, controllers: Iterable[Endpoint]) -> ClientConfig:
    """Return how falkirk's controller will connect to others. Raises LiftError for properties that it cannot run."""
    name = place.listener_name
    prefix = listener_prefix(name)
    try:
        properties = resolved_properties(controller_properties(place, controllers))
        read = read_server_properties(properties, place.run_as, hostname=place.endpoint.host)
        security = read_security_settings(read)
        tls = ListenerTls.of(read, met=[name]).clients.get(name)
        key_pair = (
            None if tls is None else read_key_store(lambda key: properties.get(prefix + key, properties.get(key)))
        )
    except (ConfigError, ServerError, ClientConfigError) as error:
        raise LiftError("\n".join(f"place.properties: {line}" for line in str(error).splitlines())) from error
    # Other controllers map the names of certificates by the same rules.
    principal = security.of_listener(name).principal_of(None if key_pair is None else key_pair.name)
    return ClientConfig(
        tls=tls,
        login=security.logins.get(name),
        certificate_name=None if key_pair is None or principal is None else principal.name,
    )
