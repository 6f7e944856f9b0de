"""The controller of a cluster on ZooKeeper: its election, and the finalized features."""
