"""The first pass: where planes, lines, events and metadata lie. Positions only, and no event is read."""

# Fields that one message may have: so many in any, and one more for every so many bytes.
cdef int64_t MANY_FIELDS = 65536
cdef int64_t BYTES_A_FIELD = 8


def scan_space(const uint8_t[::1] buf):
    """XSpace -> array of (field number, from, to): planes 1, errors 2, warnings 3, hostnames 4."""
    return _scan_children(buf, 0, buf.shape[0], 1, 4, DEPTH_SPACE)


cdef _scan_children(const uint8_t[::1] buf, int64_t lo, int64_t hi, uint64_t first, uint64_t last, int depth):
    cdef Cursor c
    cdef uint64_t number
    cdef int wire
    cdef int code = OK
    cdef int64_t length
    cdef int64_t* row
    cdef Ranges found = Ranges(3, MANY_FIELDS + (hi - lo) // BYTES_A_FIELD)
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
                    c.failed_at = c.pos
                    code = found.why
                    break
                row[0] = number
                row[1] = c.pos
                row[2] = c.pos + length
                c.pos += length
            else:
                code = skip(&c, number, wire, depth)
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
    found = _scan_children(buf, lo, hi, 2, 6, DEPTH_PLANE)
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
                    code = skip(&c, number, wire, DEPTH_PLANE)
            if code != OK:
                raise_wire(code, c.failed_at)
    return plane_id, found


def scan_metadata(const uint8_t[::1] buf, const int64_t[:, ::1] entries):
    """Map entries -> array of (key, name from, to, display name from, to, message from, to), one row a value seen.

    An entry without a value gives one row with an empty message. An entry with several values gives one row each, all
    with the entry's index in the last column, to be merged as protobuf does. An entry that holds anything but a key and
    values is no entry of the map to protobuf, so it gives no row.
    """
    cdef int64_t n = entries.shape[0]
    cdef Ranges out = Ranges(9, 2 * n + MANY_FIELDS)
    cdef Cursor c
    cdef int64_t i
    cdef int code = OK
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
                c.failed_at = c.pos
                return out.why
            code = enter(c, &outer)
            if code != OK:
                return code
            code = _scan_metadata_value(c, row)
            if code != OK:
                return code
            c.end = outer
        else:
            foreign = True
            code = skip(c, number, wire, DEPTH_LINE)
            if code != OK:
                return code
    if foreign:
        out.size = first
        return OK
    if out.size == first:
        row = out.push()
        if row == NULL:
            c.failed_at = c.pos
            return out.why
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
            code = skip(c, number, wire, DEPTH_EVENT)
            if code != OK:
                return code
    return OK


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
            code = skip(c, number, wire, DEPTH_LINE)
            if code != OK:
                return code
    head[7] = events
    return OK


def texts_of(const uint8_t[::1] buf, const int64_t[:, ::1] rows, int column, int64_t longest):
    """The text between the positions in two columns of each row, cut where it is too long, as a tuple."""
    cdef Py_ssize_t i
    cdef int64_t size
    cdef list found = []
    for i in range(rows.shape[0]):
        size = rows[i, column + 1] - rows[i, column]
        if size <= 0:
            found.append("")
            continue
        found.append(PyUnicode_DecodeUTF8(<const char*>&buf[rows[i, column]], min(size, longest), "replace"))
    return tuple(found)
