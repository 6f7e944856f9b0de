"""ACLs: their types and filters, and the authorizer (KIP-801)."""
