"""A controller's registration (KIP-919)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from falkirk.metadata.image.broker_registration import Endpoint, SupportedFeature, sorted_endpoints, sorted_features
from falkirk.protocol.messages import RegisterControllerRecord
from falkirk.protocol.messages.register_controller_record import ControllerEndpoint, ControllerFeature

if TYPE_CHECKING:
    from falkirk.versions.metadata_version import MetadataVersion


class ControllerRegistration(msgspec.Struct, frozen=True):
    """One controller. Names are those of RegisterControllerRecord; listeners and features are sorted by name."""

    controller_id: int
    incarnation_id: bytes
    zk_migration_ready: bool = False
    end_points: tuple[Endpoint, ...] = ()
    features: tuple[SupportedFeature, ...] = ()

    @classmethod
    def from_record(cls, record: RegisterControllerRecord) -> ControllerRegistration:
        """Return the registration that a record holds."""
        return cls(
            controller_id=record.controller_id,
            incarnation_id=record.incarnation_id,
            zk_migration_ready=record.zk_migration_ready,
            end_points=sorted_endpoints(
                Endpoint(point.name, point.host, point.port, point.security_protocol) for point in record.end_points
            ),
            features=sorted_features(
                SupportedFeature(feature.name, feature.min_supported_version, feature.max_supported_version)
                for feature in record.features
            ),
        )

    def to_record(self, at: MetadataVersion) -> tuple[RegisterControllerRecord, int]:
        """Return the registration as (record, record version). The level must support controller registrations."""
        version = at.register_controller_record_version
        assert version is not None, f"controllers cannot be written at {at}"
        record = RegisterControllerRecord(
            controller_id=self.controller_id,
            incarnation_id=self.incarnation_id,
            zk_migration_ready=self.zk_migration_ready,
            end_points=[
                ControllerEndpoint(point.name, point.host, point.port, point.security_protocol)
                for point in self.end_points
            ],
            features=[
                ControllerFeature(feature.name, feature.min_supported_version, feature.max_supported_version)
                for feature in self.features
            ],
        )
        return record, version
