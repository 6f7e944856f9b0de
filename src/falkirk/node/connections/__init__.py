"""Connections that a node accepts and opens: authentication, requests and responses."""
