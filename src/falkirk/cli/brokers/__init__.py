"""`falkirk brokers`."""
