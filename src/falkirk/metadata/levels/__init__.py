"""An image at another metadata.version: the writer, lowering, and the feature levels that a target runs."""
