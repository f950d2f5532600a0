"""The API server of Kubernetes: login, reading and watching objects, and the few writes of a gateway."""
