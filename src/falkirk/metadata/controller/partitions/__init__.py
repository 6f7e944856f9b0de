"""Topics and partitions: creation, placement, leaders, in-sync replicas, reassignments."""
