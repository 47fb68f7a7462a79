"""Equal texts counted once: byte spans become codes."""


def intern_spans(const uint8_t[::1] buf, const int64_t[::1] at, const int64_t[::1] length):
    """Byte spans -> (codes int32, indexes of the first span of each code), codes in order of first appearance."""
    cdef int64_t n = at.shape[0]
    codes = np.empty(n, dtype=np.int32)
    cdef int32_t[::1] out = codes
    cdef Ranges firsts = Ranges(1)
    cdef int64_t room = 64
    cdef int64_t* table
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
