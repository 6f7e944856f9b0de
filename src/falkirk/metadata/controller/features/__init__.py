"""UpdateFeatures: who supports a level, what lowering it loses, and the records of it."""
