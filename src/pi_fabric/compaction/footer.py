"""The end of a summary: what it was made from, and how to read the rest."""

from typing import Final

from pi_fabric.base.jstext import collapse
from pi_fabric.compaction.render import MAX_FOOTER_BYTES, RULE, render_block
from pi_fabric.compaction.section import label

# Names only what this product serves. Ids stay whole unless somebody made them absurdly long.
RECALL: Final = (
    "An address such as e1 is an entry of this session, e1/2 a call within it. To read: "
    'memory.expand({session, entryIds: ["e1"]}) or {operationAddresses: ["e1/2"]}; '
    'to search: memory.recall({query: "words"}).'
)


def footer(first: str, last: str, timestamp: str) -> str:
    """The block that says which entries were summarized and how to open them.

    Args:
        first: Id of the first entry that told something.
        last: Id of the last one.
        timestamp: Of the newest summarized entry, as the session has it; empty when it has none.
    """
    until = f", until {collapse(timestamp)}" if timestamp else ""
    source = f"Made from entries {collapse(first)} to {collapse(last)}{until}; the session keeps them all."
    return render_block(RULE, [label(source), label(RECALL)], MAX_FOOTER_BYTES)
