"""Kafka's dump tool: what the tool of each release prints of logs, snapshots and indexes, and the same as JSON."""
