"""Clock, network, disks and hosts, with their faults."""
