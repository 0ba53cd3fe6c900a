"""Goldens of kind `config`: a merged file and what it counts as."""

from kinds.compare import differences
from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.config import normalize

# Keys that the recorded release does not have.
OWN_KEYS = (
    ("compaction", "fill"),
    ("memory", "verify"),
    ("memory", "sources"),
    ("mesh", "backend"),
    ("mesh", "url"),
)
# A bound above every machine's: what was recorded depends on the memory of the machine it ran on.
ENDLESS_RAM_BYTES = 2**60


def check(case: JsonObject) -> list[str]:
    """Where normalizing the case's value gives something else than was recorded."""
    value, expected = case["input"]["value"], case["output"]["config"]
    actual = normalize(value, ram_bytes=ENDLESS_RAM_BYTES).config.to_json()
    for section, key in OWN_KEYS:
        actual[section].pop(key, None)
    found = differences(expected, actual)
    return [line for line in found if not _depends_on_ram(line, expected, actual)]


def _depends_on_ram(line: str, expected: JsonObject, actual: JsonObject) -> bool:
    if not line.startswith("executor.memoryLimitBytes:"):
        return False
    key = "memoryLimitBytes"
    return actual["executor"][key] > expected["executor"][key]
