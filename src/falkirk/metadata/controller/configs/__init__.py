"""Configs and client quotas: what may be set, and what is in force."""
