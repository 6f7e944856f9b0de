"""A broker on ZooKeeper, which may be the controller, as a step function (KIP-584)."""
