"""`falkirk groups`: groups and their offsets (kafka-consumer-groups, kafka-groups)."""
