"""The undo bundle: what a downgrade dropped or converted, kept so that an upgrade can restore it."""
