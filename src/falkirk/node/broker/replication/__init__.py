"""A broker's partitions: leading, following, and their logs (Kafka's ReplicaManager)."""
