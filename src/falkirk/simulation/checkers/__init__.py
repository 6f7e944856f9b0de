"""What must hold after every step of a run, one invariant a file; names are Kafka's where Kafka checks the same."""
