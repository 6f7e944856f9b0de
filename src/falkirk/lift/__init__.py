"""A lift: a running cluster of real Kafka goes down a level, step by step, and may be continued after any stop."""
