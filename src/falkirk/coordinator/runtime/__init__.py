"""What all parts of a shard share: clients, context, outcomes, settings, counters, topics, the Group interface."""
