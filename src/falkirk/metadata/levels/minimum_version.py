"""The lowest metadata.version that holds an image without loss."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from falkirk.metadata.levels.feature_levels import needed_metadata_version
from falkirk.metadata.losses.loss import LossRule, Outcome
from falkirk.metadata.losses.loss_catalogue import CATALOGUE
from falkirk.metadata.losses.loss_finder import LossFinder
from falkirk.metadata.records.record_key import (
    ZK_MIGRATION_STATE_KEY,
    ObjectKey,
    acl_key,
    broker_key,
    controller_key,
    delegation_token_key,
    partition_key,
    scram_key,
)
from falkirk.protocol.messages import ZkMigrationStateRecord
from falkirk.versions.metadata_version import FLOOR, METADATA_VERSIONS, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.metadata.image.metadata_image import MetadataImage

# A row (see falkirk.metadata.losses.condition), the function that names it and its arguments, and its topic's name if
# it has one. Any: image objects of all kinds, and what is their key.
_Row = tuple[Any, "Callable[..., ObjectKey]", tuple[Any, ...], str | None]


class Because(NamedTuple):
    """One object that a lower level cannot hold as it is."""

    kind: str
    key: ObjectKey
    key_text: str
    record: str
    level: int


class FeatureNeed(NamedTuple):
    """A finalized feature level that depends on a metadata.version; below that it is dropped."""

    name: str
    level: int
    metadata_version: MetadataVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimumVersion:
    """The lowest level. `because` has objects that force it, at most as many as were asked for, of `because_count`.

    Nothing forces the floor, so there `because` is empty. Features do not force a level: they are dropped by name and
    hold no data; `features` lists those that depend on more than the lowest level.
    """

    version: MetadataVersion
    because: tuple[Because, ...] = ()
    because_count: int = 0
    features: tuple[FeatureNeed, ...] = ()

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the object that commands print."""
        return {
            "level": self.version.level,
            "name": str(self.version),
            "because": [
                {
                    "kind": item.kind,
                    "key": item.key_text,
                    "record": item.record,
                    "level": item.level,
                }
                for item in self.because
            ],
            "because_count": self.because_count,
            "features": [
                {"feature": need.name, "level": need.level, "metadata_version": str(need.metadata_version)}
                for need in self.features
            ],
        }


def minimum_version(
    image: MetadataImage,
    *,
    floor: MetadataVersion = FLOOR,
    because_max: int = 1000,
    levels: dict[str, int] | None = None,
) -> MinimumVersion:
    """Compute the lowest level from the data.

    Operators cannot go below the default floor, but a lower one may be passed. `levels` are the finalized features, by
    default those of the image (only the caller knows kraft.version).
    """
    version, count = floor, 0
    because: tuple[Because, ...] = ()
    for level, rules in groupby(forcing_rules(image, floor), key=lambda rule: rule.level or 0):
        forcing = _matches(image, list(rules))
        because = tuple(islice(forcing, because_max))
        if because:
            count = len(because) + sum(1 for _ in forcing)
            version = MetadataVersion.of_level(level)
            break
    needs = (
        FeatureNeed(name, level, needed)
        for name, level in (image.features.levels() if levels is None else levels).items()
        if (needed := needed_metadata_version(name, level)) is not None and needed > version
    )
    return MinimumVersion(version=version, because=because, because_count=count, features=tuple(needs))


def forcing_objects(image: MetadataImage) -> Iterator[Because]:
    """Yield every object that some level, not below FLOOR, cannot hold as it is."""
    return _matches(image, forcing_rules(image))


def forcing_rules(image: MetadataImage, floor: MetadataVersion = FLOOR) -> list[LossRule]:
    """Return the rules by which an object can force a level above `floor`, the highest level first."""
    own = image.features.metadata_version or METADATA_VERSIONS[-1]
    rules = [rule for rule in CATALOGUE if rule.level is not None and rule.outcome is Outcome.LOST]
    rules = [rule for rule in rules if rule.has_meaning(own)]
    above = [rule for rule in rules if (rule.level or 0) > floor.level]
    return sorted(above, key=lambda rule: rule.level or 0, reverse=True)


def _matches(image: MetadataImage, rules: list[LossRule]) -> Iterator[Because]:
    finder = LossFinder(image, rules)
    for record, rows in _ROWS.items():
        if not finder.has_rules(record):
            continue
        for row, key_of, identity, topic_name in rows(image):
            for rule in finder.matches(record, row):
                key: ObjectKey = key_of(*identity)
                yield Because(rule.kind, key, key.text(topic_name), record, rule.level or 0)


def _zk_migration_state(image: MetadataImage) -> Iterator[_Row]:
    state = ZkMigrationStateRecord(image.features.zk_migration_state)
    yield state, lambda: ZK_MIGRATION_STATE_KEY, (), None


def _brokers(image: MetadataImage) -> Iterator[_Row]:
    for broker_id, broker in sorted(image.cluster.brokers.items()):
        yield broker, broker_key, (broker_id,), None


def _controllers(image: MetadataImage) -> Iterator[_Row]:
    for controller_id, controller in sorted(image.cluster.controllers.items()):
        yield controller, controller_key, (controller_id,), None


def _partitions(image: MetadataImage) -> Iterator[_Row]:
    for topic in image.topics:
        for partition_id, partition in topic.items():
            yield partition, partition_key, (topic.topic_id, partition_id), topic.name


def _acls(image: MetadataImage) -> Iterator[_Row]:
    for acl_id in sorted(image.acls.acls):
        yield image.acls.acls[acl_id], acl_key, (acl_id,), None


def _scram(image: MetadataImage) -> Iterator[_Row]:
    for user in sorted(image.scram.credentials):
        yield image.scram.credentials[user], scram_key, (user.name, user.mechanism), None


def _delegation_tokens(image: MetadataImage) -> Iterator[_Row]:
    for token_id in sorted(image.delegation_tokens.tokens):
        yield image.delegation_tokens.tokens[token_id], delegation_token_key, (token_id,), None


_ROWS: Final[dict[str, Callable[[MetadataImage], Iterator[_Row]]]] = {
    "ZkMigrationStateRecord": _zk_migration_state,
    "RegisterBrokerRecord": _brokers,
    "RegisterControllerRecord": _controllers,
    "PartitionRecord": _partitions,
    "AccessControlEntryRecord": _acls,
    "UserScramCredentialRecord": _scram,
    "DelegationTokenRecord": _delegation_tokens,
}
