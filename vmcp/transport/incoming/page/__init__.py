"""The page for people on the operations port: three files that a browser gets as they are, and their JSON."""
