"""From files to a warehouse: units of work, run by Spark, and manifests."""
