"""The state that logs tell at an offset, as tables."""
