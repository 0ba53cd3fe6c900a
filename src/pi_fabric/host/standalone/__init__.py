"""The core tools where no host offers any: read, bash, edit, write, grep, find, ls."""

from pi_fabric.host.standalone.tools import StandaloneTools

__all__ = ["StandaloneTools"]
