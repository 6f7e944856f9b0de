"""KIP-584's mode in the simulator: an in-memory ZooKeeper, brokers on it, and the faults between them."""
