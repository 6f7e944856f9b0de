"""Kafka's bytes: messages, codecs, record batches, headers. Knows nothing about releases, roles or I/O."""
