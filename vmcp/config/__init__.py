"""The config file: its schema, and how it is read."""
