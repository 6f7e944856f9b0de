"""The broker's side of a node: it keeps registered, and passes on what only the active controller may answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.node.active_controller_channel import ActiveControllerChannel
from falkirk.node.broker_lifecycle import BrokerLifecycle, BrokerState
from falkirk.node.clean_shutdowns import UNKNOWN_EPOCH, take_broker_epoch, write_broker_epoch
from falkirk.node.effects import Fact
from falkirk.node.forwarding import Forwarding
from falkirk.node.topic_creation import TopicCreation
from falkirk.protocol.uuid import random_uuid
from falkirk.versions.negotiation import broker_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.node.client_connections import ClientConnections
    from falkirk.node.effects import Effect
    from falkirk.node.log_directories import LogDirectories
    from falkirk.node.node_state import NodeState
    from falkirk.node.peers import Peers
    from falkirk.protocol.chance import Chance
    from falkirk.storage.disk import Disk
    from falkirk.versions.supported_range import SupportedRange


class BrokerRole:
    """`own_ranges`: what the broker's listeners would offer, whatever the controllers can do.

    Raises OSError if the directory of the metadata log fails; other directories may.
    """

    def __init__(
        self,
        state: NodeState,
        *,
        own_ranges: Mapping[int, SupportedRange],
        peers: Peers,
        clients: ClientConnections,
        directories: LogDirectories,
        disk: Disk,
        random: Chance,
        effects: Callable[[Effect], None],
    ) -> None:
        self.ranges = own_ranges
        self._state = state
        self._own_ranges = own_ranges
        self._clients = clients
        self._disk = disk
        self._channel = ActiveControllerChannel(state, peers, "forwarding")
        self._controller_ranges: Mapping[int, SupportedRange] | None = None
        self.forwarding = Forwarding(state, self._channel, clients)
        state.topic_creation = TopicCreation(state, self._channel, effects)
        self._effects = effects
        ids, log_dirs = directories.directory_ids, state.config.log_dirs
        self._log_dirs = [log_dir for log_dir in log_dirs if log_dir in ids]
        previous_broker_epoch, failed = take_broker_epoch(disk, self._log_dirs)
        self._take_offline(failed)
        self._lifecycle = BrokerLifecycle(
            state,
            ActiveControllerChannel(state, peers, "heartbeat"),
            incarnation_id=random_uuid(random),
            log_dirs=[ids[log_dir] for log_dir in log_dirs if log_dir in ids],
            offline_log_dirs=[ids[log_dir] for log_dir in failed],
            # What was in a directory that cannot be looked at now nobody knows.
            previous_broker_epoch=UNKNOWN_EPOCH if directories.offline else previous_broker_epoch,
            random=random,
            effects=effects,
        )

    def tick(self) -> None:
        """Do what is due. Raises FatalError as BrokerLifecycle does."""
        self._lifecycle.tick()
        self._channel.keep_open()
        if self._channel.ranges is not self._controller_ranges:
            self._controller_ranges = self._channel.ranges
            self.ranges = broker_ranges(self._own_ranges, self._controller_ranges, self._state.config.release)
            self._clients.change_ranges(self.ranges)
        self.forwarding.tick()

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `tick` has something to do."""
        times = (self._lifecycle.next_wakeup_ms, self.forwarding.next_wakeup_ms)
        return min((time for time in times if time is not None), default=None)

    @property
    def state(self) -> BrokerState:
        """How far the broker is in its life."""
        return self._lifecycle.state

    @property
    def broker_epoch(self) -> int:
        """The epoch of its registration; -1 before that."""
        return self._lifecycle.broker_epoch

    def begin_shutdown(self) -> None:
        """Begin the controlled shutdown."""
        self._lifecycle.begin_shutdown()

    def end_shutdown(self) -> None:
        """Leave a word that the broker stopped in order."""
        if self.broker_epoch >= 0:
            self._take_offline(write_broker_epoch(self._disk, self._log_dirs, self.broker_epoch))

    def _take_offline(self, failed: Mapping[str, OSError]) -> None:
        """Use these directories no longer; without that of the metadata log the node cannot go on (raises OSError)."""
        for log_dir, error in failed.items():
            if log_dir == self._state.config.metadata_log_dir:
                raise error
            self._log_dirs.remove(log_dir)
            self._effects(Fact("error", "log-directory-offline", {"log_dir": log_dir, "reason": str(error)}))
