"""What `vmcp doctor` looks at, step by step: backends over HTTP and over stdio, and this machine."""
