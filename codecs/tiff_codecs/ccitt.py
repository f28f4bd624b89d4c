"""CCITT fax compressions of bilevel images: TIFF 2, 3, 4 and 32771 (TIFF 6.0 sections 10 and 11; ITU-T T.4 and T.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from .errors import TiffOptionError
from .image_codec import ImageCodec
from .libtiff import Wrapping, decode_strip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CcittCodec", "CcittScheme"]

type CcittScheme = Literal["rle", "rle_word", "group3", "group4"]

_SCHEMES: tuple[str, ...] = get_args(CcittScheme.__value__)
_NUMBERS = {"rle": 2, "group3": 3, "group4": 4, "rle_word": 32771}


@dataclass(frozen=True, kw_only=True)
class CcittCodec(ImageCodec):
    """Zarr codec `tiff_codecs.ccitt`, array to bytes: samples are 0 and 1, as the bits of the file would be.

    Fax lines that are damaged or missing come out as libtiff leaves them, and raise no error, as in GDAL: many sound
    files end a line early, or a strip.

    Attributes:
        scheme: "rle" is modified Huffman coding, rows beginning on bytes (TIFF compression 2), "rle_word" the
            same on words (32771), "group3" T.4 (3), "group4" T.6 (4).
        t4_options: The tag T4Options (292) of "group3": bit 0 two-dimensional coding, bit 2 ends of lines
            on bytes. 0 for the other schemes.
    """

    codec_name: ClassVar[str] = "tiff_codecs.ccitt"
    required: ClassVar[tuple[str, ...]] = ("scheme",)

    scheme: CcittScheme
    t4_options: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scheme not in _SCHEMES:
            raise TiffOptionError("unknown CCITT scheme", found=repr(self.scheme), supported=", ".join(_SCHEMES))
        if type(self.t4_options) is not int or not 0 <= self.t4_options < 8:
            raise TiffOptionError("bad T4Options", found=repr(self.t4_options), supported="0 to 7")

    def decode_image(
        self,
        data: NDArray[np.uint8],
        dtype: np.dtype[Any],
        *,
        rows: int,
        cols: int,
        bands: int,
    ) -> NDArray[Any]:
        """See `ImageCodec.decode_image`."""
        more = {292: self.t4_options} if self.scheme == "group3" else None
        wrapping = Wrapping(_NUMBERS[self.scheme], bits=1, photometric=1, more=more)
        return decode_strip(data, wrapping, rows=rows, cols=cols * bands, bands=1).astype(dtype).reshape(rows, cols, -1)
