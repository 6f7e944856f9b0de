"""Runs one node on sockets, disks and the clock: the driver around `falkirk.node`."""
