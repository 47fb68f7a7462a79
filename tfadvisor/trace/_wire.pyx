# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Protobuf wire format of an XSpace, straight into NumPy columns and without the GIL.

Nothing here interprets a trace: it finds messages, checks that they are well formed, and copies numbers. Positions are
byte offsets into the buffer. twin.py does the same on protobuf messages and is the definition; compiled.py calls both
passes in order. Errors are reported as WireError(position, reason).

Its parts lie in wire/ and are compiled as one: functions of one extension are inlined into each other, and an
installation has all of it or none.
"""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy

import numpy as np

include "wire/fields.pxi"
include "wire/scan.pxi"
include "wire/stats.pxi"
include "wire/events.pxi"
include "wire/spans.pxi"
include "wire/messages.pxi"
