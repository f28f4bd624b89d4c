"""Old-style JPEG: TIFF compression 6 (TIFF 6.0 section 22), whose tables stand in the IFD, not in the tiles."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import imagecodecs
import numpy as np

from .errors import TiffOptionError
from .image_codec import ImageCodec, damaged
from .jpeg_header import decode_whole, read_header, segments
from .libtiff import Wrapping, decode_strip

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OldJpegCodec", "encode_header"]

_START, _END, _SCAN = b"\xff\xd8", b"\xff\xd9", 0xDA


def encode_header(header: bytes) -> str:
    """The header that an IFD gives all its tiles, as it stands in a configuration."""
    return base64.standard_b64encode(header).decode("ascii")


@dataclass(frozen=True, kw_only=True)
class OldJpegCodec(ImageCodec):
    """Zarr codec `tiff_codecs.old_jpeg`, array to bytes: 8-bit baseline JPEG of one or three bands.

    A tile is a JPEG of its own, or one without its beginning. Each tile's samples are coded by themselves.

    Attributes:
        ycbcr_to_rgb: Whether the three components are YCbCr and come out as RGB, converted as libtiff does. If
            not, components come out as they are stored, those with fewer samples interpolated.
        header: In base64, a JPEG from its first marker to its first scan header, and no further: the tables,
            the frame header (whose rows and columns have no meaning), and the scan header of the tiles.
    """

    codec_name: ClassVar[str] = "tiff_codecs.old_jpeg"
    required: ClassVar[tuple[str, ...]] = ("ycbcr_to_rgb", "header")

    ycbcr_to_rgb: bool
    header: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.ycbcr_to_rgb) is not bool:
            raise TiffOptionError("ycbcr_to_rgb is true or false", found=repr(self.ycbcr_to_rgb))
        if not self._header.startswith(_START) or not self._header.endswith(self._scan):
            raise TiffOptionError(
                "the header of old-style JPEG does not end with a scan header", found=self.header[:40]
            )

    @cached_property
    def _header(self) -> bytes:
        try:
            return base64.b64decode(self.header, validate=True)
        except (binascii.Error, ValueError, TypeError) as error:
            raise TiffOptionError("the header of old-style JPEG is not base64", found=str(error)) from error

    @cached_property
    def _scan(self) -> bytes:
        """The scan header, with which the header ends."""
        return b"".join(whole for marker, whole in segments(self._header) if marker == _SCAN) or b"none"

    def decode_image(
        self,
        data: NDArray[np.uint8],
        dtype: np.dtype[Any],  # noqa: ARG002
        *,
        rows: int,
        cols: int,
        bands: int,
    ) -> NDArray[Any]:
        """See `ImageCodec.decode_image`."""
        stream = self._whole(data.tobytes(), rows, cols)
        found = read_header(np.frombuffer(stream, np.uint8))
        if found is None or (found.rows, found.cols, found.bands, found.precision) != (rows, cols, bands, 8):
            raise damaged(self.codec_name, str(found), f"{rows} rows, {cols} columns and {bands} bands of 8 bits")

        def decode(stream: bytes) -> NDArray[Any]:
            color = "GRAYSCALE" if bands == 1 else "YCBCR"
            return imagecodecs.jpeg_decode(stream, colorspace=color, outcolorspace=color)

        pixels = decode_whole(stream, decode)
        if bands == 3 and self.ycbcr_to_rgb:
            strip = np.frombuffer(stream + _END, np.uint8)
            return decode_strip(strip, Wrapping(6, bits=8, photometric=6, jpeg=True), rows=rows, cols=cols, bands=3)
        return pixels

    def _whole(self, data: bytes, rows: int, cols: int) -> bytes:
        """A tile with the header in front of it, which tells the tile's size."""
        if data.startswith(_START) and read_header(np.frombuffer(data, np.uint8)) is not None:
            return data
        header = self._header.removesuffix(self._scan)
        at = 2
        for marker, whole in segments(header):
            if marker in (0xC0, 0xC1):
                size = rows.to_bytes(2, "big") + cols.to_bytes(2, "big") if max(rows, cols) < 1 << 16 else b""
                header = header[: at + 5] + size + header[at + 9 :]
            at += len(whole)
        scan = b"" if data.startswith(bytes((0xFF, _SCAN))) else self._scan
        return header + scan + data
