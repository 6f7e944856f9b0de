"""`falkirk lift`: a running cluster of real Kafka on its way to a lower level."""
