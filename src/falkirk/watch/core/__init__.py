"""Pure: batches of logs and answers of nodes go in, findings come out."""
