"""What the extension must know before Python runs: the tool as the model sees it.

Pi wants tools registered at once, and their texts must be the same bytes in every session, or the
provider's prompt cache is lost. So the texts are generated here into `extension/manifest.json`, and a
test holds the file to them. They are sent with every request: each word has to earn its place.
"""

from pathlib import Path

from pi_fabric.base.jsonvalue import JsonObject, stringify
from pi_fabric.execution.request import FABRIC_EXEC
from pi_fabric.host.pi.wire import PROTOCOL

EXTENSION_DIR = Path(__file__).with_name("extension")
MANIFEST_PATH = EXTENSION_DIR / "manifest.json"

_PROGRAM = (
    "Run one TypeScript program in a sandbox; only what it returns or prints comes back. It is the body"
    " of an async function: top-level await and return work, imports do not. Types are checked first."
)
_CORE = (
    " pi.read, pi.bash, pi.edit, pi.write, pi.grep, pi.find and pi.ls are the host's tools"
    " (read, grep, find and ls give text; bash, edit and write give {ok, output, details};"
    " failures throw)."
)
_REST = (
    " memory.recall({query}) finds what is no longer in the context, memory.expand opens it word for word."
    " tools.search, tools.describe and tools.call find and call every other action;"
    " parallel, pipeline and phase structure the work."
)
_HABITS = (
    " Do related steps in one program and independent calls in Promise.all. Search before you read,"
    " read windows with offset and limit, and return the few facts needed, not whole files."
)
_STRINGS = " Pass long literal text in `strings` and use it as π.name."


def manifest() -> JsonObject:
    """The manifest as JSON: the protocol's number and the tool's declaration."""
    return {
        "protocol": PROTOCOL,
        "tool": {
            "label": "Fabric",
            "description": _PROGRAM + _CORE + _REST + _HABITS + _STRINGS,
            "orchestrationDescription": _PROGRAM + _REST + _STRINGS,
            "promptSnippet": "run a TypeScript program that calls the host's tools",
            "promptGuidelines": [
                "Work through fabric_exec: its programs read, search, edit and run commands (pi.*)."
            ],
            "parameters": _parameters(),
        },
    }


def _parameters() -> JsonObject:
    # Pi would refuse an unknown argument with words of its own; Python says which name was meant.
    schema = FABRIC_EXEC.input_schema
    return {key: value for key, value in schema.items() if key != "additionalProperties"}


def render() -> str:
    """The text of `extension/manifest.json`."""
    return stringify(manifest(), indent=2) + "\n"


def write() -> None:
    """Write the file anew; `make docs` does. Blocking."""
    MANIFEST_PATH.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    write()
