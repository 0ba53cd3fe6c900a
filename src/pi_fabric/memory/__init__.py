"""Floor 4: the memory over every past session: index, recall, expansion."""

from pi_fabric.memory.memory import Current, Memory

__all__ = ["Current", "Memory"]
