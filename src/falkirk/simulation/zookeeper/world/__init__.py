"""An in-memory ZooKeeper, and the hosts of the brokers on it."""
