"""Falkirk moves an Apache Kafka cluster's versions up and down, and says beforehand what a move would cost."""

__version__ = "0.1.0"
