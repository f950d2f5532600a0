"""Who calls: from the headers of a request to a caller, or to a refusal."""
