"""What must hold of features in ZooKeeper whatever happens: one invariant a file."""
