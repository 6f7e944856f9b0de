"""The invariants that hold after every step of a run, one per file, with Kafka's names where Kafka checks the same."""
