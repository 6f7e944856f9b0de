"""What brokers on ZooKeeper answer: one file for each API, `routes.py` lists them."""
