"""Dynamic configs of topics, brokers, client metrics and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from immutables import Map

from falkirk.metadata.image.keyed_delta import NestedDelta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.protocol.messages import ConfigRecord

TOPIC: Final = 2
BROKER: Final = 4
BROKER_LOGGER: Final = 8
CLIENT_METRICS: Final = 16
GROUP: Final = 32


class ConfigResource(NamedTuple):
    """What a config belongs to; the name "" is the cluster-wide default of brokers. Types are Kafka's numbers.

    Differs from Kafka: types that a release does not know are not merged into one.
    """

    resource_type: int
    resource_name: str


class ConfigsImage(msgspec.Struct, frozen=True):
    """All configs; a resource without configs is absent."""

    resources: Map[ConfigResource, Map[str, str]] = Map()

    def of(self, resource_type: int, resource_name: str) -> Map[str, str]:
        """Return the configs of one resource, empty if it has none."""
        return self.resources.get(ConfigResource(resource_type, resource_name), Map())

    def broker_values(self, node_id: int, name: str) -> list[str]:
        """Return the dynamic values of a broker's config: its own, then the default of all brokers, as far as set."""
        found = (self.of(BROKER, resource_name).get(name) for resource_name in (str(node_id), ""))
        return [value for value in found if value is not None]

    def __iter__(self) -> Iterator[tuple[ConfigResource, str, str]]:
        """Yield (resource, name, value), sorted by resource and name."""
        for resource in sorted(self.resources):
            for name, value in sorted(self.resources[resource].items()):
                yield resource, name, value

    @property
    def entry_count(self) -> int:
        """Count the configs of all resources."""
        return sum(len(configs) for configs in self.resources.values())


class ConfigsDelta:
    """Pending changes of the configs."""

    def __init__(self, image: ConfigsImage) -> None:
        self.image = image
        self.resources: NestedDelta[ConfigResource, str] = NestedDelta(image.resources)

    def replay_config(self, record: ConfigRecord) -> None:
        """Set a config; a null value removes it."""
        resource = ConfigResource(record.resource_type, record.resource_name)
        if record.value is None:
            self.resources.remove(resource, record.name)
        else:
            self.resources.put(resource, record.name, record.value)

    def remove_topic(self, name: str) -> None:
        """Remove all configs of a removed topic.

        Differs from Kafka: configs that came in the same delta go as well (Kafka keeps them if the topic had none
        before, so that its image depends on how records fell into batches).
        """
        self.resources.remove_all(ConfigResource(TOPIC, name))

    def apply(self) -> ConfigsImage:
        """Return the next image."""
        return ConfigsImage(self.resources.apply())

    @classmethod
    def between(cls, before: ConfigsImage, after: ConfigsImage) -> ConfigsDelta:
        """Return the delta that leads from one image to the other."""
        delta = cls(before)
        delta.resources = NestedDelta.between(before.resources, after.resources)
        return delta
