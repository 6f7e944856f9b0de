"""One question per file, DataFrame to DataFrame."""
