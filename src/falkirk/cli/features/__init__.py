"""`falkirk features`: describe and change feature levels (kafka-features, KIP-584)."""
