"""`falkirk quorum`."""
