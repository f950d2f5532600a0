"""The custom resources: what they hold, what is wrong with them, and how the API server learns of them."""
