"""Falkirk moves an Apache Kafka cluster's versions up and down, and says beforehand what a move would cost."""

import os

__version__ = "0.1.0"

if os.environ.get("FALKIRK_PURE") == "1":
    from falkirk import source_modules

    source_modules.install()
