"""What the gateway says of itself in the status of its VirtualMCPServer."""
