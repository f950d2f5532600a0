"""The running gateway between the wire and the backends: it knows neither Kubernetes nor a web framework."""
