"""Floor 8: the namespaces a program can call.

Each built-in is named here once and imported on first use.
"""

BUILTIN: dict[str, str] = {
    "pi": "pi_fabric.providers.pi:PiProvider",
    "compact": "pi_fabric.providers.compact:CompactProvider",
}
"""Provider name to `module:class`, in the order in which `tools.list` shows them."""
