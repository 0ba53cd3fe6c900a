"""Floor 8: the namespaces a program can call. A new one is a module here and a row in `BUILTIN`."""

BUILTIN: dict[str, str] = {
    "pi": "pi_fabric.providers.pi:offer",
    "compact": "pi_fabric.providers.compact:offer",
    "memory": "pi_fabric.providers.memory:offer",
}
"""Namespace to `module:function`, in the order of listing.

The function takes `Surroundings` and gives the provider, or None where something that it needs is missing
or switched off. Modules here are imported when Fabric opens: a heavy one imports its subsystem at first use.
"""
