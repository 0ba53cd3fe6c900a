"""A programmable tool, deterministic compaction and exact memory for coding agents."""

__version__ = "0.1.0"
