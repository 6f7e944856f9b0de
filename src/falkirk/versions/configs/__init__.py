"""Configuration keys of Kafka by release: those of server.properties, of topics, of groups and of client metrics."""
