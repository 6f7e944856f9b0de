"""Rows of the tables with few objects: brokers, controllers, ACLs, SCRAM credentials, quotas, producer ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from falkirk.metadata.records.record_key import (
    PRODUCER_IDS_KEY,
    acl_key,
    broker_key,
    client_quota_key,
    controller_key,
    scram_key,
)
from falkirk.pipeline.state.metadata.other_state import WRITERS
from falkirk.protocol.uuid import uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.metadata.image.broker_registration import BrokerRegistration, Endpoint, SupportedFeature
    from falkirk.metadata.losses.condition import Condition
    from falkirk.metadata.records.record_key import ObjectKey
    from falkirk.pipeline.state.metadata.metadata_rows import OtherRecord
    from falkirk.pipeline.state.metadata.other_state import OtherState

    Row = dict[str, Any]  # Any: values of columns

_BROKER_PLACES: Final = (
    ("written", "migrating_zk_broker"),
    ("in_controlled_shutdown_written", "in_controlled_shutdown"),
    ("log_dirs_written", "broker_log_dirs"),
    ("cordoned_log_dirs_written", "cordoned_log_dirs"),
)


class OtherRows:
    """Makes the rows of one cluster."""

    def __init__(self, state: OtherState, files: Sequence[str]) -> None:
        self._state = state
        self._image = state.image
        self._files = files

    def brokers(self, fenced_since: Mapping[int, int | None]) -> Iterable[Row]:
        """Yield the brokers; `fenced_since` maps fenced ones to a time (ms), if it is known."""
        for broker_id, broker in sorted(self._image.cluster.brokers.items()):
            places = {column: self._written(broker_key(broker_id), WRITERS[kind]) for column, kind in _BROKER_PLACES}
            yield _broker(broker) | places | {"fenced_since": fenced_since.get(broker_id) if broker.fenced else None}

    def controllers(self) -> Iterable[Row]:
        """Yield the controllers."""
        for controller_id, controller in sorted(self._image.cluster.controllers.items()):
            yield {
                "controller_id": controller_id,
                "incarnation_id": uuid_text(controller.incarnation_id),
                "zk_migration_ready": controller.zk_migration_ready,
                "end_points": _end_points(controller.end_points),
                "features": _features(controller.features),
                "written": self._written(controller_key(controller_id), "RegisterControllerRecord"),
            }

    def acls(self) -> Iterable[Row]:
        """Yield the access control entries."""
        for acl_id, acl in sorted(self._image.acls.acls.items()):
            yield {
                "id": uuid_text(acl_id),
                "resource_type": acl.resource_type,
                "resource_name": acl.resource_name,
                "pattern_type": acl.pattern_type,
                "principal": acl.principal,
                "host": acl.host,
                "operation": acl.operation,
                "permission_type": acl.permission_type,
                "written": self._written(acl_key(acl_id), "AccessControlEntryRecord"),
            }

    def scram_credentials(self) -> Iterable[Row]:
        """Yield the SCRAM users, without secrets."""
        for user, credential in sorted(self._image.scram.credentials.items()):
            yield {
                "name": user.name,
                "mechanism": user.mechanism,
                "iterations": credential.iterations,
                "written": self._written(scram_key(user.name, user.mechanism), "UserScramCredentialRecord"),
            }

    def client_quotas(self) -> Iterable[Row]:
        """Yield the quotas."""
        for entity, key, value in self._image.client_quotas:
            yield {
                "entity": [{"entity_type": entity_type, "entity_name": name} for entity_type, name in entity],
                "key": key,
                "value": value,
                "written": self._written(client_quota_key(entity, key), "ClientQuotaRecord"),
            }

    def producer_ids(self) -> Iterable[Row]:
        """Yield the next producer id, if it is known."""
        next_producer_id = self._image.producer_ids.next_producer_id
        if next_producer_id >= 0:
            written = self._written(PRODUCER_IDS_KEY, "ProducerIdsRecord")
            yield {"next_producer_id": next_producer_id, "written": written}

    def place(self, other: OtherRecord) -> Row:
        """Return the place of a record."""
        return {"record": type(other.message).__name__, "offset": other.offset, "source": self._files[other.file]}

    def _written(self, key: ObjectKey, writers: Mapping[str, Condition] | str) -> Row | None:
        other = self._state.writer(key, writers)
        return None if other is None else self.place(other)


def _broker(broker: BrokerRegistration) -> Row:
    cordoned = broker.cordoned_log_dirs
    return {
        "broker_id": broker.broker_id,
        "incarnation_id": uuid_text(broker.incarnation_id),
        "broker_epoch": broker.broker_epoch,
        "end_points": _end_points(broker.end_points),
        "features": _features(broker.features),
        "rack": broker.rack,
        "fenced": broker.fenced,
        "in_controlled_shutdown": broker.in_controlled_shutdown,
        "is_migrating_zk_broker": broker.is_migrating_zk_broker,
        "log_dirs": [uuid_text(directory) for directory in broker.log_dirs],
        "cordoned_log_dirs": None if cordoned is None else [uuid_text(directory) for directory in cordoned],
    }


def _end_points(points: Iterable[Endpoint]) -> list[Row]:
    return [
        {"name": point.name, "host": point.host, "port": point.port, "security_protocol": point.security_protocol}
        for point in points
    ]


def _features(features: Iterable[SupportedFeature]) -> list[Row]:
    return [
        {
            "name": feature.name,
            "min_supported_version": feature.min_supported_version,
            "max_supported_version": feature.max_supported_version,
        }
        for feature in features
    ]
