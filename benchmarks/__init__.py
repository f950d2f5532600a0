"""What `make bench` runs: a backend, a bare relay, a load generator and the comparison."""
