"""The registered brokers as this node knows them: the znodes below `/brokers/ids`.

A broker with a malformed znode does not count, and is logged. The last reading stays while the session is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.zookeeper.broker_znode import BROKER_IDS_PATH, BrokerZnode, broker_path, decode_broker
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.node.effects import Fact
from falkirk.zookeeper_node.session.watched_children import WatchedChildren

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.zookeeper.finalized_features import Supported
    from falkirk.node.effects import Effect
    from falkirk.zookeeper_node.session.operations import Failed
    from falkirk.zookeeper_node.session.retries import Retries
    from falkirk.zookeeper_node.session.session import Session

_ID_DIGITS_MAX: Final = 10


class LiveBrokers:
    """The last readings. `on_change` is called when a broker is added, removed or changed, and once in each session."""

    def __init__(
        self,
        session: Session,
        retries: Retries,
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
            session, retries, BROKER_IDS_PATH, decode=self._decode, on_read=self._apply, failed=failed
        )

    @property
    def is_known(self) -> bool:
        """True if all registered brokers have been read in this session."""
        return self._znodes.is_known

    @property
    def supported(self) -> Mapping[int, Supported] | None:
        """What each broker supports, empty if it does not say; None until all are known."""
        if not self.is_known:
            return None
        return {broker_id: znode.features or {} for broker_id, znode in self.brokers.items()}

    @property
    def silent(self) -> frozenset[int]:
        """Brokers that advertise no features at all, as they do below inter.broker.protocol.version 2.7-IV0."""
        return frozenset(broker_id for broker_id, znode in self.brokers.items() if znode.features is None)

    def read(self) -> None:
        """Read all again."""
        self._znodes.read()

    def _apply(self, znodes: Mapping[str, BrokerZnode | None]) -> None:
        found = {int(name): broker for name, broker in znodes.items() if broker is not None}
        self.brokers = dict(sorted(found.items()))
        self._on_change()

    def _decode(self, name: str, data: bytes) -> BrokerZnode | None:
        """Decode a znode; None if it is malformed."""
        fault = f"znode {BROKER_IDS_PATH}: {name} is no broker's id"
        if _is_id(name):
            try:
                return decode_broker(data, broker_path(int(name)))
            except ZnodeError as error:
                fault = str(error)
        self._effects(Fact("error", "broker-unreadable", {"reason": fault}))
        return None


def _is_id(name: str) -> bool:
    is_number = name.isascii() and name.isdigit() and len(name) <= _ID_DIGITS_MAX
    return is_number and str(int(name)) == name and int(name) < 1 << 31
