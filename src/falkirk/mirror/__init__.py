"""Logs of running clusters, fetched into Kafka's own files, which are read like those of a stopped one."""
