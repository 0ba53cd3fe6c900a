"""Pi: the Python side of the extension, and what installs and examines it.

The extension (`extension/`, JavaScript) starts the sidecar and speaks JSON-RPC with it over stdio. It
owns only what must happen inside Pi; everything that decides something is here.
"""
