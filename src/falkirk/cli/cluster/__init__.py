"""`falkirk serve`, `falkirk cluster` and `falkirk zookeeper`: run nodes on this machine."""
