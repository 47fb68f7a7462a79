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


cdef enum:
    MOST_FIELDS = 128
    AS_TEXT = 1
    AS_NUMBER = 2
    AS_LIST = 3
    AS_PLACE = 4

cdef int64_t LONGEST_TEXT = 1 << 18  # Python cuts a longer one


cdef class Fields:
    """Fields of a message, by number, that are read in one go: texts, numbers, lists of numbers, places of bytes."""

    cdef uint8_t kind[MOST_FIELDS]
    cdef uint8_t slot[MOST_FIELDS]
    cdef list nothing

    def __init__(self, texts, numbers, lists, places):
        cdef int field, slot = 0
        for field in range(MOST_FIELDS):
            self.kind[field] = 0
        for kind, fields in ((AS_TEXT, texts), (AS_NUMBER, numbers), (AS_LIST, lists), (AS_PLACE, places)):
            for field in fields:
                self.kind[field] = kind
                self.slot[field] = slot
                slot += 1
        self.nothing = [""] * len(texts) + [0] * len(numbers) + [()] * len(lists) + [(0, 0)] * len(places)

    def read(self, const uint8_t[::1] data, int64_t lo, int64_t hi):
        """Their values in the message in data[lo:hi], in the order in which they are asked for; None for what is none, and
        for a text that is too long."""
        cdef Cursor c
        cdef uint64_t key, field, value
        cdef int64_t length, end
        cdef int kind, slot
        found = self.nothing[:]
        if lo >= hi:
            return found
        c.base, c.pos, c.end, c.failed_at = &data[0], lo, hi, 0
        while c.pos < c.end:
            if read_varint(&c, &key) != OK or key < 8:
                return None
            field = key >> 3
            kind = self.kind[field] if field < MOST_FIELDS else 0
            slot = self.slot[field] if kind else 0
            if key & 7 == WIRE_VARINT:
                if read_varint(&c, &value) != OK:
                    return None
                if kind == AS_NUMBER:
                    found[slot] = <int64_t>value
                elif kind == AS_LIST:
                    found[slot] += (<int64_t>value,)
            elif key & 7 == WIRE_LENGTH:
                if read_length(&c, &length) != OK:
                    return None
                end = c.pos + length
                if kind == AS_TEXT:
                    if length > LONGEST_TEXT:
                        return None
                    found[slot] = PyUnicode_DecodeUTF8(<const char*>c.base + c.pos, length, "replace")
                elif kind == AS_PLACE:
                    found[slot] = (c.pos, end)
                elif kind == AS_LIST:
                    numbers = packed_numbers(data, c.pos, end)
                    if numbers is None:
                        return None
                    found[slot] += tuple(numbers)
                c.pos = end
            elif skip(&c, field, key & 7, MAX_DEPTH) != OK:
                return None
        return found
