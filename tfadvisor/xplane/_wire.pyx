# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Protobuf wire format of an XSpace, straight into NumPy columns and without the GIL.

Nothing here interprets a trace: it finds messages, checks that they are well formed, and copies numbers. Positions are
byte offsets into the buffer. twin.py does the same on protobuf messages and is the definition; compiled.py calls both
passes in order. Errors are reported as WireError(position, reason).
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy

import numpy as np

cdef enum:
    OK = 0
    CUT = 1
    BAD_VARINT = 2
    BAD_TAG = 3
    BAD_GROUP = 4
    NO_MEMORY = 5

cdef enum:
    WIRE_VARINT = 0
    WIRE_FIXED64 = 1
    WIRE_LENGTH = 2
    WIRE_GROUP = 3
    WIRE_GROUP_END = 4
    WIRE_FIXED32 = 5

# Kinds of a stat's value, the numbers that columns.Kind gives them.
cdef enum:
    KIND_NONE = 0
    KIND_DOUBLE = 1
    KIND_UINT = 2
    KIND_INT = 3
    KIND_TEXT = 4
    KIND_BYTES = 5
    KIND_REF = 6
    KIND_COMPRESSED = 7

cdef int MAX_GROUP_DEPTH = 90

_REASONS = {
    CUT: "a field ends past the end of what holds it",
    BAD_VARINT: "a number is longer than ten bytes",
    BAD_TAG: "a field number or wire type that no protobuf has",
    BAD_GROUP: "a group that does not close",
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


cdef struct Stat:
    int64_t id
    uint8_t kind
    int64_t value
    int64_t length


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
    if (tag >> 32) != 0 or wire[0] > WIRE_FIXED32 or c.pos - at > 5:
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
    length[0] = <int64_t>value
    return OK


cdef int skip(Cursor* c, uint64_t number, int wire, int depth) noexcept nogil:
    """Passes over one field whose tag has been read. Groups must close with their own number; protobuf lets a field
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
        if depth >= MAX_GROUP_DEPTH:
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


cdef int read_stat(Cursor* c, Stat* stat) noexcept nogil:
    """One XStat, from the cursor to its end. Text and bytes are kept as (value = position, length)."""
    cdef uint64_t number, varint
    cdef int wire, code
    cdef int64_t length
    stat.id = 0
    stat.kind = KIND_NONE
    stat.value = 0
    stat.length = 0
    while c.pos < c.end:
        code = read_tag(c, &number, &wire)
        if code != OK:
            return code
        if wire == WIRE_VARINT and (number == 1 or number == 3 or number == 4 or number == 7):
            code = read_varint(c, &varint)
            if code != OK:
                return code
            if number == 1:
                stat.id = <int64_t>varint
            else:
                stat.kind = KIND_UINT if number == 3 else (KIND_INT if number == 4 else KIND_REF)
                stat.value = <int64_t>varint
                stat.length = 0
        elif wire == WIRE_LENGTH and (number == 5 or number == 6 or number == 8):
            code = read_length(c, &length)
            if code != OK:
                return code
            stat.kind = KIND_TEXT if number == 5 else (KIND_BYTES if number == 6 else KIND_COMPRESSED)
            stat.value = c.pos
            stat.length = length
            c.pos += length
        elif wire == WIRE_FIXED64 and number == 2:
            if c.end - c.pos < 8:
                c.failed_at = c.pos
                return CUT
            stat.kind = KIND_DOUBLE
            stat.length = 0
            memcpy(&stat.value, c.base + c.pos, 8)
            c.pos += 8
        else:
            code = skip(c, number, wire, 0)
            if code != OK:
                return code
    return OK


cdef class Ranges:
    """A growing list of int64 tuples of one width, handed to Python as a 2-D array."""

    cdef int64_t* data
    cdef int64_t size
    cdef int64_t room
    cdef int width

    def __cinit__(self, int width):
        self.width = width
        self.room = 64
        self.data = <int64_t*>malloc(self.room * width * sizeof(int64_t))
        if self.data == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.data)

    cdef int64_t* push(self) noexcept nogil:
        cdef int64_t* grown
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


def scan_space(const uint8_t[::1] buf):
    """XSpace -> array of (field number, from, to): planes 1, errors 2, warnings 3, hostnames 4."""
    return _scan_children(buf, 0, buf.shape[0], 1, 4)


cdef _scan_children(const uint8_t[::1] buf, int64_t lo, int64_t hi, uint64_t first, uint64_t last):
    cdef Cursor c
    cdef uint64_t number
    cdef int wire
    cdef int code = OK
    cdef int64_t length
    cdef int64_t* row
    cdef Ranges found = Ranges(3)
    if hi <= lo:
        return found.array()
    c.base = &buf[0]
    c.pos = lo
    c.end = hi
    with nogil:
        while c.pos < c.end:
            code = read_tag(&c, &number, &wire)
            if code != OK:
                break
            if wire == WIRE_LENGTH and first <= number <= last:
                code = read_length(&c, &length)
                if code != OK:
                    break
                row = found.push()
                if row == NULL:
                    code = NO_MEMORY
                    break
                row[0] = number
                row[1] = c.pos
                row[2] = c.pos + length
                c.pos += length
            else:
                code = skip(&c, number, wire, 0)
                if code != OK:
                    break
    if code != OK:
        raise_wire(code, c.failed_at)
    return found.array()


def scan_plane(const uint8_t[::1] buf, int64_t lo, int64_t hi):
    """XPlane -> (id, array of (field number, from, to)): name 2, lines 3, event metadata 4, stat metadata 5, stats 6."""
    cdef Cursor c
    cdef uint64_t number, varint
    cdef int wire
    cdef int code
    cdef int64_t plane_id = 0
    found = _scan_children(buf, lo, hi, 2, 6)
    if hi > lo:
        c.base = &buf[0]
        c.pos = lo
        c.end = hi
        while c.pos < c.end:
            code = read_tag(&c, &number, &wire)
            if code == OK:
                if number == 1 and wire == WIRE_VARINT:
                    code = read_varint(&c, &varint)
                    plane_id = <int64_t>varint
                else:
                    code = skip(&c, number, wire, 0)
            if code != OK:
                raise_wire(code, c.failed_at)
    return plane_id, found


def scan_metadata(const uint8_t[::1] buf, const int64_t[:, ::1] entries):
    """Map entries -> array of (key, name from, to, display name from, to, message from, to), one row a value seen.

    An entry without a value gives one row with an empty message. An entry with several values gives one row each, all
    with the entry's index in the last column, to be merged as protobuf does. An entry that holds anything but a key and
    values is no entry of the map to protobuf, so it gives no row.
    """
    cdef Ranges out = Ranges(9)
    cdef Cursor c
    cdef int64_t i
    cdef int code = OK
    cdef int64_t n = entries.shape[0]
    if n == 0:
        return out.array()
    c.base = &buf[0]
    with nogil:
        for i in range(n):
            c.pos = entries[i, 1]
            c.end = entries[i, 2]
            code = _scan_entry(&c, i, out)
            if code != OK:
                break
    if code != OK:
        raise_wire(code, c.failed_at)
    return out.array()


cdef int _scan_entry(Cursor* c, int64_t index, Ranges out) noexcept nogil:
    cdef uint64_t number, varint
    cdef int wire, code
    cdef int64_t key = 0
    cdef int64_t first = out.size
    cdef int64_t outer, k
    cdef int64_t* row
    cdef bint foreign = False
    while c.pos < c.end:
        code = read_tag(c, &number, &wire)
        if code != OK:
            return code
        if number == 1 and wire == WIRE_VARINT:
            code = read_varint(c, &varint)
            if code != OK:
                return code
            key = <int64_t>varint
        elif number == 2 and wire == WIRE_LENGTH:
            row = out.push()
            if row == NULL:
                return NO_MEMORY
            code = enter(c, &outer)
            if code != OK:
                return code
            code = _scan_metadata_value(c, row)
            if code != OK:
                return code
            c.end = outer
        else:
            foreign = True
            code = skip(c, number, wire, 0)
            if code != OK:
                return code
    if foreign:
        out.size = first
        return OK
    if out.size == first:
        row = out.push()
        if row == NULL:
            return NO_MEMORY
        for k in range(9):
            row[k] = 0
    for k in range(first, out.size):
        out.data[k * 9] = key
        out.data[k * 9 + 8] = index
    return OK


cdef int _scan_metadata_value(Cursor* c, int64_t* row) noexcept nogil:
    """XEventMetadata or XStatMetadata: name is field 2 of both, display name field 4 and stats field 5 of the first."""
    cdef uint64_t number
    cdef int wire, code
    cdef int64_t length
    cdef int k
    for k in range(1, 8):
        row[k] = 0
    row[5] = c.pos
    row[6] = c.end
    while c.pos < c.end:
        code = read_tag(c, &number, &wire)
        if code != OK:
            return code
        if wire == WIRE_LENGTH and (number == 2 or number == 4):
            code = read_length(c, &length)
            if code != OK:
                return code
            row[1 if number == 2 else 3] = c.pos
            row[2 if number == 2 else 4] = c.pos + length
            row[7] |= 1 if number == 2 else 2
            c.pos += length
        else:
            code = skip(c, number, wire, 0)
            if code != OK:
                return code
    return OK


def check_event_metadata(const uint8_t[::1] buf, const int64_t[:, ::1] scanned):
    """Raises WireError when a stat inside an event metadata message is malformed."""
    cdef Cursor c
    cdef uint64_t number
    cdef int wire
    cdef int code = OK
    cdef int64_t i, outer
    cdef Stat stat
    if scanned.shape[0] == 0:
        return
    c.base = &buf[0]
    with nogil:
        for i in range(scanned.shape[0]):
            c.pos = scanned[i, 5]
            c.end = scanned[i, 6]
            while c.pos < c.end and code == OK:
                code = read_tag(&c, &number, &wire)
                if code != OK:
                    break
                if number == 5 and wire == WIRE_LENGTH:
                    code = enter(&c, &outer)
                    if code == OK:
                        code = read_stat(&c, &stat)
                        c.end = outer
                else:
                    code = skip(&c, number, wire, 0)
            if code != OK:
                break
    if code != OK:
        raise_wire(code, c.failed_at)


def message_stats(const uint8_t[::1] buf, int64_t lo, int64_t hi, uint64_t field):
    """The XStats in one message's repeated field -> list of (stat id, kind, value, length)."""
    cdef Cursor c
    cdef uint64_t number
    cdef int wire, code
    cdef int64_t outer
    cdef Stat stat
    out = []
    if hi <= lo:
        return out
    c.base = &buf[0]
    c.pos = lo
    c.end = hi
    while c.pos < c.end:
        code = read_tag(&c, &number, &wire)
        if code == OK:
            if number == field and wire == WIRE_LENGTH:
                code = enter(&c, &outer)
                if code == OK:
                    code = read_stat(&c, &stat)
                    if code == OK:
                        out.append((stat.id, stat.kind, stat.value, stat.length))
                        c.end = outer
            else:
                code = skip(&c, number, wire, 0)
        if code != OK:
            raise_wire(code, c.failed_at)
    return out


def read_stats(const uint8_t[::1] buf, const int64_t[:, ::1] ranges):
    """XStat messages at (field, from, to) -> list of (stat id, kind, value, length)."""
    cdef Cursor c
    cdef Stat stat
    cdef int code
    cdef int64_t i
    out = []
    for i in range(ranges.shape[0]):
        c.base = &buf[0]
        c.pos = ranges[i, 1]
        c.end = ranges[i, 2]
        code = read_stat(&c, &stat)
        if code != OK:
            raise_wire(code, c.failed_at)
        out.append((stat.id, stat.kind, stat.value, stat.length))
    return out


def scan_lines(const uint8_t[::1] buf, const int64_t[:, ::1] lines, int64_t chunk_events):
    """XLine messages -> (headers, chunks).

    headers: a row a line: id, timestamp_ns, duration_ps, name from, to, display name from, to, number of events.
    chunks: a row for every `chunk_events` events: line index, position, end, index of its first event in the line,
    number of events, so that a long line can be decoded by several threads.
    """
    cdef int64_t n = lines.shape[0]
    headers = np.zeros((n, 8), dtype=np.int64)
    cdef int64_t[:, ::1] head = headers
    cdef Ranges chunks = Ranges(5)
    cdef Cursor c
    cdef int64_t i
    cdef int code = OK
    if n == 0:
        return headers, chunks.array()
    c.base = &buf[0]
    with nogil:
        for i in range(n):
            c.pos = lines[i, 1]
            c.end = lines[i, 2]
            code = _scan_line(&c, i, &head[i, 0], chunks, chunk_events)
            if code != OK:
                break
    if code != OK:
        raise_wire(code, c.failed_at)
    return headers, chunks.array()


cdef int _scan_line(Cursor* c, int64_t line, int64_t* head, Ranges chunks, int64_t chunk_events) noexcept nogil:
    cdef uint64_t number, varint
    cdef int wire, code
    cdef int64_t length, at
    cdef int64_t events = 0
    cdef int64_t* chunk
    while c.pos < c.end:
        at = c.pos
        code = read_tag(c, &number, &wire)
        if code != OK:
            return code
        if wire == WIRE_LENGTH and (number == 4 or number == 2 or number == 11):
            code = read_length(c, &length)
            if code != OK:
                return code
            if number == 4:
                if events % chunk_events == 0:
                    chunk = chunks.push()
                    if chunk == NULL:
                        return NO_MEMORY
                    chunk[0] = line
                    chunk[1] = at
                    chunk[2] = c.end
                    chunk[3] = events
                    chunk[4] = 0
                chunks.data[(chunks.size - 1) * 5 + 4] += 1
                events += 1
            else:
                head[3 if number == 2 else 5] = c.pos
                head[4 if number == 2 else 6] = c.pos + length
            c.pos += length
        elif wire == WIRE_VARINT and (number == 1 or number == 3 or number == 9):
            code = read_varint(c, &varint)
            if code != OK:
                return code
            head[0 if number == 1 else (1 if number == 3 else 2)] = <int64_t>varint
        else:
            code = skip(c, number, wire, 0)
            if code != OK:
                return code
    head[7] = events
    return OK


cdef class PlaneKey:
    """How one plane's ids become global numbers: event metadata id -> row, stat id -> slot, row -> wanted groups."""

    cdef const int64_t[::1] row_ids      # sorted
    cdef const int32_t[::1] row_table    # dense, empty when ids are too large
    cdef int64_t row_base
    cdef const int64_t[::1] stat_ids     # sorted, wanted ones only
    cdef const int16_t[::1] stat_slots
    cdef const int16_t[::1] stat_table   # dense, -1 where unwanted
    cdef const int16_t[::1] slot_groups
    cdef const uint64_t[::1] row_groups  # by row - row_base; bit g set when stats of group g are wanted
    cdef uint64_t unknown_row_groups
    cdef int occurrence_slot

    def __init__(self, row_ids, row_table, row_base, stat_ids, stat_slots, stat_table, slot_groups, row_groups,
                 unknown_row_groups, occurrence_slot):
        self.row_ids = row_ids
        self.row_table = row_table
        self.row_base = row_base
        self.stat_ids = stat_ids
        self.stat_slots = stat_slots
        self.stat_table = stat_table
        self.slot_groups = slot_groups
        self.row_groups = row_groups
        self.unknown_row_groups = unknown_row_groups
        self.occurrence_slot = occurrence_slot

    cdef inline int64_t row_of(self, int64_t id) noexcept nogil:
        cdef int64_t lo, hi, mid
        if 0 <= id < self.row_table.shape[0]:
            return self.row_table[id]
        if self.row_table.shape[0]:
            return 0
        lo = 0
        hi = self.row_ids.shape[0]
        while lo < hi:
            mid = (lo + hi) >> 1
            if self.row_ids[mid] < id:
                lo = mid + 1
            else:
                hi = mid
        if lo < self.row_ids.shape[0] and self.row_ids[lo] == id:
            return self.row_base + lo
        return 0

    cdef inline int slot_of(self, int64_t id) noexcept nogil:
        cdef int64_t i
        if 0 <= id < self.stat_table.shape[0]:
            return self.stat_table[id]
        for i in range(self.stat_ids.shape[0]):
            if self.stat_ids[i] == id:
                return self.stat_slots[i]
        return -1


cdef class StatBuffer:
    """Stats of one chunk, in the order of the file."""

    cdef int64_t* event
    cdef int64_t* value
    cdef int64_t* length
    cdef int16_t* slot
    cdef uint8_t* kind
    cdef int64_t size
    cdef int64_t room

    def __dealloc__(self):
        free(self.event)
        free(self.value)
        free(self.length)
        free(self.slot)
        free(self.kind)

    cdef int reserve(self) noexcept nogil:
        cdef int64_t room
        cdef void* grown
        if self.size < self.room:
            return OK
        room = self.room * 2 if self.room else 256
        grown = realloc(self.event, room * sizeof(int64_t))
        if grown == NULL:
            return NO_MEMORY
        self.event = <int64_t*>grown
        grown = realloc(self.value, room * sizeof(int64_t))
        if grown == NULL:
            return NO_MEMORY
        self.value = <int64_t*>grown
        grown = realloc(self.length, room * sizeof(int64_t))
        if grown == NULL:
            return NO_MEMORY
        self.length = <int64_t*>grown
        grown = realloc(self.slot, room * sizeof(int16_t))
        if grown == NULL:
            return NO_MEMORY
        self.slot = <int16_t*>grown
        grown = realloc(self.kind, room)
        if grown == NULL:
            return NO_MEMORY
        self.kind = <uint8_t*>grown
        self.room = room
        return OK

    def __len__(self):
        return self.size

    def into(self, int64_t at, int64_t[::1] event, int16_t[::1] slot, uint8_t[::1] kind, int64_t[::1] value,
             int64_t[::1] length):
        """Copies the buffer into columns from index `at`."""
        if self.size:
            memcpy(&event[at], self.event, self.size * sizeof(int64_t))
            memcpy(&slot[at], self.slot, self.size * sizeof(int16_t))
            memcpy(&kind[at], self.kind, self.size)
            memcpy(&value[at], self.value, self.size * sizeof(int64_t))
            memcpy(&length[at], self.length, self.size * sizeof(int64_t))


def decode_chunk(const uint8_t[::1] buf, PlaneKey key, int64_t lo, int64_t hi, int64_t count, int64_t base_ps,
                 int64_t first_event, int64_t[::1] start_ps, int64_t[::1] duration_ps, int32_t[::1] row,
                 int64_t[:, ::1] exemplar):
    """Events of one line from position lo -> columns from index first_event; returns the wanted stats.

    exemplar[row] = (from, to) of the first event of that row in the file, by position; (0, 0) when none was seen.
    """
    cdef StatBuffer stats = StatBuffer()
    cdef Cursor c
    cdef int code
    c.base = &buf[0]
    c.pos = lo
    c.end = hi
    with nogil:
        code = _decode_events(&c, key, count, base_ps, first_event, start_ps, duration_ps, row, exemplar, stats)
    if code != OK:
        raise_wire(code, c.failed_at)
    return stats


cdef int _decode_events(Cursor* c, PlaneKey key, int64_t count, int64_t base_ps, int64_t event, int64_t[::1] start_ps,
                        int64_t[::1] duration_ps, int32_t[::1] row, int64_t[:, ::1] exemplar,
                        StatBuffer stats) noexcept nogil:
    cdef uint64_t number
    cdef int wire, code
    cdef int64_t outer, at
    cdef int64_t last = event + count
    while event < last:
        code = read_tag(c, &number, &wire)
        if code != OK:
            return code
        if number != 4 or wire != WIRE_LENGTH:
            code = skip(c, number, wire, 0)
            if code != OK:
                return code
            continue
        code = enter(c, &outer)
        if code != OK:
            return code
        at = c.pos
        code = _decode_event(c, key, base_ps, event, start_ps, duration_ps, row, stats)
        if code != OK:
            return code
        if exemplar[row[event], 1] == 0 or at < exemplar[row[event], 0]:
            exemplar[row[event], 0] = at
            exemplar[row[event], 1] = c.end
        c.end = outer
        event += 1
    return OK


cdef inline int _decode_event(Cursor* c, PlaneKey key, int64_t base_ps, int64_t event, int64_t[::1] start_ps,
                              int64_t[::1] duration_ps, int32_t[::1] row, StatBuffer stats) noexcept nogil:
    cdef uint64_t number, varint
    cdef int wire, code, slot
    cdef int64_t outer, k, kept
    cdef int64_t metadata_id = 0
    cdef uint64_t offset = 0
    cdef uint64_t duration = 0
    cdef int64_t occurrences = 0
    cdef bint counted = False
    cdef int64_t first_stat = stats.size
    cdef uint64_t groups
    cdef Stat stat
    while c.pos < c.end:
        code = read_tag(c, &number, &wire)
        if code != OK:
            return code
        if wire == WIRE_VARINT and (number <= 3 or number == 5):
            code = read_varint(c, &varint)
            if code != OK:
                return code
            if number == 1:
                metadata_id = <int64_t>varint
            elif number == 2:
                offset = varint
                counted = False
            elif number == 3:
                duration = varint
            else:
                occurrences = <int64_t>varint
                counted = True
                offset = 0
        elif number == 4 and wire == WIRE_LENGTH:
            code = enter(c, &outer)
            if code != OK:
                return code
            code = read_stat(c, &stat)
            if code != OK:
                return code
            c.end = outer
            slot = key.slot_of(stat.id)
            if slot >= 0:
                code = _keep(stats, event, slot, stat.kind, stat.value, stat.length)
                if code != OK:
                    return code
        else:
            code = skip(c, number, wire, 0)
            if code != OK:
                return code
    row[event] = <int32_t>key.row_of(metadata_id)
    start_ps[event] = <int64_t>(<uint64_t>base_ps + offset)
    duration_ps[event] = <int64_t>duration
    if stats.size > first_stat:
        groups = key.unknown_row_groups
        if row[event] > 0:
            groups = key.row_groups[row[event] - key.row_base]
        kept = first_stat
        for k in range(first_stat, stats.size):
            if (groups >> <uint64_t>key.slot_groups[stats.slot[k]]) & 1:
                if kept != k:
                    stats.slot[kept] = stats.slot[k]
                    stats.kind[kept] = stats.kind[k]
                    stats.value[kept] = stats.value[k]
                    stats.length[kept] = stats.length[k]
                kept += 1
        stats.size = kept
    if counted and key.occurrence_slot >= 0:
        return _keep(stats, event, key.occurrence_slot, KIND_INT, occurrences, 0)
    return OK


cdef inline int _keep(StatBuffer stats, int64_t event, int slot, uint8_t kind, int64_t value,
                      int64_t length) noexcept nogil:
    cdef int code = stats.reserve()
    if code != OK:
        return code
    stats.event[stats.size] = event
    stats.slot[stats.size] = <int16_t>slot
    stats.kind[stats.size] = kind
    stats.value[stats.size] = value
    stats.length[stats.size] = length
    stats.size += 1
    return OK


def intern_spans(const uint8_t[::1] buf, const int64_t[::1] at, const int64_t[::1] length):
    """Byte spans -> (codes int32, indexes of the first span of each code), codes in order of first appearance."""
    cdef int64_t n = at.shape[0]
    codes = np.empty(n, dtype=np.int32)
    cdef int32_t[::1] out = codes
    cdef Ranges firsts = Ranges(1)
    cdef int64_t room = 64
    cdef int64_t* table
    cdef int64_t* hashes
    cdef int64_t i
    cdef int code = OK
    if n == 0:
        return codes, firsts.array()[:, 0]
    table = <int64_t*>calloc(room, sizeof(int64_t))   # 0 = free, else code + 1
    if table == NULL:
        raise MemoryError
    with nogil:
        for i in range(n):
            if firsts.size * 2 >= room:
                table = _rehash(buf, at, length, firsts, table, &room)
                if table == NULL:
                    code = NO_MEMORY
                    break
            code = _intern_one(buf, at, length, firsts, table, room, i, &out[i])
            if code != OK:
                break
    free(table)
    if code != OK:
        raise MemoryError
    return codes, firsts.array()[:, 0]


cdef uint64_t _hash(const uint8_t* data, int64_t length) noexcept nogil:
    cdef uint64_t value = 1469598103934665603UL
    cdef int64_t i
    for i in range(length):
        value = (value ^ data[i]) * 1099511628211UL
    return value ^ (value >> 29)


cdef int _intern_one(const uint8_t[::1] buf, const int64_t[::1] at, const int64_t[::1] length, Ranges firsts,
                     int64_t* table, int64_t room, int64_t i, int32_t* out) noexcept nogil:
    cdef const uint8_t* data = &buf[0] + at[i]
    cdef int64_t place = <int64_t>(_hash(data, length[i]) & <uint64_t>(room - 1))
    cdef int64_t first
    cdef int64_t* slot
    while table[place] != 0:
        first = firsts.data[table[place] - 1]
        if length[first] == length[i] and memcmp(&buf[0] + at[first], data, length[i]) == 0:
            out[0] = <int32_t>(table[place] - 1)
            return OK
        place = (place + 1) & (room - 1)
    slot = firsts.push()
    if slot == NULL:
        return NO_MEMORY
    slot[0] = i
    table[place] = firsts.size
    out[0] = <int32_t>(firsts.size - 1)
    return OK


cdef int64_t* _rehash(const uint8_t[::1] buf, const int64_t[::1] at, const int64_t[::1] length, Ranges firsts,
                      int64_t* table, int64_t* room) noexcept nogil:
    cdef int64_t wider = room[0] * 4
    cdef int64_t* grown = <int64_t*>calloc(wider, sizeof(int64_t))
    cdef int64_t code, place, first
    free(table)
    if grown == NULL:
        return NULL
    for code in range(firsts.size):
        first = firsts.data[code]
        place = <int64_t>(_hash(&buf[0] + at[first], length[first]) & <uint64_t>(wider - 1))
        while grown[place] != 0:
            place = (place + 1) & (wider - 1)
        grown[place] = code + 1
    room[0] = wider
    return grown
