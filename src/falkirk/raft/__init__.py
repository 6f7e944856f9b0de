"""KRaft as a step function: requests, responses and time in, work for the driver out, in the order of execution."""
