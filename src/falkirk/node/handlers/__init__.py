"""One file for each API that a node serves; its head lists versions and behaviour. `parts` has what handlers share."""
