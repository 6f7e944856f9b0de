"""Committed offsets of all groups of a shard, and those that wait for the end of a transaction."""
