"""Group, transaction and share coordinators: what a release makes of the records in their topics. Pure, no I/O."""
