"""KIP-584's mode in the simulator: a ZooKeeper made of values, nodes on it, and what may go wrong between them."""
