"""JPEG XR: TIFF compressions 34934 and 22610 (of Hamamatsu NDPI and others); ISO/IEC 29199-2."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import imagecodecs

from .image_codec import ImageCodec, ImageSize, damaged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["JpegxrCodec"]

_WIDTH, _HEIGHT, _OFFSET, _COUNT = 0xBC80, 0xBC81, 0xBCC0, 0xBCC1
_INTEGERS = {1: "<B", 3: "<H", 4: "<I"}


@dataclass(frozen=True, kw_only=True)
class JpegxrCodec(ImageCodec):
    """Zarr codec `tiff_codecs.jpegxr`, array to bytes."""

    codec_name: ClassVar[str] = "tiff_codecs.jpegxr"

    def image_size(self, data: NDArray[np.uint8], dtype: np.dtype[Any], bands: int) -> ImageSize | None:
        """See `ImageCodec.image_size`."""
        del dtype, bands
        view = data.tobytes()
        if len(view) < 8 or view[:3] != b"II\xbc":
            raise damaged(self.codec_name, repr(view[:4]), "a JPEG XR")
        try:
            (at,) = struct.unpack_from("<I", view, 4)
            (count,) = struct.unpack_from("<H", view, at)
            sizes: dict[int, int] = {}
            for place in range(at + 2, at + 2 + 12 * count, 12):
                tag, kind = struct.unpack_from("<HH", view, place)
                if tag in (_WIDTH, _HEIGHT, _OFFSET, _COUNT) and kind in _INTEGERS:
                    sizes[tag] = struct.unpack_from(_INTEGERS[kind], view, place + 8)[0]
            if sizes.get(_OFFSET, 0) + sizes.get(_COUNT, 0) > len(view):  # of which the decoder makes up the rest
                raise damaged(self.codec_name, f"{len(view)} bytes", f"{sizes[_COUNT]} from {sizes[_OFFSET]} on")
            return ImageSize(sizes[_HEIGHT], sizes[_WIDTH])
        except (struct.error, KeyError) as error:
            raise damaged(self.codec_name, "no image size") from error

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
        return imagecodecs.jpegxr_decode(data)
