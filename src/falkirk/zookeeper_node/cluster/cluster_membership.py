"""A broker's membership in its cluster: session, caches, registration, and controller role.

    session -> cluster id, caught up -> what is finalized fits -> registered -> joined (takes part in elections)

After an expired session all of it starts over, except for the cluster id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.metadata.zookeeper.broker_znode import BrokerEndpoint, BrokerZnode, encode_broker
from falkirk.metadata.zookeeper.finalized_features import incompatibilities
from falkirk.node.effects import Fact
from falkirk.protocol.sasl.scram_mechanism import SCRAM_MECHANISMS
from falkirk.versions.inter_broker_protocol import IBP_FEATURE, effective
from falkirk.zookeeper_node.cluster.broker_registrar import BrokerRegistrar
from falkirk.zookeeper_node.cluster.cluster_acls import ClusterAcls
from falkirk.zookeeper_node.cluster.cluster_id import ClusterId
from falkirk.zookeeper_node.cluster.features_cache import FeaturesCache
from falkirk.zookeeper_node.cluster.live_brokers import LiveBrokers
from falkirk.zookeeper_node.cluster.scram_users import ScramUsers
from falkirk.zookeeper_node.controller.controller_role import ControllerRole
from falkirk.zookeeper_node.controller.feature_controller import ClusterView, FeatureSettings
from falkirk.zookeeper_node.session.exchange import SessionState
from falkirk.zookeeper_node.session.retries import Retries
from falkirk.zookeeper_node.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.zookeeper.finalized_features import FeatureState, FinalizedRange
    from falkirk.node.effects import Effect
    from falkirk.protocol.chance import Chance
    from falkirk.versions.inter_broker_protocol import EffectiveProtocol
    from falkirk.zookeeper_node.config.zookeeper_node_config import ZooKeeperNodeConfig
    from falkirk.zookeeper_node.session.exchange import ZooKeeperEffect, ZooKeeperEvent
    from falkirk.zookeeper_node.session.operations import Failed

NO_EPOCH: Final = -1
"""The epoch of finalized features where none is known."""
_UNCONNECTED: Final = {
    SessionState.READ_ONLY: "the server that was reached is read-only, cut off from the others of its ensemble",
    SessionState.SUSPENDED: "the connection was lost",
}


class KnownFeatures(NamedTuple):
    """Finalized features for clients; empty and NO_EPOCH while they are disabled or unknown."""

    levels: "Mapping[str, FinalizedRange]"
    epoch: int


class ClusterMembership:
    """One broker's, from `begin` to `leave`. `changed` is called when responses to clients may have changed.

    `failure`: one line for the operator, once the node must end.
    """

    def __init__(
        self,
        config: ZooKeeperNodeConfig,
        *,
        random: Chance,
        now_ms: Callable[[], int],
        changed: Callable[[], None],
        effects: Callable[[Effect | ZooKeeperEffect], None],
    ) -> None:
        self._config = config
        self._now_ms = now_ms
        self._changed = changed
        self._effects = effects
        self.failure: str | None = None
        self.is_joined = False
        """True if it was registered, and has seen its own registration, at least once."""
        # Steps that have begun in this session.
        self._is_preparing = self._is_finding = self._is_registering = False
        self._disconnected_since_ms: int | None = now_ms()
        self._refresh_ms: int | None = None
        self._protocol: EffectiveProtocol | None = None
        # What was reported last: the controller, and whether it is this broker; brokers; features.
        self._last_controller = (-1, False)
        self._last_brokers: list[int] = []
        self._last_features: tuple[int | None, FeatureState | None] = (None, None)
        self.session = Session(effects)
        retries = Retries(self.session)
        self.session.on_state(self._state_changed)
        self._cluster_id = ClusterId(retries, random, failed=self._fail)
        self.features = FeaturesCache(
            self.session,
            retries,
            config.features_path,
            on_change=self._features_changed,
            failed=self._unreadable,
            effects=effects,
        )
        self.brokers = LiveBrokers(
            self.session, retries, on_change=self._brokers_changed, failed=self._unreadable, effects=effects
        )
        self.acls: ClusterAcls | None = None
        if config.authorizer_class_name:
            self.acls = ClusterAcls(
                self.session, retries, config, on_change=changed, failed=self._unreadable, effects=effects
            )
        self.users: ScramUsers | None = None
        if any(mechanism in SCRAM_MECHANISMS for mechanism in config.security.mechanisms):
            self.users = ScramUsers(
                self.session, retries, on_change=lambda: None, failed=self._unreadable, effects=effects
            )
        self._registration = BrokerRegistrar(
            self.session,
            retries,
            broker_id=config.node_id,
            wait_ms=config.zookeeper_session_timeout_ms,
            now_ms=now_ms,
            registered=self._registered,
            failed=self._fail,
            effects=effects,
        )
        self.role = self._make_controller_role()

    def _make_controller_role(self) -> ControllerRole:
        return ControllerRole(
            self.session,
            self._config.node_id,
            FeatureSettings(
                path=self._config.features_path,
                supports_features=self._supports_features,
                supported=self._config.supported_features,
                writes_kip_778=self._config.kip_778,
            ),
            ClusterView(
                brokers=lambda: self.brokers.supported,
                silent=lambda: self.brokers.silent,
                last_epoch=lambda: self.features.last_epoch,
                when_epoch=self.features.when_epoch,
            ),
            now_ms=self._now_ms,
            effects=self._effects,
        )

    @property
    def cluster_id(self) -> str | None:
        """The cluster id; None until it is known."""
        return self._cluster_id.value

    @property
    def is_registered(self) -> bool:
        """True if the broker's znode exists in this session."""
        return self._registration.is_registered

    @property
    def counted_brokers(self) -> Mapping[int, BrokerZnode]:
        """The registered brokers, by id, without those that the controller ignores: they lack a finalized feature.

        Source: KIP-584, incompatible broker lifetime race condition.
        """
        state, brokers = self.features.state, self.brokers.brokers
        if not self._supports_features or state is None:
            return brokers
        return {
            broker_id: znode
            for broker_id, znode in brokers.items()
            if not incompatibilities(znode.features or {}, state)
        }

    @property
    def finalized_features(self) -> KnownFeatures:
        """The finalized features as clients see them."""
        state, epoch = self.features.state, self.features.epoch
        if not self._supports_features or state is None or epoch is None or not state.is_enabled:
            return KnownFeatures({}, NO_EPOCH)
        return KnownFeatures(state.features, epoch)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        times = (
            self._connection_deadline_ms,
            self._refresh_ms,
            self._registration.next_wakeup_ms,
            self.role.next_wakeup_ms,
        )
        return min((time for time in times if time is not None), default=None)

    def begin(self) -> None:
        """Open the first session."""
        self._log_protocol()
        self.session.open()

    def leave(self) -> None:
        """Close the session, and with it remove the registration."""
        self.session.close()

    def receive(self, event: ZooKeeperEvent) -> None:
        """Process an event of the driver."""
        self.session.receive(event)
        self._advance()

    def tick(self, now_ms: int) -> None:
        """Do what is due."""
        if self._connection_deadline_ms is not None and now_ms >= self._connection_deadline_ms:
            self._fail(self._reason_unconnected())
            return
        if self._refresh_ms is not None and now_ms >= self._refresh_ms:
            self._refresh_ms = now_ms + self._config.refresh_ms
            self._refresh()
        self._registration.tick(now_ms)
        self.role.tick(now_ms)
        self._advance()

    @property
    def _supports_features(self) -> bool:
        return self._config.inter_broker_protocol.supports_features

    # --- The session

    @property
    def _connection_deadline_ms(self) -> int | None:
        """Until when a broker that has not joined waits for a usable connection."""
        if self.is_joined or self._disconnected_since_ms is None:
            return None
        return self._disconnected_since_ms + self._config.zookeeper_connection_timeout_ms

    def _state_changed(self, state: SessionState) -> None:
        session_id = f"0x{self.session.session_id:x}"
        level = "info" if state is SessionState.CONNECTED else "warning"
        self._effects(Fact(level, "zookeeper-session", {"state": state.value, "session": session_id}))
        if state is SessionState.CONNECTED:
            self._disconnected_since_ms = None
            self._refresh_ms = self._now_ms() + self._config.refresh_ms
            return
        if self._disconnected_since_ms is None:
            self._disconnected_since_ms = self._now_ms()
        self._refresh_ms = None
        if state is SessionState.EXPIRED:
            self._registration.forget()
            self._is_preparing = self._is_finding = self._is_registering = False
            self.session.open()

    def _reason_unconnected(self) -> str:
        reason = _UNCONNECTED.get(self.session.state, "no connection could be made")
        timeout_ms = self._config.zookeeper_connection_timeout_ms
        return f"zookeeper.connect={self._config.zookeeper_connect}: {reason}, for {timeout_ms} ms"

    def _refresh(self) -> None:
        """Read everything again: watches may have been lost."""
        self.features.read()
        self.brokers.read()
        for access in (self.acls, self.users):
            if access is not None:
                access.read()
        self.role.refresh()

    # --- Joining

    def _advance(self) -> None:
        """Take the next step of joining if the previous one is complete, and report a new controller."""
        current = (self.role.controller_id, self.role.election is not None)
        if current != self._last_controller:
            self._last_controller = current
            self._changed()
        if self.is_registered and self.brokers.is_known and self._config.node_id in self.brokers.brokers:
            self.is_joined = True
        if self.failure is not None or self._is_registering or not self.session.is_connected:
            return
        if not self._is_preparing:
            self._is_preparing = True
            self._registration.prepare(self.features.catch_up)
        if self.cluster_id is None:
            if not self._is_finding:
                self._is_finding = True
                self._cluster_id.find()
        elif self._knows_features() and self._knows_access():
            self._is_registering = True
            self._registration.begin(encode_broker(self._znode()))

    def _knows_features(self) -> bool:
        """Return whether finalized features are known; if the znode is malformed, an earlier reading counts."""
        features = self.features
        return features.is_fresh and (
            features.fault is None or features.state is not None or not self._supports_features
        )

    def _knows_access(self) -> bool:
        """Return whether ACLs and users are known; fail if the ACLs cannot be: the broker must not serve then."""
        if self.acls is not None and self.acls.fault is not None and not self.acls.is_known:
            self._fail(str(self.acls.fault))
            return False
        return all(access is None or access.is_known for access in (self.acls, self.users))

    def _znode(self) -> BrokerZnode:
        config = self._config
        return BrokerZnode(
            endpoints=tuple(
                BrokerEndpoint(listener.name, listener.security_protocol, *listener.advertised)
                for listener in config.listeners
                if listener.is_advertised
            ),
            rack=config.rack,
            timestamp_ms=self._now_ms(),
            features=config.supported_features if self._supports_features else None,
        )

    def _registered(self) -> None:
        fields = {"broker_id": self._config.node_id, "session": f"0x{self.session.session_id:x}"}
        self._effects(Fact("info", "broker-registered", fields))
        # The folder did not exist before the first broker.
        self.brokers.read()
        self.role.start()

    def _brokers_changed(self) -> None:
        current = list(self.brokers.brokers)
        if current != self._last_brokers:
            self._last_brokers = current
            self._effects(Fact("info", "brokers-changed", {"brokers": current}))
        self._changed()
        self.role.recheck()

    # --- Features

    def _features_changed(self) -> None:
        """Check the finalized features against what this broker supports (KIP-584, broker protections)."""
        features, config = self.features, self._config
        current = (features.epoch, features.state)
        if features.state is not None and current != self._last_features:
            levels = {name: [found.min_level, found.max_level] for name, found in features.state.features.items()}
            fields = {"epoch": features.epoch, "is_enabled": features.state.is_enabled, "features": levels}
            self._effects(Fact("info", "features-changed", fields))
        self._last_features = current
        if self._supports_features and features.is_fresh:
            if features.fault is not None and not self.is_joined:
                self._fail(str(features.fault))
                return
            found = () if features.state is None else incompatibilities(config.supported_features, features.state)
            if found:
                self._fail(
                    f"broker {config.node_id} cannot run with what is finalized in {config.features_path}, epoch "
                    f"{features.epoch}: {'; '.join(found)}"
                )
                return
        self._log_protocol()
        self._changed()
        self.role.recheck()

    def _log_protocol(self) -> None:
        """Log the effective inter.broker.protocol.version when it has changed."""
        finalized = self.finalized_features.levels.get(IBP_FEATURE)
        protocol = effective(self._config.inter_broker_protocol, None if finalized is None else finalized.max_level)
        if protocol != self._protocol:
            self._protocol = protocol
            fields = {"version": str(protocol.protocol), "source": protocol.source.value}
            self._effects(Fact("info", "inter-broker-protocol", fields))

    # --- Failures

    def _fail(self, reason: str) -> None:
        if self.failure is None:
            self.failure = reason

    def _unreadable(self, path: str, failed: Failed) -> None:
        reason = f"znode {path}: it cannot be read: {failed.detail or failed.refusal.value}"
        if self.is_joined:
            self._effects(Fact("error", "znode-unreadable", {"reason": reason}))
        else:
            self._fail(reason)
