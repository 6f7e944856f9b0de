"""Members of groups as state machines: what to ask the coordinator next, what its answers mean. No I/O, no clock."""
