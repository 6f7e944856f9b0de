"""Connections to nodes that negotiate API versions, and Admin clients on them. Does I/O."""
