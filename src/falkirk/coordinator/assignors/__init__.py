"""KIP-848's server-side assignors: which member of a consumer group owns which partitions."""
