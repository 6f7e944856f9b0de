"""Features as KIP-584 keeps them in ZooKeeper: znodes, and the controller's decisions on them. Pure."""
