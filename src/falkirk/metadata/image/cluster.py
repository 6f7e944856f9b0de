"""The registered brokers and controllers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from immutables import Map

from falkirk.metadata.image.broker_registration import BrokerRegistration
from falkirk.metadata.image.controller_registration import ControllerRegistration
from falkirk.metadata.image.keyed_delta import KeyedDelta
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.metadata.records.record_key import broker_key

if TYPE_CHECKING:
    from falkirk.protocol.messages import (
        BrokerRegistrationChangeRecord,
        FenceBrokerRecord,
        RegisterBrokerRecord,
        RegisterControllerRecord,
        UnfenceBrokerRecord,
        UnregisterBrokerRecord,
        UnregisterControllerRecord,
    )


class ClusterImage(msgspec.Struct, frozen=True):
    """All registrations by node id."""

    brokers: Map[int, BrokerRegistration] = Map()
    controllers: Map[int, ControllerRegistration] = Map()


class ClusterDelta:
    """Pending changes of the registrations."""

    def __init__(self, image: ClusterImage) -> None:
        self.image = image
        self.brokers = KeyedDelta(image.brokers)
        self.controllers = KeyedDelta(image.controllers)

    def replay_register_broker(self, record: RegisterBrokerRecord) -> None:
        """Set a broker's registration, replacing an earlier one."""
        self.brokers.put(record.broker_id, BrokerRegistration.from_record(record))

    def replay_unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        """Remove a broker; as in Kafka an unknown one, or one with another epoch, is no error."""
        self.brokers.remove(record.broker_id)

    def replay_registration_change(self, record: BrokerRegistrationChangeRecord) -> None:
        """Change a registration. Raises InconsistentRecordError for an unknown broker, an old epoch, unknown values."""
        broker = self._registered("BrokerRegistrationChangeRecord", record.broker_id, record.broker_epoch)
        self.brokers.put(record.broker_id, broker.changed_by(record))

    def replay_fence(self, record: FenceBrokerRecord) -> None:
        """Fence a broker (before 3.3-IV2). Raises InconsistentRecordError for an unknown broker or its old epoch."""
        broker = self._registered("FenceBrokerRecord", record.id, record.epoch)
        self.brokers.put(record.id, broker.with_fencing(fenced=True))

    def replay_unfence(self, record: UnfenceBrokerRecord) -> None:
        """Unfence a broker (before 3.3-IV2). Raises InconsistentRecordError for an unknown broker or its old epoch."""
        broker = self._registered("UnfenceBrokerRecord", record.id, record.epoch)
        self.brokers.put(record.id, broker.with_fencing(fenced=False))

    def replay_register_controller(self, record: RegisterControllerRecord) -> None:
        """Set a controller's registration."""
        self.controllers.put(record.controller_id, ControllerRegistration.from_record(record))

    def replay_unregister_controller(self, record: UnregisterControllerRecord) -> None:
        """Remove a controller; an unknown one is no error."""
        self.controllers.remove(record.controller_id)

    def apply(self) -> ClusterImage:
        """Return the next image."""
        return ClusterImage(self.brokers.apply(), self.controllers.apply())

    @classmethod
    def between(cls, before: ClusterImage, after: ClusterImage) -> ClusterDelta:
        """Return the delta that leads from one image to the other."""
        delta = cls(before)
        delta.brokers = KeyedDelta.between(before.brokers, after.brokers)
        delta.controllers = KeyedDelta.between(before.controllers, after.controllers)
        return delta

    def _registered(self, record: str, broker_id: int, broker_epoch: int) -> BrokerRegistration:
        broker = self.brokers.get(broker_id)
        if broker is None:
            raise InconsistentRecordError(record, "the broker is not registered", key=broker_key(broker_id))
        if broker.broker_epoch != broker_epoch:
            reason = f"the record is of broker epoch {broker_epoch}, the broker's is {broker.broker_epoch}"
            raise InconsistentRecordError(record, reason, key=broker_key(broker_id))
        return broker
