"""The cluster's metadata: images, deltas, the records that make them, and what a lower level would lose of them."""
