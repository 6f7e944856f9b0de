"""The session with ZooKeeper: requests, responses and watches as values."""
