"""JPEG XL: TIFF compressions 50002 (of libtiff and GDAL) and 52546 (of DNG 1.7); ISO/IEC 18181."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import imagecodecs

from .image_codec import ImageCodec, ImageSize, damaged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["JpegxlCodec"]

_CONTAINER = b"\x00\x00\x00\x0cJXL \x0d\x0a\x87\x0a"
_RATIOS = ((1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1))


@dataclass(frozen=True, kw_only=True)
class JpegxlCodec(ImageCodec):
    """Zarr codec `tiff_codecs.jpegxl`, array to bytes. Bands are the color channels and then the extra ones."""

    codec_name: ClassVar[str] = "tiff_codecs.jpegxl"

    def image_size(self, data: NDArray[np.uint8], dtype: np.dtype[Any], bands: int) -> ImageSize | None:
        """See `ImageCodec.image_size`."""
        del dtype, bands
        stream = _codestream(data)
        if stream is None:
            raise damaged(self.codec_name, repr(data[:12].tobytes()), "a JPEG XL codestream or container")
        return _size(int.from_bytes(stream[2:14], "little"))

    def decode_image(
        self,
        data: NDArray[np.uint8],
        dtype: np.dtype[Any],  # noqa: ARG002
        *,
        rows: int,  # noqa: ARG002
        cols: int,  # noqa: ARG002
        bands: int,  # noqa: ARG002
    ) -> NDArray[Any]:
        """See `ImageCodec.decode_image`."""
        return imagecodecs.jpegxl_decode(data, index=0, keeporientation=True, numthreads=1)


def _codestream(data: NDArray[np.uint8]) -> bytes | None:
    """The first bytes of the codestream, from its signature on; None where there is none."""
    head = data[:64].tobytes()
    if head.startswith(b"\xff\x0a"):
        return head
    if not head.startswith(_CONTAINER):
        return None
    at = 0
    while at + 16 <= data.size:
        length, kind = int.from_bytes(data[at : at + 4].tobytes()), data[at + 4 : at + 8].tobytes()
        skip = 8
        if length == 1:
            length, skip = int.from_bytes(data[at + 8 : at + 16].tobytes()), 16
        if kind in (b"jxlc", b"jxlp"):
            begin = at + skip + (4 if kind == b"jxlp" else 0)
            found = data[begin : begin + 64].tobytes()
            return found if found.startswith(b"\xff\x0a") else None
        if length < 8:
            return None
        at += length
    return None


def _size(bits: int) -> ImageSize:
    """The SizeHeader of a codestream (ISO/IEC 18181-1, D.2), from bits that stand lowest first."""

    def take(count: int) -> int:
        nonlocal bits
        value, bits = bits & ((1 << count) - 1), bits >> count
        return value

    small = take(1)

    def side() -> int:
        return 8 * (take(5) + 1) if small else take((9, 13, 18, 30)[take(2)]) + 1

    rows = side()
    ratio = take(3)
    if ratio:
        across, down = _RATIOS[ratio - 1]
        return ImageSize(rows, rows * across // down)
    return ImageSize(rows, side())
