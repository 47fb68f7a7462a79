"""Kinds of TensorFlow's ops that a step seldom needs, or not this dearly: the one table of what they are."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


class CostlyKind(NamedTuple):
    """A kind of ops with one cure."""

    name: str
    """As in `12% of step time is NAME`."""
    ops: re.Pattern[str]
    """Their types, without a prefix of oneDNN or a version: `RandomUniform` of `StatelessRandomUniformV2`."""
    scopes: re.Pattern[str]
    """Scopes that hold nothing else: TensorFlow's functions and Keras' layers name them."""


def _kind(name: str, ops: str, scopes: str = "") -> CostlyKind:
    words = "|".join(scopes.split())
    return CostlyKind(
        name,
        re.compile("|".join(ops.split()) or "(?!)"),
        re.compile(rf"(?:^|/)(?:{words})(?:_\d+)*(?:/|$)" if words else "(?!)"),
    )


KINDS = (
    _kind(
        "checks for NaN and Inf",
        "CheckNumerics DebugNumericSummary DebugIdentity DebugNanCount Assert",
        r"check_numerics\w* assert_all_finite\w* assert_(?:equal|less|greater|near|positive|non_negative|shapes)\w*",
    ),
    _kind(
        "summaries",
        r"\w*HistogramSummary \w*ImageSummary \w*AudioSummary WriteSummary WriteScalarSummary EncodePng EncodeJpeg EncodeWav",
        "histogram_summary image_summary write_summary",
    ),
    _kind(
        "decoding of files and records",
        r"Decode(?:And\w+|Jpeg|Png|Gif|Bmp|Image|Wav|Raw|Compressed|PaddedRaw|Proto) ReadFile ParseTensor ExtractJpegShape",
        "decode_image decode_jpeg",
    ),
    _kind(
        "transformations of pictures",
        r"ImageProjectiveTransform AdjustHue AdjustSaturation AdjustContrast RGBToHSV HSVToRGB CropAndResize ExtractGlimpse "
        r"SampleDistortedBoundingBox",
        r"random_(?:rotation|zoom|translation|contrast|brightness|crop|shear|hue|saturation|sharpness|color\w+|"
        r"gaussian_blur|perspective|elastic\w*|grayscale|invert|posterization|erasing) "
        r"rand_augment aug_mix mix_up cut_mix auto_contrast solarization equalization adjust_hue adjust_saturation "
        r"adjust_contrast adjust_brightness dense_image_warp",
    ),
    _kind(
        "resizing of pictures",
        r"Resize(?:Bilinear|Bicubic|NearestNeighbor|Area)(?:Grad)? ScaleAndTranslate(?:Grad)?",
        "resizing",
    ),
    _kind(
        "random numbers",
        r"(?:Stateless|Stateful)?(?:Random(?!Shuffle|IndexShuffle)|Truncated|Parameterized|Uniform|StandardNormal)\w* "
        r"Stateless(?!If$|While$|Case$)\w+ Stateful(?!PartitionedCall)\w+ Multinomial",
        r"random_(?:normal|uniform|gamma|poisson_law) truncated_normal stateless_(?:random|truncated|parameterized)\w*",
    ),
    _kind(
        "Fourier transforms",
        r"(?:Batch)?I?R?FFT(?:2D|3D|ND)?",
        "stft inverse_stft rfft irfft fft ifft fft2d rfft2d mel_spectrogram stft_spectrogram spectrogram mfccs?_from\\w+",
    ),
    _kind(
        "picking of boxes and sequences",
        r"NonMaxSuppression\w* CombinedNonMaxSuppression CTCBeamSearchDecoder CTCGreedyDecoder EditDistance "
        r"GenerateBoundingBoxProposals",
        "non_max_suppression edit_distance ctc_decode",
    ),
    _kind(
        "searches for equal values",
        r"Unique(?:WithCounts)? ListDiff DenseToDenseSetOperation DenseToSparseSetOperation SparseToSparseSetOperation "
        r"LowerBound UpperBound",
        r"unique unique_with_counts searchsorted setdiff1d sets?_\w+",
    ),
    _kind(
        "counts of values",
        r"(?:Dense|Sparse|Ragged)?Bincount HistogramFixedWidth",
        "bincount confusion_matrix histogram_fixed_width",
    ),
    _kind(
        "special functions",
        r"Lgamma Digamma Polygamma Zeta Igamma\w* Betainc Bessel\w+ Erfinv Ndtri RandomGammaGrad Dawsn Spence Fresnel\w+ Expint",
    ),
    _kind(
        "writes into a few rows of a copied tensor",
        r"TensorScatter(?:Update|Add|Sub|Max|Min) TensorListSetItem ScatterNd",
    ),
    _kind("one-hot rows", "OneHot", "one_hot"),
    _kind("selection of elements", "Where DynamicPartition DynamicStitch ParallelDynamicStitch", "boolean_mask"),
    _kind("cutting of patches", "ExtractImagePatches ExtractVolumePatches", "extract_patches extract_image_patches"),
    _kind("gradients of slices", "StridedSliceGrad"),
    _kind("normalisation across channels", "LRN LRNGrad", "local_response_normalization"),
    _kind("conversions between sparse and dense", r"SparseToDense SparseTensorToDense SparseReorder RaggedTensorTo\w+"),
)
_PREFIX = re.compile(r"^_Mkl(?:Native)?|^_Fused(?=[A-Z])")
_VERSION = re.compile(r"V\d+$")


@lru_cache(maxsize=1 << 12)
def costly_kind(op_type: str, layer: str) -> CostlyKind | None:
    """What an op is by its type, else by its scopes; None for what steps are made of."""
    plain = _VERSION.sub("", _PREFIX.sub("", op_type))
    for kind in KINDS:
        if kind.ops.fullmatch(plain):
            return kind
    return next((kind for kind in KINDS if kind.scopes.search(layer)), None)
