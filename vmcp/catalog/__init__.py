"""What clients see: names, visibility, pages and lookups, built purely from snapshot and lists."""
