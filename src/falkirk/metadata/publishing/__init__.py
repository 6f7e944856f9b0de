"""Loading batches of the metadata log into images, and publishing them in order."""
