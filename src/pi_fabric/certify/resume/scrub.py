"""Keeps a credential out of everything that is shown.

Text from elsewhere (Pi's words, an oracle's output, files that a model wrote) passes through here before
it is cut: a cut could leave half a key that is no longer recognized.
"""

import base64
import json
from urllib.parse import quote, quote_plus

from pi_fabric.base.bounds import clip_bytes
from pi_fabric.base.printable import printable


class Scrubber:
    """Replaces a credential, however it is commonly written, by its variable's name."""

    def __init__(self, name: str, value: str) -> None:
        self.mark = f"[{name}]"
        """What stands in its place."""
        self._forms = sorted(_forms(value), key=len, reverse=True)

    @property
    def longest_bytes(self) -> int:
        """Size of the longest form; what was cut anywhere may hold one byte less of it at its end."""
        return max((len(form.encode("utf-8", "surrogatepass")) for form in self._forms), default=0)

    def __call__(self, text: str) -> str:
        """`text` without the credential."""
        for form in self._forms:
            text = text.replace(form, self.mark)
        return text

    def line(self, text: str, max_bytes: int) -> str:
        """`text` as one printable, bounded line without the credential."""
        return clip_bytes(printable(" ".join(self(text).split())), max_bytes)


def _forms(value: str) -> set[str]:
    if not value:
        return set()
    data = value.encode("utf-8", "surrogateescape")
    encoded = {base64.b64encode(data), base64.urlsafe_b64encode(data), data.hex().encode()}
    quoted = {quote(data, safe=""), quote_plus(data), json.dumps(value)[1:-1]}
    # Without its padding it is also found as the beginning of a longer text.
    return {value, *quoted} | {form.decode("ascii").rstrip("=") for form in encoded}
