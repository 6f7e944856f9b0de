"""The group coordinators of a broker: a shard for each partition of `__consumer_offsets` that it leads."""
