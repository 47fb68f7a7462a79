"""One message of which only some fields are asked for: where each lies. tfadvisor/program/wire.py does the same and is
the definition. A function that returns None leaves bytes that are no message to it."""


def message_entries(const uint8_t[::1] data, int64_t lo, int64_t hi):
    """(key, number, -1) or (key, from, to) of each field of the message in data[lo:hi]; None for what is none."""
    cdef Cursor c
    cdef uint64_t key, value
    cdef int64_t length
    if lo >= hi:
        return []
    c.base, c.pos, c.end, c.failed_at = &data[0], lo, hi, 0
    found = []
    while c.pos < c.end:
        if read_varint(&c, &key) != OK or key < 8:
            return None
        if key & 7 == WIRE_VARINT:
            if read_varint(&c, &value) != OK:
                return None
            found.append((key, value, -1))
        elif key & 7 == WIRE_LENGTH:
            if read_length(&c, &length) != OK:
                return None
            found.append((key, c.pos, c.pos + length))
            c.pos += length
        elif skip(&c, key >> 3, key & 7, MAX_DEPTH) != OK:
            return None
    return found


def packed_numbers(const uint8_t[::1] data, int64_t lo, int64_t hi):
    """The int64 numbers that lie one after the other in data[lo:hi]; None for what is none."""
    cdef Cursor c
    cdef uint64_t value
    if lo >= hi:
        return []
    c.base, c.pos, c.end, c.failed_at = &data[0], lo, hi, 0
    found = []
    while c.pos < c.end:
        if read_varint(&c, &value) != OK:
            return None
        found.append(<int64_t>value)
    return found
