"""The end of a summary: what it was made from, and how to read the rest."""

from typing import Final

from pi_fabric.base.jstext import collapse
from pi_fabric.compaction.render import MAX_FOOTER_BYTES, RULE, render_block
from pi_fabric.compaction.section import label

# Names only what this product serves, and no address that is not one.
_RECALL: Final = (
    "Each address is an entry id, or id/n for call n of a program. "
    'Read: memory.expand({{session, entryIds: ["{0}"]}}) or {{session, operationAddresses: ["id/n"]}}, '
    'with branches: "all" for a branch that was left. '
    'Search, and get the session\'s name: memory.recall({{query: "words"}}).'
)


def footer(first: str, last: str, timestamp: str) -> str:
    """The block that says which entries were summarized and how to open them.

    Args:
        first: Id of the first entry that told something.
        last: Id of the last one.
        timestamp: Of the newest summarized entry, as the session has it; empty when it has none.
    """
    start, end = collapse(first), collapse(last)
    until = f", until {collapse(timestamp)}" if timestamp else ""
    source = f"Made from entries {start} to {end}{until}. The session file keeps them all."
    return render_block(RULE, [label(source), label(_RECALL.format(start))], MAX_FOOTER_BYTES)
