"""What a move to another level or release costs, as values: losses, blockers, conversions, warnings.

The code that finds one makes the value with its sentence; text, JSON, HTML, logs and bundles are made from it at the
edge.
"""
