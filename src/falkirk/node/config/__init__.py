"""server.properties in typed form, and the settings that each part of a node uses."""
