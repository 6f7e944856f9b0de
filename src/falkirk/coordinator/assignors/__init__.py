"""How partitions are shared out among the members of a consumer group (KIP-848's server-side assignors)."""
