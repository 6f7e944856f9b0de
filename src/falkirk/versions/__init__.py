"""Which Kafka release speaks what: API ranges, features, metadata.versions, records. Tables and questions, no I/O."""
