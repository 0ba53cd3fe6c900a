"""Text from files, programs and peers, made fit for a terminal and for one line."""


def printable(text: str) -> str:
    """Escape what is not printable, line breaks included: nothing in the text can steer a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
