"""Objects of an image, or of a change, as the rows that the loss catalogue's rules are about; without topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from falkirk.metadata.records.record_key import (
    ZK_MIGRATION_STATE_KEY,
    ObjectKey,
    acl_key,
    broker_key,
    config_key,
    controller_key,
    delegation_token_key,
    scram_key,
)
from falkirk.protocol.messages import ConfigRecord, ZkMigrationStateRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.metadata.image.configs import ConfigResource
    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage


class ObjectRow(NamedTuple):
    """An object by the type of its record; `row` is None if it is gone."""

    record: str
    key: ObjectKey
    row: Any  # Any: see falkirk.metadata.losses.condition


def rows_of(image: MetadataImage) -> Iterator[ObjectRow]:
    """Yield all objects but those of topics."""
    yield _zk_state(image)
    yield from _cluster(image.cluster.brokers.items(), image.cluster.controllers.items())
    for resource, configs in image.configs.resources.items():
        yield from _configs(resource, configs.items())
    for acl_id, acl in image.acls.acls.items():
        yield ObjectRow("AccessControlEntryRecord", acl_key(acl_id), acl)
    for user, credential in image.scram.credentials.items():
        yield ObjectRow("UserScramCredentialRecord", scram_key(user.name, user.mechanism), credential)
    for token_id, token in image.delegation_tokens.tokens.items():
        yield ObjectRow("DelegationTokenRecord", delegation_token_key(token_id), token)


def changed_rows(delta: MetadataDelta, image: MetadataImage) -> Iterator[ObjectRow]:
    """Yield the objects that a change touches, without those of topics; `image` is the one after it."""
    if delta.features is not None:
        yield _zk_state(image)
    if delta.cluster is not None:
        yield from _cluster(delta.cluster.brokers.changes.items(), delta.cluster.controllers.changes.items())
    if delta.configs is not None:
        for resource, settings in delta.configs.resources.changes.items():
            yield from _configs(resource, settings.items())
    yield from _changed_security(delta)


def _changed_security(delta: MetadataDelta) -> Iterator[ObjectRow]:
    if delta.acls is not None:
        for acl_id, acl in delta.acls.acls.changes.items():
            yield ObjectRow("AccessControlEntryRecord", acl_key(acl_id), acl)
    if delta.scram is not None:
        for user, credential in delta.scram.credentials.changes.items():
            yield ObjectRow("UserScramCredentialRecord", scram_key(user.name, user.mechanism), credential)
    if delta.delegation_tokens is not None:
        for token_id, token in delta.delegation_tokens.tokens.changes.items():
            yield ObjectRow("DelegationTokenRecord", delegation_token_key(token_id), token)


def _zk_state(image: MetadataImage) -> ObjectRow:
    state = ZkMigrationStateRecord(image.features.zk_migration_state)
    return ObjectRow("ZkMigrationStateRecord", ZK_MIGRATION_STATE_KEY, state)


def _cluster(brokers: Iterable[tuple[int, object]], controllers: Iterable[tuple[int, object]]) -> Iterator[ObjectRow]:
    for broker_id, broker in brokers:
        yield ObjectRow("RegisterBrokerRecord", broker_key(broker_id), broker)
    for controller_id, controller in controllers:
        yield ObjectRow("RegisterControllerRecord", controller_key(controller_id), controller)


def _configs(resource: ConfigResource, settings: Iterable[tuple[str, str | None]]) -> Iterator[ObjectRow]:
    resource_type, name = resource
    for config, value in settings:
        row = None if value is None else ConfigRecord(resource_type, name, config, value)
        yield ObjectRow("ConfigRecord", config_key(resource_type, name, config), row)
