"""Controllers that receive feature updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controllers import CONTROLLER_ID, Broker, make_controller

from falkirk.metadata.controller.features.feature_update import FeatureUpdateContext
from falkirk.protocol.messages import UpdateFeaturesRequest
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.features import FALKIRK_DOWNGRADE
from falkirk.versions.release import Release
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.metadata.controller.controller import Controller
    from falkirk.metadata.controller.features.coordinator_use import CoordinatorUse
    from falkirk.metadata.controller.features.feature_update import FeatureUpdateDecision

UPGRADE, SAFE, UNSAFE = UpgradeType
ELR = "eligible.leader.replicas.version"
TOGETHER = "The update failed for all features since the following feature had an error: "


def decide(
    controller: Controller,
    *updates: tuple[str, int, int],
    version: int = 1,
    kraft_version: int = 0,
    voters: Iterable[int] = (CONTROLLER_ID,),
    dry: bool = False,
    use: CoordinatorUse | None = None,
    kraft_version_refusal: str | None = None,
) -> FeatureUpdateDecision:
    """Decide on updates, each a name, a level and a type."""
    keys = [FeatureUpdateKey(name, level, upgrade_type=type_) for name, level, type_ in updates]
    request = UpdateFeaturesRequest(feature_updates=keys, validate_only=dry)
    context = FeatureUpdateContext(
        api_version=version,
        kraft_version=kraft_version,
        kraft_version_refusal=kraft_version_refusal,
        voters=frozenset(voters),
        now_ms=0,
        use=use,
    )
    return controller.features.update_features(request, context)


def a_controller(release: str = "4.4", **fields) -> Controller:
    """Return a controller that can lower metadata.version, with one such broker; `fields` as for `make_controller`."""
    supported = {**Release.parse(release).supported_features(), FALKIRK_DOWNGRADE: SupportedRange(0, 1)}
    brokers = fields.pop("brokers", [Broker(broker_id=1, features={FALKIRK_DOWNGRADE: (0, 1)})])
    return make_controller(release=release, brokers=brokers, supported_features=supported, **fields)
