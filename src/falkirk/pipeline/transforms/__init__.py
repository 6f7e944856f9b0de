"""One question per file, tables to a DataFrame."""
