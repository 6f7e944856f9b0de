"""Decisions of the shipped controller on a log: an older broker registers, a level is raised above it (KIP-584).

The active controller decides on the whole log, committed or not: what was there when it began, and what it appended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.controller import Controller
from falkirk.metadata.controller.features.feature_update import FeatureUpdateContext
from falkirk.metadata.controller.state.controller_indexes import ControllerIndexes
from falkirk.metadata.controller.state.settings import ControllerSettings
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, MetadataImage, Provenance
from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.messages import (
    BrokerRegistrationRequest,
    FeatureLevelRecord,
    UpdateFeaturesRequest,
    broker_registration_request,
)
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.metadata_record import decode_metadata_record, encode_metadata_record
from falkirk.simulation.plans.roll_plan import ROLLING_RELEASES
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.records.batch import VersionedRecord
    from falkirk.protocol.chance import Chance

BROKER_ID: Final = 50
_CLUSTER_ID: Final = "explored"
_FEATURE: Final = "metadata.version"
_NOW_MS: Final = 0
_API_VERSION: Final = 1


class MetadataDecisions:
    """`register` and `finalize` return the records to append, as bytes; none if the controller refuses."""

    def __init__(self, random: Chance) -> None:
        self._random = random
        self._old, self._new = Release.parse(ROLLING_RELEASES[0]), Release.parse(ROLLING_RELEASES[-1])
        self._settings = ControllerSettings(
            node_id=1, cluster_id=_CLUSTER_ID, release=self._new, supported_features=self._new.supported_features()
        )

    def register(self, values: Sequence[bytes], epoch: int) -> tuple[bytes, ...]:
        """Register a broker of the older release, as the leader of an epoch whose log has these records."""
        request = BrokerRegistrationRequest(
            broker_id=BROKER_ID,
            cluster_id=_CLUSTER_ID,
            incarnation_id=bytes(15) + b"1",
            listeners=[broker_registration_request.Listener("PLAINTEXT", "broker", 9092, 0)],
            features=[
                broker_registration_request.Feature(name, each.lowest, each.highest)
                for name, each in self._old.supported_features().items()
            ],
            log_dirs=(b"d" * 16,),
        )
        cluster = self._controller(values, epoch).cluster
        decided = cluster.register_broker(request, api_version=_API_VERSION, kraft_version=0, now_ms=_NOW_MS)
        return () if isinstance(decided, ApiError) else _encoded(decided.records)

    def finalize(self, values: Sequence[bytes], epoch: int) -> tuple[bytes, ...]:
        """Raise metadata.version to the newer release's level."""
        update = FeatureUpdateKey(feature=_FEATURE, max_version_level=self._new.latest_metadata_version.level)
        context = FeatureUpdateContext(api_version=_API_VERSION, kraft_version=0, voters=frozenset({1}), now_ms=_NOW_MS)
        features = self._controller(values, epoch).features
        return _encoded(features.update_features(UpdateFeaturesRequest(feature_updates=[update]), context).records)

    def misfit(self, values: Sequence[bytes]) -> str | None:
        """Return what a registered broker does not support of what is finalized; None if all fits."""
        image = self._image(values)
        levels = image.features.levels()
        for broker in image.cluster.brokers.values():
            for feature in broker.features:
                level = levels.get(feature.name, feature.min_supported_version)
                if not feature.min_supported_version <= level <= feature.max_supported_version:
                    return f"broker {broker.broker_id} does not support {feature.name} {level}"
        return None

    def _controller(self, values: Sequence[bytes], epoch: int) -> Controller:
        image = self._image(values)
        indexes = ControllerIndexes.of(image)
        return Controller(self._settings, image, indexes, epoch=epoch, random=self._random, now_ms=_NOW_MS)

    def _image(self, values: Sequence[bytes]) -> MetadataImage:
        delta = MetadataDelta(EMPTY)
        delta.replay(FeatureLevelRecord(_FEATURE, self._old.latest_metadata_version.level))
        for value in values:
            delta.replay(decode_metadata_record(value)[0])
        return delta.apply(Provenance(len(values) + 1, 1, _NOW_MS))


def _encoded(records: Sequence[VersionedRecord]) -> tuple[bytes, ...]:
    return tuple(encode_metadata_record(*each) for each in records)
