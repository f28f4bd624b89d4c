"""SGI's logarithmic luminance and CIE u'v': TIFF compressions 34676 and 34677 (Larson 1998, "LogLuv Encoding")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from .errors import TiffOptionError
from .image_codec import ImageCodec, damaged
from .libtiff import Wrapping, decode_strip

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SgilogCodec", "SgilogScheme"]

type SgilogScheme = Literal["run_length", "packed24"]

_SCHEMES: tuple[str, ...] = get_args(SgilogScheme.__value__)
_LOG_L, _LOG_LUV = 32844, 32845
_UV_SCALE = 410.0


@dataclass(frozen=True, kw_only=True)
class SgilogCodec(ImageCodec):
    """Zarr codec `tiff_codecs.sgilog`, array to bytes.

    One band is luminance, three are color. Of dtype float32 they come out as CIE Y, or X, Y and Z; of int16
    as logarithmic L, or L, u' and v' in 15 bits, as in libtiff.

    Attributes:
        scheme: "run_length" is TIFF compression 34676 (16 or 32 bits a pixel), "packed24" is 34677.
    """

    codec_name: ClassVar[str] = "tiff_codecs.sgilog"
    required: ClassVar[tuple[str, ...]] = ("scheme",)

    scheme: SgilogScheme

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scheme not in _SCHEMES:
            raise TiffOptionError("unknown SGI log scheme", found=repr(self.scheme), supported=", ".join(_SCHEMES))

    def decode_image(
        self, data: NDArray[np.uint8], dtype: np.dtype[Any], *, rows: int, cols: int, bands: int
    ) -> NDArray[Any]:
        """See `ImageCodec.decode_image`."""
        wanted = (dtype.str[1:], bands, self.scheme)
        if wanted in {("f4", 1, "run_length"), ("f4", 3, "run_length"), ("f4", 3, "packed24")}:
            number = 34676 if self.scheme == "run_length" else 34677
            photometric = _LOG_L if bands == 1 else _LOG_LUV
            wrapping = Wrapping(number, bits=32, photometric=photometric, sample_format=3)
            return decode_strip(data, wrapping, rows=rows, cols=cols, bands=bands)
        if wanted not in {("i2", 1, "run_length"), ("i2", 3, "run_length")}:
            raise damaged(
                self.codec_name, f"{bands} bands of {dtype}", "1 or 3 bands of float32, or of int16 in run lengths"
            )
        planes = _planes(data.tobytes(), rows, cols, 2 if bands == 1 else 4).astype(np.int32)
        luminance = (planes[:, 0] << 8 | planes[:, 1]).astype(np.uint16).view(np.int16)
        if bands == 1:
            return luminance
        chroma = ((planes[:, 2:] + 0.5) * (1 / _UV_SCALE) * 32768).astype(np.int16)
        return np.stack([luminance, chroma[:, 0], chroma[:, 1]], axis=-1)


def _planes(data: bytes, rows: int, cols: int, count: int) -> NDArray[np.uint8]:
    """Undo the run lengths: each row is `count` planes of bytes, the highest first; (rows, planes, columns)."""
    out = np.zeros((rows * count, cols), np.uint8)
    at = 0
    for plane in out:
        filled = 0
        while filled < cols:
            if at + 1 >= len(data):
                raise damaged(SgilogCodec.codec_name, f"{len(data)} bytes", f"those of {rows} rows of {cols} pixels")
            code = data[at]
            if code >= 128:
                length = min(code - 126, cols - filled)
                plane[filled : filled + length] = data[at + 1]
                at += 2
            else:
                length = min(code, cols - filled, len(data) - at - 1)
                plane[filled : filled + length] = np.frombuffer(data, np.uint8, length, at + 1)
                at += 1 + code
            filled += length
    return out.reshape(rows, count, cols)
