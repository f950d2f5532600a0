"""Names and set-up of logs."""
