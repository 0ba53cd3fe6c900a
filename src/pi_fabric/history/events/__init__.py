"""Typed events of a session: the one normalizer and its vocabulary."""
