"""Groups that change from the classic protocol to the consumer protocol and back, and members of both in one group."""
