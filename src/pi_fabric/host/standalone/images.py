"""Image files: told by their first bytes, returned whole within what model providers take."""

import base64
from typing import Final

from pi_fabric.protocol.actions import ImageBlock

# Providers refuse images of more than 5 MB of base64, which is this many bytes of file.
MAX_IMAGE_BYTES: Final = 5_000_000 // 4 * 3


def image_type(head: bytes) -> str | None:
    """MIME type of a PNG, JPEG, GIF or WebP file by its first bytes; None for anything else."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return None


def image_block(data: bytes, mime_type: str) -> ImageBlock:
    """A whole image file as a block."""
    return ImageBlock(data=base64.b64encode(data).decode("ascii"), mime_type=mime_type)
