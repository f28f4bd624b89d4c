"""JPEG: TIFF compression 7 (TIFF Technical Note 2), and its alternative numbers; ISO/IEC 10918-1.

8-bit and 12-bit lossy JPEG, baseline or progressive, and lossless JPEG (process 14, as in DNG).
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import imagecodecs

from .errors import TiffOptionError
from .image_codec import ImageCodec, ImageSize, damaged
from .jpeg_header import LOSSLESS, decode_whole, read_header

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["JpegCodec", "encode_tables"]

MOST_SCANS = 512
"""Scans of one progressive image: each makes a decoder go over all pixels, however few bytes it has."""

_AS_STORED = {1: "GRAYSCALE", 3: "YCBCR", 4: "CMYK"}
"""By the number of components, a color space that libjpeg is told to convert from and to, so that it does not
guess one from markers in the stream and convert: the TIFF's tags say what the components are."""


def encode_tables(tables: bytes) -> str:
    """The bytes of the tag JPEGTables as they stand in a configuration."""
    return base64.standard_b64encode(tables).decode("ascii")


@dataclass(frozen=True, kw_only=True)
class JpegCodec(ImageCodec):
    """Zarr codec `tiff_codecs.jpeg`, array to bytes.

    In the metadata of an array:

        {"name": "tiff_codecs.jpeg",
         "configuration": {"version": 1, "ycbcr_to_rgb": true, "tables": "/9j/2wBDAAgGBg..."}}

    Attributes:
        ycbcr_to_rgb: Whether the three components are YCbCr and come out as RGB (as GDAL gives them). If
            not, components come out as they are stored, those with fewer samples interpolated, as libjpeg does.
        tables: Quantization and Huffman tables that all tiles share (the tag JPEGTables, 347) in base64, or
            None where every tile has its own.
    """

    codec_name: ClassVar[str] = "tiff_codecs.jpeg"
    required: ClassVar[tuple[str, ...]] = ("ycbcr_to_rgb",)

    ycbcr_to_rgb: bool
    tables: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.ycbcr_to_rgb) is not bool:
            raise TiffOptionError("ycbcr_to_rgb is true or false", found=repr(self.ycbcr_to_rgb))
        _ = self.table_bytes  # which checks them

    @cached_property
    def table_bytes(self) -> bytes | None:
        """The tables as they stand in the tag."""
        try:
            return base64.b64decode(self.tables or "", validate=True) or None
        except (binascii.Error, ValueError, TypeError) as error:
            raise TiffOptionError("the tables of a JPEG are not base64", found=str(error)) from error

    def image_size(self, data: NDArray[np.uint8], dtype: np.dtype[Any], bands: int) -> ImageSize | None:
        """See `ImageCodec.image_size`."""
        header = read_header(data)
        if header is None:
            raise damaged(self.codec_name, "no frame header", "a JPEG")
        if header.precision > 8 * dtype.itemsize:
            raise damaged(self.codec_name, f"{header.precision} bits per sample", f"{8 * dtype.itemsize}")
        if header.process in LOSSLESS and header.bands != bands and header.cols * header.bands % bands == 0:
            # DNG: a row of one band, stored as half as many pixels of two components
            return ImageSize(header.rows, header.cols * header.bands // bands, bands)
        return ImageSize(header.rows, header.cols, header.bands)

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
        header = read_header(data)
        stream = data.tobytes()
        scans = stream.count(b"\xff\xda")
        if scans > MOST_SCANS:
            raise damaged(self.codec_name, f"{scans} scans", f"at most {MOST_SCANS}")
        color = _AS_STORED.get(bands)
        colors: dict[str, Any] = {"colorspace": color, "outcolorspace": color}
        if self.ycbcr_to_rgb and bands == 3:
            colors = {"colorspace": "YCBCR", "outcolorspace": "RGB"}

        def decode(stream: bytes) -> NDArray[Any]:
            if header is not None and header.process in LOSSLESS:
                return _lossless(stream, self.table_bytes, _AS_STORED.get(header.bands))
            return imagecodecs.jpeg_decode(stream, tables=self.table_bytes, **colors)

        return decode_whole(stream, decode).reshape(rows, cols, bands)


def _lossless(stream: bytes, tables: bytes | None, color: str | None) -> NDArray[Any]:
    """libjpeg-turbo reads what it knows; the decoder made for DNG the rest (other predictors and precisions)."""
    try:
        return imagecodecs.jpeg_decode(stream, tables=tables, colorspace=color, outcolorspace=color)
    except RuntimeError:
        return imagecodecs.ljpeg_decode(stream)
