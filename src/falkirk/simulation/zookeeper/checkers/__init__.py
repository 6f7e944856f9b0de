"""The invariants of features in ZooKeeper, one per file."""
