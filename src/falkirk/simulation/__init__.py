"""Many nodes in one process; one seed drives clock, network, disks and random choices, so a run can be replayed."""
