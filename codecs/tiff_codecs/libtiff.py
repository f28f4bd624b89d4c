"""Tiles of rare compressions, decoded by libtiff: each is wrapped into a file of one strip in memory."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import imagecodecs

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Wrapping", "decode_strip"]

_SHORT: Final = 3
_LONG: Final = 4


@dataclass(frozen=True, slots=True)
class Wrapping:
    """The tags of the file around a strip.

    Attributes:
        compression: Compression (259).
        bits: BitsPerSample (258).
        photometric: PhotometricInterpretation (262).
        sample_format: SampleFormat (339).
        more: Further tags by number, each with one 32-bit value.
        jpeg: Whether the strip is a JPEG that JPEGInterchangeFormat (513) is to point to.
    """

    compression: int
    bits: int
    photometric: int
    sample_format: int = 1
    more: Mapping[int, int] | None = None
    jpeg: bool = False


def decode_strip(data: NDArray[np.uint8], wrapping: Wrapping, *, rows: int, cols: int, bands: int) -> NDArray[Any]:
    """Decode one strip.

    Args:
        data: Its bytes.
        wrapping: How they are to be understood.
        rows: Rows of the strip.
        cols: Columns of the strip.
        bands: Bands, which are interleaved.

    Returns:
        The pixels as libtiff gives them; bool for one bit a sample.

    Raises:
        RuntimeError: libtiff does not decode it.
    """
    tags: dict[int, tuple[int, tuple[int, ...]]] = {
        256: (_LONG, (cols,)),
        257: (_LONG, (rows,)),
        258: (_SHORT, (wrapping.bits,) * bands),
        259: (_SHORT, (wrapping.compression,)),
        262: (_SHORT, (wrapping.photometric,)),
        273: (_LONG, (0,)),
        277: (_SHORT, (bands,)),
        278: (_LONG, (rows,)),
        279: (_LONG, (data.size,)),
        284: (_SHORT, (1,)),
        339: (_SHORT, (wrapping.sample_format,) * bands),
        **({513: (_LONG, (0,)), 514: (_LONG, (data.size,))} if wrapping.jpeg else {}),
        **{tag: (_LONG, (value,)) for tag, value in (wrapping.more or {}).items()},
    }
    return imagecodecs.tiff_decode(_file(tags, data))


def _file(tags: dict[int, tuple[int, tuple[int, ...]]], data: NDArray[np.uint8]) -> bytes:
    """A little-endian TIFF of one strip, whose bytes lie behind the IFD and its values."""
    extra_at = 8 + 2 + 12 * len(tags) + 4
    extra = b""
    packed: dict[int, tuple[int, int, bytes]] = {}
    for tag, (kind, values) in tags.items():
        raw = struct.pack(f"<{len(values)}{'H' if kind == _SHORT else 'I'}", *values)
        if len(raw) > 4:
            place = extra_at + len(extra)
            extra += raw + bytes(len(raw) % 2)
            raw = struct.pack("<I", place)
        packed[tag] = (kind, len(values), raw.ljust(4, b"\0"))
    for tag in {273, 513} & tags.keys():
        packed[tag] = (_LONG, 1, struct.pack("<I", extra_at + len(extra)))
    entries = b"".join(struct.pack("<HHI", tag, *packed[tag][:2]) + packed[tag][2] for tag in sorted(packed))
    head = struct.pack("<2sHIH", b"II", 42, 8, len(packed))
    return b"".join((head, entries, bytes(4), extra, data.tobytes()))
