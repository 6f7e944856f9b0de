"""One file for each API that a node serves; the head of each says versions and behaviour."""
