"""The seam through which every outgoing HTTP request goes."""
