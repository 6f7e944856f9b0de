"""The log of one partition as a broker keeps it, and all logs of a broker: append, read, recover, clean up."""
