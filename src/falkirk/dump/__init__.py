"""Kafka's files dumped: as text, line for line what Kafka's dump tool prints, or as one JSON document."""
