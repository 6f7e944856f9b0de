"""Active controllers for tests: at a release and metadata.version, with registered, unfenced brokers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, TypeVar

from falkirk.metadata.controller.controller import Controller
from falkirk.metadata.controller.state.controller_indexes import ControllerIndexes
from falkirk.metadata.controller.state.settings import ControllerSettings
from falkirk.metadata.image.broker_registration import BrokerRegistration, Endpoint, SupportedFeature
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, MetadataImage, Provenance
from falkirk.metadata.levels.lowering import replay
from falkirk.protocol.messages import BeginTransactionRecord, EndTransactionRecord, FeatureLevelRecord
from falkirk.protocol.metadata_record import decode_metadata_record, encode_metadata_record
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.metadata.controller.state.result import ControllerResult
    from falkirk.metadata.records.batch import VersionedRecord
    from falkirk.protocol.schema import WireMessage

R = TypeVar("R")

CLUSTER_ID = "falkirk-test-cluster-AA"
EPOCH = 7
CONTROLLER_ID = 3000


@dataclass(frozen=True, kw_only=True)
class Broker:
    """A broker in the image. Its directory ids are derived from its id: `directory(broker_id, 0)` and so on."""

    broker_id: int
    rack: str | None = None
    directory_count: int = 1
    fenced: bool = False
    in_controlled_shutdown: bool = False
    cordoned: Sequence[int] = ()  # which of its directories
    broker_epoch: int | None = None  # None: the offset of its registration
    features: dict[str, tuple[int, int]] = field(default_factory=dict)  # besides what the release supports


def directory(broker_id: int, index: int = 0) -> bytes:
    """Return the id of one of a broker's log directories."""
    return bytes([0xD1, index]) + broker_id.to_bytes(14, "big")


def incarnation(broker_id: int, number: int = 0) -> bytes:
    """Return the incarnation id of a broker's start number `number`."""
    return bytes([0x1C, number]) + broker_id.to_bytes(14, "big")


def brokers(*broker_ids: int, racks: Sequence[str | None] = (None,), directory_count: int = 1) -> list[Broker]:
    """Return unfenced brokers; racks are assigned round robin."""
    return [
        Broker(broker_id=broker_id, rack=racks[index % len(racks)], directory_count=directory_count)
        for index, broker_id in enumerate(broker_ids)
    ]


def make_controller(
    *,
    release: str = "4.4",
    metadata_version: str | int | None = None,
    features: dict[str, int] | None = None,
    brokers: Iterable[Broker | int] = (),
    records: Iterable[WireMessage] = (),
    seed: int = 0,
    now_ms: int = 0,
    **settings,
) -> Controller:
    """Make an active controller. `brokers`: a number stands for an unfenced broker with that id.

    `metadata_version`: the release's newest if None. `features`: finalized levels of the others. `records`: replayed
    after the registrations. `settings`: of ControllerSettings.
    """
    image = make_image(
        release=release, metadata_version=metadata_version, features=features, brokers=brokers, records=records
    )
    return controller_of(image, release=release, seed=seed, now_ms=now_ms, **settings)


def controller_of(
    image: MetadataImage, *, release: str = "4.4", seed: int = 0, now_ms: int = 0, **settings
) -> Controller:
    """Make an active controller on an image, as a new leader does."""
    runs = Release.parse(release)
    given = ControllerSettings(
        node_id=CONTROLLER_ID, cluster_id=CLUSTER_ID, release=runs, supported_features=runs.supported_features()
    )
    indexes = ControllerIndexes.of(image)
    return Controller(replace(given, **settings), image, indexes, epoch=EPOCH, random=Random(seed), now_ms=now_ms)


def make_image(
    *,
    release: str = "4.4",
    metadata_version: str | int | None = None,
    features: dict[str, int] | None = None,
    brokers: Iterable[Broker | int] = (),
    records: Iterable[WireMessage] = (),
) -> MetadataImage:
    """Return the image of a log of feature levels, registrations and `records`, one offset each."""
    profile = Release.parse(release)
    at = profile.latest_metadata_version if metadata_version is None else MetadataVersion.parse(str(metadata_version))
    log: list[WireMessage] = [FeatureLevelRecord("metadata.version", at.level)]
    log += [FeatureLevelRecord(name, level) for name, level in (features or {}).items()]
    for broker in brokers:
        given = Broker(broker_id=broker) if isinstance(broker, int) else broker
        # The leader-change record at the start of an epoch takes an offset too.
        log.append(_registration(given, profile, at, offset=len(log) + 1).to_record(at)[0])
    log += records
    delta = MetadataDelta(EMPTY)
    for record in log:
        delta.replay(record)
    return delta.apply(Provenance(len(log) + 1, EPOCH, 0))


def run(controller: Controller, result: ControllerResult[R], *, now_ms: int = 0) -> R:
    """Append and commit the records of a manager's result; return its response.

    The records are encoded at their versions and decoded again; the image that replicas build from them must equal the
    controller's own, and its indexes those of that image.
    """
    before = controller.state.image
    records = (*result.transaction, *result.records)
    read = [decode_metadata_record(encode_metadata_record(*record)) for record in records]
    end_offset = controller.state.next_offset + len(read)
    delta = MetadataDelta(before)
    for record, _ in read:
        if not isinstance(record, BeginTransactionRecord | EndTransactionRecord):
            replay(delta, record)
    controller.replay(records, end_offset=end_offset, now_ms=now_ms)
    after = delta.apply(Provenance(end_offset, controller.epoch, now_ms))
    assert controller.state.image == after
    assert controller.state.indexes == ControllerIndexes.of(after)
    return result.response


def run_due(controller: Controller, now_ms: int) -> list[VersionedRecord]:
    """Append and commit everything that is due at this time, one result after the other; return the records."""
    records: list[VersionedRecord] = []
    for result in controller.due(now_ms):
        run(controller, result, now_ms=now_ms)
        records += result.records
    return records


def _registration(broker: Broker, release: Release, at: MetadataVersion, *, offset: int) -> BrokerRegistration:
    directories = tuple(directory(broker.broker_id, index) for index in range(broker.directory_count))
    supported = {name: (levels.lowest, levels.highest) for name, levels in release.supported_features().items()}
    return BrokerRegistration(
        broker_id=broker.broker_id,
        broker_epoch=offset if broker.broker_epoch is None else broker.broker_epoch,
        incarnation_id=incarnation(broker.broker_id),
        end_points=(Endpoint("PLAINTEXT", f"broker-{broker.broker_id}", 9092, 0),),
        features=tuple(
            SupportedFeature(name, lowest, highest)
            for name, (lowest, highest) in sorted((supported | broker.features).items())
        ),
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=directories if at.directory_assignment_supported else (),
        cordoned_log_dirs=(
            tuple(directories[index] for index in broker.cordoned) if at.cordoned_log_dirs_supported else None
        ),
    )
