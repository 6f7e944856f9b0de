"""The transaction coordinators of a broker: a shard for each partition of `__transaction_state` that it leads."""
