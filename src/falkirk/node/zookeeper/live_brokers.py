"""The brokers that are registered, as this node knows them: the znodes below `/brokers/ids`.

One whose znode cannot be meant counts as none, and is told of in one line. What is known stays known while the session
is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.broker_znode import BROKER_IDS_PATH, BrokerZnode, broker_path, decode_broker
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.node.effects import Fact
from falkirk.node.zookeeper.watched_children import WatchedChildren

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.zookeeper.finalized_features import Supported
    from falkirk.node.effects import Effect
    from falkirk.node.zookeeper.operations import Failed
    from falkirk.node.zookeeper.repeated_asks import RepeatedAsks
    from falkirk.node.zookeeper.session import Session


class LiveBrokers:
    """The last readings. `on_change` is told when a broker is new, gone or another one, and once in each session."""

    def __init__(
        self,
        session: Session,
        asks: RepeatedAsks,
        *,
        on_change: Callable[[], None],
        failed: Callable[[str, Failed], None],
        effects: Callable[[Effect], None],
    ) -> None:
        self._on_change = on_change
        self._effects = effects
        self.brokers: Mapping[int, BrokerZnode] = {}
        """By id, sorted; a new mapping after each change."""
        self._znodes = WatchedChildren(
            session, asks, BROKER_IDS_PATH, decode=self._decode, taken=self._take, failed=failed
        )

    @property
    def is_known(self) -> bool:
        """Say whether all registered brokers have been read in this session."""
        return self._znodes.is_known

    @property
    def supported(self) -> Mapping[int, Supported] | None:
        """What each broker supports, nothing if it does not tell; None before all are known."""
        if not self.is_known:
            return None
        return {broker_id: znode.features or {} for broker_id, znode in self.brokers.items()}

    def read(self) -> None:
        """Read all again."""
        self._znodes.read()

    def _take(self, znodes: Mapping[str, BrokerZnode | None]) -> None:
        found = {int(name): broker for name, broker in znodes.items() if broker is not None}
        self.brokers = dict(sorted(found.items()))
        self._on_change()

    def _decode(self, name: str, data: bytes) -> BrokerZnode | None:
        """Read one; None if it cannot be meant."""
        fault = f"znode {BROKER_IDS_PATH}: {name} is no broker's id"
        if _is_id(name):
            try:
                return decode_broker(data, broker_path(int(name)))
            except ZnodeError as error:
                fault = str(error)
        self._effects(Fact("error", "broker-unreadable", {"reason": fault}))
        return None


def _is_id(name: str) -> bool:
    return name.isascii() and name.isdigit() and str(int(name)) == name and int(name) < 1 << 31
