"""What `kafka-storage format` and `info` do, as the tool of each release does it (KIP-631, KIP-778, KIP-853)."""
