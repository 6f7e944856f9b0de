"""Topics, partitions, replicas in sync, and who leads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.metadata.controller.configuration_control import ConfigurationControl
    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.metadata.controller.settings import ControllerSettings
    from falkirk.metadata.controller.state import ControllerState
    from falkirk.metadata.writer import VersionedRecord
    from falkirk.protocol.chance import Chance


class ReplicationControl:
    """Topics, partitions, replicas in sync, and who leads."""

    def __init__(
        self,
        state: ControllerState,
        settings: ControllerSettings,
        configs: ConfigurationControl,
        random: Chance,
    ) -> None:
        self._state = state
        # Set by the controller: whether a broker is registered, unfenced and not shutting down.
        self.is_broker_active: Callable[[int], bool] = lambda _: True

    def due(self, now_ms: int) -> Iterator[ControllerResult[None]]:
        """Give what time has made due, as Controller.due."""
        yield from ()

    @property
    def next_due_ms(self) -> int | None:
        """As Controller.next_due_ms."""
        return None

    # What happens to partitions when a broker changes state. Each gives the PartitionChangeRecords alone.

    def broker_fenced(self, broker_id: int) -> list[VersionedRecord]:
        """Take a broker out of all ISRs and leaderships; the caller adds the record that fences it."""
        raise NotImplementedError

    def broker_unfenced(self, broker_id: int) -> list[VersionedRecord]:
        """Give leaders to partitions that have none and may now have this one."""
        raise NotImplementedError

    def broker_shutting_down(self, broker_id: int) -> list[VersionedRecord]:
        """Move leaderships away and leave ISRs, as far as others can take over."""
        raise NotImplementedError

    def broker_unregistered(self, broker_id: int) -> list[VersionedRecord]:
        """As broker_fenced."""
        raise NotImplementedError

    def broker_had_unclean_shutdown(self, broker_id: int) -> list[VersionedRecord]:
        """Take a broker that lost its last writes out of ISRs and eligible leader replicas (KIP-966)."""
        raise NotImplementedError

    def directories_offline(self, broker_id: int, directories: frozenset[bytes]) -> list[VersionedRecord]:
        """Take the replicas in a broker's failed directories out of ISRs and leaderships."""
        raise NotImplementedError

    def has_leaderships(self, broker_id: int) -> bool:
        """Say whether a broker still leads any partition."""
        raise NotImplementedError
