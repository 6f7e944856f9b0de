"""Spark data sources on raw Kafka files."""
