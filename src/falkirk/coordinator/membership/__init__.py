"""Group members as state machines: the next request to the coordinator, the effect of its response. No I/O."""
