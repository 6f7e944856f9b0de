"""`falkirk storage`: format the log directories of a node, and inspect them (kafka-storage)."""
