"""A catalogue of stubs, as the recorded programs were run against."""

from pi_fabric.protocol.actions import Action, CallShape

SHAPES = {
    "read": CallShape(shorthand="path"),
    "bash": CallShape(shorthand="command"),
    "ls": CallShape(shorthand="path"),
    "grep": CallShape(shorthand="pattern", positional=("pattern", "path", "limit")),
    "find": CallShape(shorthand="pattern", positional=("pattern", "path", "limit")),
    "write": CallShape(positional=("path", "content")),
    "edit": CallShape(positional=("path", "oldText", "newText")),
}
CATALOGUE = {
    "pi": ("read", "bash", "edit", "write", "grep", "find", "ls"),
    "agents": ("run", "spawn", "wait", "status", "list", "stop", "create", "ask", "tell", "actors"),
    "mcp": ("$servers", "$call", "srv.tool", "srv.other_tool"),
    "mesh": ("self", "publish", "read", "get", "put"),
    "memory": ("recall", "expand", "sessions"),
    "state": ("get", "transition"),
    "extensions": ("web",),
    "stub": ("echo", "fail"),
}


def stub_actions() -> dict[str, list[Action]]:
    """Actions with open schemas, as the recorded programs were run against."""
    return {
        provider: [
            Action(
                name=name,
                description=f"stub {name}",
                risk="read",
                input_schema={"type": "object"},
                shape=SHAPES.get(name) if provider == "pi" else None,
            )
            for name in names
        ]
        for provider, names in CATALOGUE.items()
    }
