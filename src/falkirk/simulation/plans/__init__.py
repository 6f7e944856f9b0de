"""What a seed chooses: cluster, faults, data, groups, and the operator's steps."""
