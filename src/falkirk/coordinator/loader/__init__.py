"""Reading a partition of `__consumer_offsets` into a shard."""
