"""Who uses a cluster on ZooKeeper: administrators of features, and clients that want to know them."""
