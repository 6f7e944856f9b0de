"""The APIs of brokers on ZooKeeper: one file each, listed in `routes.py`."""
