"""`kafka-storage format` and `info`, as each release's tool does them (KIP-631, KIP-778, KIP-853)."""
