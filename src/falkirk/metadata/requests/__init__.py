"""The context of a request to a node, and the error in its response."""
