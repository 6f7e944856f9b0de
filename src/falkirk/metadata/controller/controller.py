"""The active controller as a whole: its managers around one state, and what becomes due with time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.cluster.cluster_control import ClusterControl
from falkirk.metadata.controller.cluster.producer_id_control import ProducerIdControl
from falkirk.metadata.controller.configs.client_quota_control import ClientQuotaControl
from falkirk.metadata.controller.configs.configuration_control import ConfigurationControl
from falkirk.metadata.controller.features.feature_control import FeatureControl
from falkirk.metadata.controller.partitions.replication_control import ReplicationControl
from falkirk.metadata.controller.security.acl_control import AclControl
from falkirk.metadata.controller.security.delegation_token_control import DelegationTokenControl
from falkirk.metadata.controller.security.scram_control import ScramControl
from falkirk.metadata.controller.state.controller_state import ControllerState, Replayed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.metadata.controller.state.controller_indexes import ControllerIndexes
    from falkirk.metadata.controller.state.prepared_lowering import PreparedLowering
    from falkirk.metadata.controller.state.result import ControllerResult
    from falkirk.metadata.controller.state.settings import ControllerSettings
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.records.batch import VersionedRecord
    from falkirk.protocol.chance import Chance


class Controller:
    """Made when a node becomes the active controller, from the image at its log's end; thrown away when it resigns.

    Managers decide and give records; the driver appends those to the log and hands them back to `replay`. `indexes` are
    those of `image`: with them the cost grows with the brokers, not with the partitions.
    """

    def __init__(
        self,
        settings: ControllerSettings,
        image: MetadataImage,
        indexes: ControllerIndexes,
        *,
        epoch: int,
        random: Chance,
        now_ms: int,
    ) -> None:
        self.settings = settings
        self.epoch = epoch
        self.state = ControllerState(image, indexes)
        self.configs = ConfigurationControl(self.state, settings)
        self.features = FeatureControl(self.state, settings, self.configs)
        self.replication = ReplicationControl(self.state, settings, self.configs, random, now_ms)
        self.cluster = ClusterControl(self.state, settings, self.replication, now_ms)
        self.client_quotas = ClientQuotaControl(self.state)
        self.scram = ScramControl(self.state)
        self.acls = AclControl(self.state, settings, random)
        self.delegation_tokens = DelegationTokenControl(self.state, settings, random, now_ms)
        self.producer_ids = ProducerIdControl(self.state)

    def replay(
        self,
        records: Sequence[VersionedRecord],
        *,
        end_offset: int,
        now_ms: int,
        prepared: PreparedLowering | None = None,
    ) -> None:
        """Replay the appended records of a manager's result; `end_offset`: the log's end after them."""
        self.state.replay(records, end_offset=end_offset, epoch=self.epoch, now_ms=now_ms, prepared=prepared)

    def apply(self, replayed: Replayed, *, end_offset: int, now_ms: int) -> None:
        """Make what was replayed in slices the state; `end_offset`: the log's end after it."""
        self.state.apply(replayed, end_offset=end_offset, epoch=self.epoch, now_ms=now_ms)

    def due(self, now_ms: int) -> Iterator[ControllerResult[None]]:
        """Yield what is due: brokers to fence, leaders to move back, tokens to expire.

        Each result must be appended and replayed before the next is asked for.
        """
        yield from self.cluster.due(now_ms)
        yield from self.replication.due(now_ms)
        yield from self.delegation_tokens.due(now_ms)

    @property
    def next_due_ms(self) -> int | None:
        """When `due` should be asked next; None: not before something changes."""
        times = (self.cluster.next_due_ms, self.replication.next_due_ms, self.delegation_tokens.next_due_ms)
        return min((time for time in times if time is not None), default=None)
