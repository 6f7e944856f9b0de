"""What the commands decide, for programs: no options, no output. A module for each kind of operation.

See docs/reference/operations.md.
"""
