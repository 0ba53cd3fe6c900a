"""A benchmark's result for machines, terminals, Markdown and browsers."""
