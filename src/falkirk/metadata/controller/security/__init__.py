"""ACLs, delegation tokens and SCRAM credentials."""
