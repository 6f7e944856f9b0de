"""Alert rules and a Grafana dashboard for the metrics of a watch."""
