"""Speaking to a cluster: connections that negotiate versions, and the Admin on them. Does I/O."""
