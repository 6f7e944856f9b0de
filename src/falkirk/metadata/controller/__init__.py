"""The active controller: requests in, records and responses out. Only `replay` changes its state."""
