"""All metadata at one offset."""

from __future__ import annotations

import msgspec

from falkirk.metadata.image.acls import AclsImage
from falkirk.metadata.image.client_quotas import ClientQuotasImage
from falkirk.metadata.image.cluster import ClusterImage
from falkirk.metadata.image.configs import ConfigsImage
from falkirk.metadata.image.delegation_tokens import DelegationTokensImage
from falkirk.metadata.image.features import FeaturesImage
from falkirk.metadata.image.producer_ids import ProducerIdsImage
from falkirk.metadata.image.scram import ScramImage
from falkirk.metadata.image.topics import TopicsImage
from falkirk.metadata.image.unknown_tags import UnknownTagsImage


class Provenance(msgspec.Struct, frozen=True, gc=False):
    """The end of an image: it holds all records below `end_offset`; epoch and append time (ms) of the last batch."""

    end_offset: int = 0
    epoch: int = -1
    timestamp: int = -1


class MetadataImage(msgspec.Struct, frozen=True, kw_only=True):
    """The image, which never changes; parts that a delta does not touch are shared with the image before."""

    provenance: Provenance = Provenance()
    features: FeaturesImage = FeaturesImage()
    cluster: ClusterImage = ClusterImage()
    topics: TopicsImage = TopicsImage()
    configs: ConfigsImage = ConfigsImage()
    client_quotas: ClientQuotasImage = ClientQuotasImage()
    producer_ids: ProducerIdsImage = ProducerIdsImage()
    acls: AclsImage = AclsImage()
    scram: ScramImage = ScramImage()
    delegation_tokens: DelegationTokensImage = DelegationTokensImage()
    unknown_tags: UnknownTagsImage = UnknownTagsImage()

    def has_same_content(self, other: MetadataImage) -> bool:
        """Return whether everything but the provenance is equal."""
        return msgspec.structs.replace(self, provenance=other.provenance) == other

    def counts(self) -> dict[str, int]:
        """Count the objects of each kind, under the names of `falkirk logdir inspect`; each record's object is one."""
        return {
            "topics": len(self.topics.by_name),
            "partitions": self.topics.partition_count,
            "brokers": len(self.cluster.brokers),
            "controllers": len(self.cluster.controllers),
            "acls": len(self.acls.acls),
            "scram_credentials": len(self.scram.credentials),
            "client_quotas": self.client_quotas.quota_count,
            "config_resources": len(self.configs.resources),
            "config_entries": self.configs.entry_count,
            "producer_ids": int(self.producer_ids.next_producer_id >= 0),
            "delegation_tokens": len(self.delegation_tokens.tokens),
        }


EMPTY = MetadataImage()
"""The image before the first record."""
