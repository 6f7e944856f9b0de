"""`falkirk transactions`: transactions of a cluster, and those that hang."""
