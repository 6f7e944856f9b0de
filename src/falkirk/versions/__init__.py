"""Facts about Kafka releases: API ranges, features, metadata.versions, records, configs. Tables and lookups, no I/O."""
