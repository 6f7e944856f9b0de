"""Groups and their offsets, read and changed through their coordinators."""
