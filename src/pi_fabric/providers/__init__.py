"""Floor 8: the namespaces a program can call. A new one is a module here and a row in `BUILTIN`."""

BUILTIN: dict[str, str] = {
    "pi": "pi_fabric.providers.pi:offer",
    "compact": "pi_fabric.providers.compact:offer",
}
"""Namespace to `module:function`, in the order of listing.

The function takes the host's ports and gives the provider, or None where the host lacks what it needs.
"""
