"""The header of a TIFF file (TIFF 6.0 section 2, BigTIFF) and GDAL's notes behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tiff_codecs.errors import TiffFormatError

GHOST_KEY = b"GDAL_STRUCTURAL_METADATA_SIZE="

SIGNATURES = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"\x89HDF": "an HDF5 or NetCDF4 file",
    b"CDF\x01": "a NetCDF3 file",
    b"CDF\x02": "a NetCDF3 file",
    b"GRIB": "a GRIB file",
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b": "a gzip stream",
    b"\x00\x00\x00\x0cjP": "a JPEG 2000 image",
    b"<?xml": "an XML document (a VRT, or a server's error page)",
    b"<VRT": "a GDAL VRT",
    b"<!DOC": "an HTML page",
    b"<html": "an HTML page",
}


@dataclass(frozen=True, slots=True)
class Header:
    """How a TIFF file writes its numbers, and where its first IFD lies."""

    byte_order: Literal["little", "big"]
    bigtiff: bool
    first_ifd: int
    """Byte offset of the first IFD."""
    structure: dict[str, str]
    """GDAL's structural metadata ("ghost header") of a COG; empty for other files."""

    @property
    def mark(self) -> Literal["<", ">"]:
        """The byte order as NumPy and struct write it."""
        return "<" if self.byte_order == "little" else ">"


def parse_header(head: memoryview, size: int) -> Header:
    """Parse the first bytes of a file.

    Args:
        head: the start of the file; the 8 (16 for BigTIFF) header bytes, and GDAL's notes when it is long enough.
        size: length of the whole file in bytes.

    Raises:
        TiffFormatError: this is no TIFF, or it ends inside its header.
    """
    start = bytes(head[:16])
    if start[:2] not in (b"II", b"MM"):
        known = next((name for mark, name in SIGNATURES.items() if start.startswith(mark)), None)
        raise TiffFormatError(
            "not a TIFF file",
            found=known or (f"first bytes {start[:8]!r}" if start else "an empty file"),
            supported="files that begin with II or MM (classic TIFF and BigTIFF)",
            way_out="check that the URL names the TIFF itself",
        )
    byte_order: Literal["little", "big"] = "little" if start[:2] == b"II" else "big"
    magic = int.from_bytes(start[2:4], byte_order)
    if magic not in (42, 43):
        raise TiffFormatError(
            "not a TIFF file",
            found=f"version number {magic}",
            supported="42 (classic TIFF) and 43 (BigTIFF)",
        )
    bigtiff = magic == 43
    length = 16 if bigtiff else 8
    if len(start) < length:
        raise TiffFormatError("the file ends inside its header", found=f"{size} bytes", way_out="fetch it again")
    if bigtiff and start[4:8] != (b"\x08\0\0\0" if byte_order == "little" else b"\0\x08\0\0"):
        raise TiffFormatError("damaged BigTIFF header", found=f"offset size bytes {start[4:8]!r}", supported="8")
    first_ifd = int.from_bytes(start[8:16] if bigtiff else start[4:8], byte_order)
    return Header(byte_order, bigtiff, first_ifd, _parse_ghost(head, length))


def _parse_ghost(head: memoryview, start: int) -> dict[str, str]:
    """Read GDAL's ghost header, ``KEY=VALUE`` lines between the header and the first IFD."""
    if bytes(head[start : start + len(GHOST_KEY)]) != GHOST_KEY:
        return {}
    line_end = start + len(GHOST_KEY) + 13  # "000140 bytes\n"
    digits = bytes(head[start + len(GHOST_KEY) : line_end]).split(b" ")[0]
    if not digits.isdigit():
        return {}
    text = bytes(head[line_end : line_end + int(digits)]).decode("latin-1")
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    return {key.strip(): value.strip() for key, value in pairs}
