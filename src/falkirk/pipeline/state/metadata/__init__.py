"""Reading a cluster's metadata log, and the state of everything in it but topics and partitions."""
