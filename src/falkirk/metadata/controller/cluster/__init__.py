"""Brokers and controllers: registrations, heartbeats, fencing, blocks of producer ids."""
