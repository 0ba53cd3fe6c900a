"""The environment's say in the configuration: a few variables that lie over every file."""

from collections.abc import Mapping

from pi_fabric.base.jsonvalue import Json, JsonObject

VARIABLES: Mapping[str, tuple[str, ...]] = {
    "PI_FABRIC_FULL_CODE_MODE": ("fullCodeMode",),
    "PI_FABRIC_CLAUDE_BINARY": ("subagents", "claude", "binary"),
    "PI_FABRIC_MESH_ROOT": ("mesh", "root"),
}
"""Variable to the key it sets. Child agents inherit them and so agree with their parent."""

_WORDS: Mapping[str, bool] = {"true": True, "false": False}


def from_environment(environ: Mapping[str, str]) -> tuple[JsonObject, tuple[str, ...]]:
    """Read the variables as one layer.

    Returns:
        The layer, and the names of variables that are set to something unusable. A blank one counts as
        absent.
    """
    layer: JsonObject = {}
    unusable: list[str] = []
    for name, path in VARIABLES.items():
        text = environ.get(name, "")
        if not text.strip():
            continue
        if path == ("fullCodeMode",):
            mode = _WORDS.get(text.strip().lower())
            if mode is None:
                unusable.append(name)
                continue
            _put(layer, path, mode)
        else:
            _put(layer, path, text)
    return layer, tuple(unusable)


def _put(layer: JsonObject, path: tuple[str, ...], value: Json) -> None:
    *sections, last = path
    for section in sections:
        layer = layer.setdefault(section, {})
    layer[last] = value
