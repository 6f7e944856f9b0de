"""Logs of running clusters, fetched into files of Kafka's own form, which the pipeline reads as it reads all others."""
