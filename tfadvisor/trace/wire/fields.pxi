"""Fields of a protobuf message: tags, numbers, lengths, and what is wrong with bytes that are none."""

cdef enum:
    OK = 0
    CUT = 1
    BAD_VARINT = 2
    BAD_TAG = 3
    BAD_GROUP = 4
    NO_MEMORY = 5
    TOO_MANY = 6
    BAD_LENGTH = 7

# Those of tfadvisor.trace.messages, and the two that delimit a group.
cdef enum:
    WIRE_VARINT = 0
    WIRE_FIXED64 = 1
    WIRE_LENGTH = 2
    WIRE_GROUP = 3
    WIRE_GROUP_END = 4
    WIRE_FIXED32 = 5

# Protobuf refuses what is nested deeper than 100: messages and, in them, groups. A message's own depth is that below XSpace.
cdef int MAX_DEPTH = 100

cdef enum:
    DEPTH_SPACE = 0
    DEPTH_PLANE = 1
    DEPTH_LINE = 2         # also map entries and the plane's own stats
    DEPTH_EVENT = 3        # also event and stat metadata
    DEPTH_STAT = 4         # of events and of event metadata

cdef int LONGEST_LENGTH = 5  # bytes of a length or a tag, however many of them say nothing

_REASONS = {
    CUT: "a field ends past the end of what holds it",
    BAD_VARINT: "a number is longer than ten bytes",
    BAD_TAG: "a field number or wire type that no protobuf has",
    BAD_GROUP: "a group that does not close",
    BAD_LENGTH: "a length is longer than five bytes",
    TOO_MANY: "more fields than any profiler writes into so many bytes",
}


class WireError(Exception):
    """The bytes are no protobuf message. position: byte offset; reason: words."""

    def __init__(self, position, reason):
        super().__init__(f"byte {position}: {reason}")
        self.position = position
        self.reason = reason


cdef struct Cursor:
    const uint8_t* base
    int64_t pos
    int64_t end
    int64_t failed_at


cdef raise_wire(int code, int64_t position):
    if code == NO_MEMORY:
        raise MemoryError
    raise WireError(position, _REASONS[code])


cdef inline int read_varint(Cursor* c, uint64_t* out) noexcept nogil:
    cdef uint64_t value, byte
    cdef int shift
    if c.pos >= c.end:
        c.failed_at = c.pos
        return CUT
    byte = c.base[c.pos]
    if byte < 0x80:
        c.pos += 1
        out[0] = byte
        return OK
    value = byte & 0x7F
    shift = 7
    c.failed_at = c.pos
    c.pos += 1
    while shift < 70:
        if c.pos >= c.end:
            return CUT
        byte = c.base[c.pos]
        c.pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            out[0] = value
            return OK
        shift += 7
    return BAD_VARINT


cdef inline int read_any_tag(Cursor* c, uint64_t* number, int* wire) noexcept nogil:
    cdef uint64_t tag
    cdef int64_t at = c.pos
    cdef int code = read_varint(c, &tag)
    if code != OK:
        return code
    number[0] = tag >> 3
    wire[0] = tag & 7
    if (tag >> 32) != 0 or wire[0] > WIRE_FIXED32 or c.pos - at > LONGEST_LENGTH:
        c.failed_at = at
        return BAD_TAG
    return OK


cdef inline int read_tag(Cursor* c, uint64_t* number, int* wire) noexcept nogil:
    cdef int64_t at = c.pos
    cdef int code = read_any_tag(c, number, wire)
    if code == OK and number[0] == 0:
        c.failed_at = at
        return BAD_TAG
    return code


cdef inline int read_length(Cursor* c, int64_t* length) noexcept nogil:
    cdef uint64_t value
    cdef int64_t at = c.pos
    cdef int code = read_varint(c, &value)
    if code != OK:
        return code
    if value > <uint64_t>(c.end - c.pos):
        c.failed_at = at
        return CUT
    if c.pos - at > LONGEST_LENGTH:
        c.failed_at = at
        return BAD_LENGTH
    length[0] = <int64_t>value
    return OK


cdef int skip(Cursor* c, uint64_t number, int wire, int depth) noexcept nogil:
    """Passes over one field whose tag has been read. depth: of the message that holds it. Groups must close with their own number; protobuf lets a field
    number be 0 inside one."""
    cdef uint64_t ignored, inner
    cdef int64_t length
    cdef int64_t at = c.pos
    cdef int inner_wire
    cdef int code
    if wire == WIRE_VARINT:
        return read_varint(c, &ignored)
    if wire == WIRE_LENGTH:
        code = read_length(c, &length)
        if code == OK:
            c.pos += length
        return code
    if wire == WIRE_FIXED64 or wire == WIRE_FIXED32:
        length = 8 if wire == WIRE_FIXED64 else 4
        if c.end - c.pos < length:
            c.failed_at = at
            return CUT
        c.pos += length
        return OK
    if wire == WIRE_GROUP:
        if depth >= MAX_DEPTH:
            c.failed_at = at
            return BAD_GROUP
        while True:
            if c.pos >= c.end:
                c.failed_at = at
                return BAD_GROUP
            code = read_any_tag(c, &inner, &inner_wire)
            if code != OK:
                return code
            if inner_wire == WIRE_GROUP_END:
                if inner == number:
                    return OK
                c.failed_at = at
                return BAD_GROUP
            code = skip(c, inner, inner_wire, depth + 1)
            if code != OK:
                return code
    c.failed_at = at
    return BAD_GROUP


cdef inline int enter(Cursor* c, int64_t* resume_end) noexcept nogil:
    """Narrows the cursor to a length-delimited message; leave() widens it again."""
    cdef int64_t length
    cdef int code = read_length(c, &length)
    if code != OK:
        return code
    resume_end[0] = c.end
    c.end = c.pos + length
    return OK


cdef class Ranges:
    """A growing list of int64 tuples of one width, handed to Python as a 2-D array.

    most: how many there may be. Where push returns NULL, why says whether that is reached or the memory."""

    cdef int64_t* data
    cdef int64_t size
    cdef int64_t room
    cdef int64_t most
    cdef int width
    cdef int why

    def __cinit__(self, int width, int64_t most=1 << 62):
        self.width = width
        self.most = most
        self.why = NO_MEMORY
        self.room = 64
        self.data = <int64_t*>malloc(self.room * width * sizeof(int64_t))
        if self.data == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.data)

    cdef int64_t* push(self) noexcept nogil:
        cdef int64_t* grown
        if self.size >= self.most:
            self.why = TOO_MANY
            return NULL
        if self.size == self.room:
            grown = <int64_t*>realloc(self.data, self.room * 2 * self.width * sizeof(int64_t))
            if grown == NULL:
                return NULL
            self.data = grown
            self.room *= 2
        self.size += 1
        return self.data + (self.size - 1) * self.width

    def array(self):
        out = np.empty((self.size, self.width), dtype=np.int64)
        cdef int64_t[:, ::1] view = out
        if self.size:
            memcpy(&view[0, 0], self.data, self.size * self.width * sizeof(int64_t))
        return out
