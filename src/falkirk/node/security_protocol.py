"""Kafka's numbers of security protocols, as registrations tell them."""

from typing import Final

SECURITY_PROTOCOL_IDS: Final = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}
