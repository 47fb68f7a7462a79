"""The second pass: events of a line into columns, with the stats that are wanted."""


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


def decode_chunk(const uint8_t[::1] buf, PlaneKey key, int64_t lo, int64_t hi, int64_t count, int64_t base_ps,
                 int64_t first_event, int64_t[::1] start_ps, int64_t[::1] duration_ps, int32_t[::1] row,
                 int64_t[:, ::1] exemplar):
    """Events of one line from position lo -> columns from index first_event; returns the wanted stats.

    exemplar[row] = (from, to) of the first event of that row in the file, by position; (0, 0) when none was seen.
    """
    cdef StatBuffer stats = StatBuffer()
    cdef Cursor c
    cdef int code
    stats.first_event = first_event
    c.base = &buf[0]
    c.pos = lo
    c.end = hi
    with nogil:
        code = _decode_events(&c, key, count, base_ps, first_event, start_ps, duration_ps, row, exemplar, stats)
        stats.make_narrow()
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
            code = skip(c, number, wire, DEPTH_LINE)
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
            code = read_stat(c, &stat, DEPTH_STAT)
            if code != OK:
                return code
            c.end = outer
            slot = key.slot_of(stat.id)
            if slot >= 0:
                code = _keep(stats, event, slot, stat.kind, stat.value, stat.length)
                if code != OK:
                    return code
        else:
            code = skip(c, number, wire, DEPTH_EVENT)
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
