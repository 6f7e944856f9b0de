"""What the coordinators of a broker share: a shard for each partition of their topic that the broker leads."""
