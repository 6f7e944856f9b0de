"""Kafka's files, read and written byte for byte. Pure: every module takes bytes or a `Disk`."""
