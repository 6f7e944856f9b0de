"""Groups of the classic protocol: the coordinator elects a leader among the members and distributes its assignment."""
