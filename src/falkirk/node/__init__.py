"""One Kafka node as a state machine: events in, effects out. The server and the simulator run the same code."""
