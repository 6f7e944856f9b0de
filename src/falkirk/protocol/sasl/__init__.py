"""SASL as Kafka speaks it: mechanisms as state machines on tokens, both sides, and the text of sasl.jaas.config."""
