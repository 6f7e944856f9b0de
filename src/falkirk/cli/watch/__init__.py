"""`falkirk watch`: its command, and how findings look as text."""
