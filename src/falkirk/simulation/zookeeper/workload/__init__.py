"""The users of a cluster on ZooKeeper: administrators of features, and clients that read them."""
