"""The fields of the custom resources, a module for each kind or family."""
