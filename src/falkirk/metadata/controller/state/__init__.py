"""The state that every manager of the controller decides on, and the form of its decisions."""
