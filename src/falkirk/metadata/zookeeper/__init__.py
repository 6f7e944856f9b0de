"""Features as KIP-584 keeps them in ZooKeeper: znodes, and what the controller makes of them. Pure."""
