"""Logs of running clusters, fetched into Kafka's own files, which the pipeline reads like all others."""
