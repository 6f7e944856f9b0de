"""A broker as controllers see it: it registers, sends heartbeats and proposes ISRs, but holds no data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from falkirk.protocol.messages.alter_partition_request import BrokerState, PartitionData, TopicData
from falkirk.protocol.messages.broker_registration_request import Feature, Listener
from falkirk.simulation.workload.controller_client import NOT_ACTIVE, ControllerClient

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topic import Topic
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.release import Release

HEARTBEAT_INTERVAL_MS: Final = 500
_REGISTRATION_RETRY_MS: Final = 200
_SHUTDOWN_MS_MAX: Final = 5000
# It reads no log, and reports an offset beyond any log end.
_CAUGHT_UP: Final = 1 << 40


class ScriptedBroker(ControllerClient):
    """Reports that it is caught up as soon as it is registered, and wants to be unfenced.

    `known`: the current metadata of some controller, as if the broker had fetched it; None if none runs.
    """

    def __init__(
        self,
        broker_id: int,
        controllers: Sequence[Endpoint],
        chance: Chance,
        *,
        cluster_id: str,
        release: Release,
        known: Callable[[], MetadataImage | None],
    ) -> None:
        super().__init__(controllers, chance, client_id=f"broker-{broker_id}")
        self.broker_id = broker_id
        self.broker_epoch: int | None = None
        self.is_fenced = True
        self._cluster_id = cluster_id
        self._release = release
        self._known = known
        self._incarnation_id = chance.randbytes(16)
        self._directory_id = chance.randbytes(16)
        self._due_ms = 0
        self._stop_at_ms: int | None = None

    @property
    def next_due_ms(self) -> int | None:
        """When the registration or the next heartbeat is due."""
        return self._due_ms

    def next_request(self, now_ms: int) -> WireMessage | None:
        """Register, then send heartbeats, and at times a new ISR of a partition that it leads."""
        if self.must_stop and self._stop_at_ms is None:
            self._stop_at_ms, self._due_ms = now_ms + _SHUTDOWN_MS_MAX, now_ms
        if self._stop_at_ms is not None and now_ms >= self._stop_at_ms:
            self.stop()
            return None
        if now_ms < self._due_ms:
            return None
        if self.broker_epoch is None:
            return self._registration()
        if self.chance.random() < 0.3 and not self.is_fenced:
            request = self._alter_partition(self.broker_epoch)
            if request is not None:
                return request
        return BrokerHeartbeatRequest(
            broker_id=self.broker_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=_CAUGHT_UP,
            want_fence=False,
            want_shut_down=self.must_stop,
        )

    def answered(self, response: WireMessage, now_ms: int) -> bool:
        """Record the broker epoch, and whether the broker is fenced."""
        match response:
            case BrokerRegistrationResponse():
                return self._registered(response, now_ms)
            case AlterPartitionResponse():
                error = response.error_code or response.topics[0].partitions[0].error_code
                self.note(f"proposes an ISR: {ErrorCode(error).name}")
                return error not in NOT_ACTIVE
            case _:
                assert isinstance(response, BrokerHeartbeatResponse)
                return self._heartbeat_answered(response, now_ms)

    def _registered(self, response: BrokerRegistrationResponse, now_ms: int) -> bool:
        self._due_ms = now_ms + _REGISTRATION_RETRY_MS
        if response.error_code == 0:
            self.broker_epoch = response.broker_epoch
            self._due_ms = now_ms
            self.note(f"is registered with epoch {response.broker_epoch}")
        elif response.error_code not in NOT_ACTIVE:
            self.note(f"may not register: {ErrorCode(response.error_code).name}")
        return response.error_code not in NOT_ACTIVE

    def _heartbeat_answered(self, response: BrokerHeartbeatResponse, now_ms: int) -> bool:
        self._due_ms = now_ms + (50 if self.must_stop else HEARTBEAT_INTERVAL_MS)
        if response.error_code in NOT_ACTIVE:
            self._due_ms = now_ms
            return False
        if response.error_code:
            self.note(f"sent a heartbeat in vain: {ErrorCode(response.error_code).name}")
            # A real broker would end and be started again: that is a registration by a new incarnation.
            self.broker_epoch = None
            self._incarnation_id = self.chance.randbytes(16)
        elif response.should_shut_down:
            self.stop()
        elif response.is_fenced != self.is_fenced:
            self.is_fenced = response.is_fenced
            self.note("is fenced" if self.is_fenced else "is unfenced")
        return True

    def _alter_partition(self, broker_epoch: int) -> AlterPartitionRequest | None:
        image = self._known()
        if image is None:
            return None
        led = [
            (topic, partition_id, partition)
            for topic in image.topics
            for partition_id, partition in topic.items()
            if partition.leader == self.broker_id and len(partition.replicas) > 1
        ]
        if not led:
            return None
        topic, partition_id, partition = self.chance.choice(led)
        return AlterPartitionRequest(
            broker_id=self.broker_id,
            broker_epoch=broker_epoch,
            topics=[self._proposal(image, topic, partition_id, partition)],
        )

    def _proposal(self, image: MetadataImage, topic: Topic, partition_id: int, partition: Partition) -> TopicData:
        """Propose all live replicas or, sometimes, only itself."""
        brokers = image.cluster.brokers
        isr = tuple(each for each in partition.replicas if each in brokers and not brokers[each].fenced)
        if self.chance.random() < 0.3 or self.broker_id not in isr:
            isr = (self.broker_id,)
        proposed = PartitionData(
            partition_index=partition_id,
            leader_epoch=partition.leader_epoch,
            new_isr_with_epochs=[
                BrokerState(each, brokers[each].broker_epoch if each in brokers else -1) for each in isr
            ],
            partition_epoch=partition.partition_epoch,
        )
        return TopicData(topic_id=topic.topic_id, partitions=[proposed])

    def _registration(self) -> BrokerRegistrationRequest:
        return BrokerRegistrationRequest(
            broker_id=self.broker_id,
            cluster_id=self._cluster_id,
            incarnation_id=self._incarnation_id,
            listeners=[Listener("PLAINTEXT", f"broker-{self.broker_id}", 9092, 0)],
            features=[
                Feature(name, levels.lowest, levels.highest)
                for name, levels in self._release.supported_features().items()
            ],
            log_dirs=(self._directory_id,),
        )
