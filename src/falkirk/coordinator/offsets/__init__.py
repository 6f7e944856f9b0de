"""Committed offsets of all groups of a shard, and pending offsets of open transactions."""
