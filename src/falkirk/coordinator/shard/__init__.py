"""A shard: one partition of `__consumer_offsets` at its leader. Requests in, records and responses out."""
