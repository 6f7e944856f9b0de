"""What clients requested and what they were answered, and the invariants that a client can see violated."""
