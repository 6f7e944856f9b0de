"""The group coordinator: shards of `__consumer_offsets`, both group protocols, offsets, and what a release can load."""
