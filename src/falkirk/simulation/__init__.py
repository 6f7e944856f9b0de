"""Many nodes in one process: clock, network, disks and chance come from one seed, so that a run replays exactly."""
