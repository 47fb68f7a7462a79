"""Stats: one XStat, those of a message, and the growing columns that a chunk of events fills."""

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


cdef enum:
    LONGEST_SPAN = 0x7FFFFFFF  # of a text; what is read of one is far shorter


cdef int64_t INT32_ROOM = <int64_t>1 << 31


cdef struct Stat:
    int64_t id
    uint8_t kind
    int64_t value
    int64_t length


cdef int read_stat(Cursor* c, Stat* stat, int depth) noexcept nogil:
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
            code = skip(c, number, wire, depth)
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
                        code = read_stat(&c, &stat, DEPTH_STAT)
                        c.end = outer
                else:
                    code = skip(&c, number, wire, DEPTH_EVENT)
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
                    code = read_stat(&c, &stat, DEPTH_STAT)
                    if code == OK:
                        out.append((stat.id, stat.kind, stat.value, stat.length))
                        c.end = outer
            else:
                code = skip(&c, number, wire, DEPTH_EVENT)
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
        code = read_stat(&c, &stat, DEPTH_LINE)
        if code != OK:
            raise_wire(code, c.failed_at)
        out.append((stat.id, stat.kind, stat.value, stat.length))
    return out


cdef class StatBuffer:
    """Stats of one chunk, in the order of the file. event counts from the chunk's first.

    When the chunk is done, its columns become as narrow as they can be: near and narrow take the places of event and
    value, and length goes where no stat is a span.
    """

    cdef uint16_t* near
    cdef int32_t* narrow
    cdef uint32_t* event
    cdef int64_t* value
    cdef uint32_t* length
    cdef int16_t* slot
    cdef uint8_t* kind
    cdef int64_t size
    cdef int64_t room
    cdef int64_t first_event

    def __dealloc__(self):
        free(self.near)
        free(self.narrow)
        free(self.event)
        free(self.value)
        free(self.length)
        free(self.slot)
        free(self.kind)

    cdef void make_narrow(self) noexcept nogil:
        """Leaves a column as it is where memory for a narrower one is missing."""
        cdef int64_t k
        cdef bint near = True, narrow = True, spans = False
        if self.size == 0:
            return
        for k in range(self.size):
            near = near and self.event[k] <= 0xFFFF
            narrow = narrow and -INT32_ROOM <= self.value[k] < INT32_ROOM
            spans = spans or self.length[k] != 0
        if near:
            self.near = <uint16_t*>malloc(self.size * sizeof(uint16_t))
        if self.near != NULL:
            for k in range(self.size):
                self.near[k] = <uint16_t>self.event[k]
            free(self.event)
            self.event = NULL
        if narrow:
            self.narrow = <int32_t*>malloc(self.size * sizeof(int32_t))
        if self.narrow != NULL:
            for k in range(self.size):
                self.narrow[k] = <int32_t>self.value[k]
            free(self.value)
            self.value = NULL
        if not spans:
            free(self.length)
            self.length = NULL

    cdef int reserve(self) noexcept nogil:
        cdef int64_t room
        cdef void* grown
        if self.size < self.room:
            return OK
        room = self.room * 2 if self.room else 256
        grown = realloc(self.event, room * sizeof(uint32_t))
        if grown == NULL:
            return NO_MEMORY
        self.event = <uint32_t*>grown
        grown = realloc(self.value, room * sizeof(int64_t))
        if grown == NULL:
            return NO_MEMORY
        self.value = <int64_t*>grown
        grown = realloc(self.length, room * sizeof(uint32_t))
        if grown == NULL:
            return NO_MEMORY
        self.length = <uint32_t*>grown
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

    def tally(self, int64_t[:, ::1] slots):
        """Adds this chunk to one row a slot: number of stats, kinds (a bit each), smallest and largest value."""
        cdef int64_t k, value
        cdef int slot
        with nogil:
            for k in range(self.size):
                slot = self.slot[k]
                value = self.narrow[k] if self.narrow != NULL else self.value[k]
                if slots[slot, 0] == 0 or value < slots[slot, 2]:
                    slots[slot, 2] = value
                if slots[slot, 0] == 0 or value > slots[slot, 3]:
                    slots[slot, 3] = value
                slots[slot, 0] += 1
                slots[slot, 1] |= 1 << self.kind[k]

    def into(self, StatColumns columns):
        """Appends the chunk to the columns of its slots."""
        cdef int64_t k, at, value
        cdef Column* column
        with nogil:
            for k in range(self.size):
                column = &columns.columns[self.slot[k]]
                at = column.size
                column.event[at] = <int32_t>(self.first_event + (self.near[k] if self.near != NULL else self.event[k]))
                value = self.narrow[k] if self.narrow != NULL else self.value[k]
                if column.narrow != NULL:
                    column.narrow[at] = <int32_t>value
                else:
                    column.wide[at] = value
                if column.kind != NULL:
                    column.kind[at] = self.kind[k]
                if column.length != NULL:
                    column.length[at] = self.length[k] if self.length != NULL else 0
                column.size = at + 1


cdef struct Column:
    int32_t* event
    int32_t* narrow
    int64_t* wide
    uint8_t* kind
    int64_t* length
    int64_t size


cdef class StatColumns:
    """Where the stats of each slot go: arrays as large as they need, which NumPy owns."""

    cdef Column* columns
    cdef int64_t number
    cdef object arrays

    def __cinit__(self, int64_t number):
        self.columns = <Column*>calloc(number if number else 1, sizeof(Column))
        if self.columns == NULL:
            raise MemoryError
        self.number = number
        self.arrays = []

    def __dealloc__(self):
        free(self.columns)

    def give(self, int64_t slot, int32_t[::1] event, value, kind, length):
        """Where a slot's stats go. value: int32 or int64. kind, length: None where they need not be kept."""
        cdef Column* column = &self.columns[slot]
        cdef int32_t[::1] narrow
        cdef int64_t[::1] wide
        cdef uint8_t[::1] kinds
        self.arrays.append((event, value, kind, length))
        column.event = &event[0]
        if value.dtype == np.int32:
            narrow = value
            column.narrow = &narrow[0]
        else:
            wide = value
            column.wide = &wide[0]
        if kind is not None:
            kinds = kind
            column.kind = &kinds[0]
        if length is not None:
            wide = length
            column.length = &wide[0]


cdef inline int _keep(StatBuffer stats, int64_t event, int slot, uint8_t kind, int64_t value,
                      int64_t length) noexcept nogil:
    cdef int code = stats.reserve()
    if code != OK:
        return code
    stats.event[stats.size] = <uint32_t>(event - stats.first_event)
    stats.slot[stats.size] = <int16_t>slot
    stats.kind[stats.size] = kind
    stats.value[stats.size] = value
    stats.length[stats.size] = <uint32_t>length if length < LONGEST_SPAN else LONGEST_SPAN
    stats.size += 1
    return OK
