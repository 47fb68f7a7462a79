# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Who takes each instant, in one walk over events that are in order already.

No walk sorts, and none keeps a column an event. walks_twin.py does the same in NumPy and is the definition. All times are
int64 picoseconds. A function that returns None leaves the case to the twin.
"""

from libc.math cimport rint
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

import numpy as np

cdef int64_t end_of_time = (<int64_t>1) << 62

cdef enum:
    MOVES_AN_EVENT = 16  # how many open calls a new one may pass on the mean before the twin's sorting is faster


cdef object cut(object column, Py_ssize_t size):
    """The first entries of a buffer; pages that were never written take no memory, so only much too large ones are copied."""
    return column[:size].copy() if size * 64 < len(column) else column[:size]


# What one thread does at each instant: its events as a stack, their chains of callers as a trie.

cdef enum:
    IS_USERS = 1
    IS_TELLING = 2
    IS_CALL = 4
    IS_STAGE = 8
    IS_FRAME = 16
    IS_SILENT = 32
    IS_DOING = 64


cdef struct Chain:
    int32_t parent  # the chain around it, -1 for none; for a gap -2 - the row before it
    int32_t row  # for a gap the row behind it
    int32_t flags  # kind, and whether it feeds; -1 for a gap
    int32_t telling
    int32_t user
    int32_t called
    int32_t dispatched
    int32_t stage
    int32_t doing
    int32_t compiles
    int32_t step  # the last one in which an event with it began, and the place of both
    int32_t place


cdef class Growing:
    """Numbers of 32 bits, as many as come."""

    cdef int32_t* values
    cdef Py_ssize_t size, room

    def __cinit__(self):
        self.room = 1 << 8
        self.size = 0
        self.values = <int32_t*>malloc(self.room * sizeof(int32_t))
        if self.values == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.values)

    cdef bint add(self, int32_t value) noexcept nogil:
        """False where there is no memory for it."""
        cdef int32_t* more
        if self.size == self.room:
            more = <int32_t*>realloc(self.values, 2 * self.room * sizeof(int32_t))
            if more == NULL:
                return False
            self.values = more
            self.room *= 2
        self.values[self.size] = value
        self.size += 1
        return True

    cdef object array(self):
        out = np.empty(self.size, np.int32)
        cdef int32_t[::1] into = out
        if self.size:
            memcpy(&into[0], self.values, self.size * sizeof(int32_t))
        return out


cdef class Trie:
    """The chains that occur, each once, and their places: a chain in one step."""

    cdef Chain* chains
    cdef int32_t* table
    cdef Py_ssize_t size, room
    cdef Growing chain_of, step_of

    def __cinit__(self):
        self.room = 1 << 10
        self.size = 0
        self.chains = <Chain*>malloc(self.room // 2 * sizeof(Chain))
        self.table = <int32_t*>calloc(self.room, sizeof(int32_t))
        if self.chains == NULL or self.table == NULL:
            raise MemoryError
        self.chain_of = Growing()
        self.step_of = Growing()

    def __dealloc__(self):
        free(self.chains)
        free(self.table)

    cdef inline Py_ssize_t slot_of(self, int32_t parent, int32_t row, int32_t flags) noexcept nogil:
        cdef uint64_t code = <uint64_t><uint32_t>parent * <uint64_t>0x9E3779B97F4A7C15
        cdef Py_ssize_t slot
        cdef Chain* chain
        code = (code ^ (code >> 29) ^ <uint64_t><uint32_t>row) * <uint64_t>0xBF58476D1CE4E5B9
        code = (code ^ (code >> 27) ^ <uint64_t><uint32_t>flags) * <uint64_t>0x94D049BB133111EB
        slot = <Py_ssize_t>((code ^ (code >> 31)) & <uint64_t>(self.room - 1))
        while self.table[slot]:
            chain = &self.chains[self.table[slot] - 1]
            if chain.parent == parent and chain.row == row and chain.flags == flags:
                break
            slot = (slot + 1) & (self.room - 1)
        return slot

    cdef bint grow(self) noexcept nogil:
        cdef Py_ssize_t i
        cdef Chain* chains = <Chain*>realloc(self.chains, self.room * sizeof(Chain))
        cdef int32_t* table
        if chains == NULL:
            return False
        self.chains = chains
        table = <int32_t*>calloc(self.room * 2, sizeof(int32_t))
        if table == NULL:
            return False
        free(self.table)
        self.table = table
        self.room *= 2
        for i in range(self.size):
            self.table[self.slot_of(chains[i].parent, chains[i].row, chains[i].flags)] = <int32_t>(i + 1)
        return True

    cdef int32_t of(self, int32_t parent, int32_t row, int32_t flags, uint8_t says, uint8_t says_around,
                    bint compiles) noexcept nogil:
        """The chain of an event in another chain, or with flags -1 of a gap; -1 where there is no memory for one more.
        says_around: of the event around it."""
        cdef Py_ssize_t slot = self.slot_of(parent, row, flags)
        cdef Chain* chain
        cdef Chain* around
        if self.table[slot]:
            return self.table[slot] - 1
        if self.size == self.room // 2:
            if not self.grow():
                return -1
            slot = self.slot_of(parent, row, flags)
        chain = &self.chains[self.size]
        chain.parent = parent
        chain.row = row
        chain.flags = flags
        chain.step = -2
        if parent >= 0:
            around = &self.chains[parent]
            chain.telling = around.telling
            chain.user = around.user
            chain.called = around.called
            chain.dispatched = around.dispatched
            chain.stage = around.stage
            chain.doing = around.doing
            chain.compiles = around.compiles
        else:
            chain.telling = chain.user = chain.called = chain.dispatched = chain.stage = chain.doing = -1
            chain.compiles = 0
        if flags < 0:
            chain.user = -2 - parent
            chain.called = row
        else:
            if says & IS_TELLING:
                chain.telling = row
            if says & IS_USERS:
                chain.user = row
            if (says | says_around) & IS_USERS:
                chain.called = row
            if says & IS_CALL and chain.dispatched < 0:
                chain.dispatched = row
            if says & IS_STAGE:
                chain.stage = row
            if says & IS_DOING:
                chain.doing = row
            if compiles:
                chain.compiles = 1
        self.size += 1
        self.table[slot] = <int32_t>self.size
        return <int32_t>(self.size - 1)

    cdef int32_t place(self, int32_t number, int32_t step) noexcept nogil:
        """Of a chain in a step, which comes no earlier than the last one asked for; -1 where there is no memory."""
        cdef Chain* chain
        if number < 0:
            return -1
        chain = &self.chains[number]
        if chain.step != step:
            if not (self.chain_of.add(number) and self.step_of.add(step)):
                return -1
            chain.step = step
            chain.place = <int32_t>(self.chain_of.size - 1)
        return chain.place

    cdef tuple columns(self, int other_kind):
        """chain, step of each place; leaf, telling, user, called, dispatched, stage, doing, kind, compiles, feeds of each
        chain."""
        names = np.empty((7, self.size), np.int32)
        cdef int32_t[:, ::1] of = names
        kinds = np.empty((3, self.size), np.int8)
        cdef int8_t[:, ::1] is_ = kinds
        cdef Chain* chain
        cdef Py_ssize_t i
        for i in range(self.size):
            chain = &self.chains[i]
            of[0, i] = chain.row if chain.flags >= 0 else -1
            of[1, i] = chain.telling if chain.telling >= 0 else of[0, i]
            of[2, i] = chain.user
            of[3, i] = chain.called if chain.flags < 0 or chain.user >= 0 else -1
            of[4, i] = chain.dispatched
            of[5, i] = chain.stage
            of[6, i] = chain.doing
            is_[0, i] = <int8_t>(chain.flags >> 1) if chain.flags >= 0 else <int8_t>other_kind
            is_[1, i] = <int8_t>chain.compiles
            is_[2, i] = <int8_t>(chain.flags & 1) if chain.flags >= 0 else 0
        return (self.chain_of.array(), self.step_of.array(), *names, kinds[0], kinds[1].view(np.bool_), kinds[2].view(np.bool_))


cdef struct Call:
    int64_t end
    int64_t event
    int32_t chain
    int32_t place
    uint8_t says


cdef struct Running:
    Call call
    Call around


cdef struct Stretches:
    int64_t* lo
    int64_t* hi
    int32_t* who
    int32_t* event
    Py_ssize_t size
    Py_ssize_t at  # the first window that may hold what comes


cdef inline void keep(Stretches* out, int64_t lo, int64_t hi, int32_t who, int32_t event, const int64_t[::1] w0,
                      const int64_t[::1] w1) noexcept nogil:
    """Adds a stretch that has a part in the windows."""
    while out.at < w0.shape[0] and w1[out.at] <= lo:
        out.at += 1
    if out.at < w0.shape[0] and w0[out.at] < hi:
        out.lo[out.size] = lo
        out.hi[out.size] = hi
        out.who[out.size] = who
        out.event[out.size] = event
        out.size += 1


cdef tuple room_for(Py_ssize_t size):
    """Columns of stretches; pages that are never written take no memory."""
    return tuple(np.empty(size, kind) for kind in (np.int64, np.int64, np.int32, np.int32))


cdef Stretches stretches_in(tuple columns):
    cdef int64_t[::1] lo = columns[0]
    cdef int64_t[::1] hi = columns[1]
    cdef int32_t[::1] who = columns[2]
    cdef int32_t[::1] event = columns[3]
    cdef Stretches out
    out.lo, out.hi, out.who, out.event = &lo[0], &hi[0], &who[0], &event[0]
    out.size = out.at = 0
    return out


def chains(const int64_t[::1] start, const int64_t[::1] end, const int32_t[::1] row, const int8_t[::1] kind,
           const uint8_t[::1] feeds, const uint8_t[::1] says, int compile_kind, int other_kind,
           const int64_t[::1] step_starts, const int64_t[::1] span_ends, int64_t until, const int64_t[::1] counted0,
           const int64_t[::1] counted1, const int64_t[::1] wanted0, const int64_t[::1] wanted1, int64_t shortest,
           int64_t most, bint gaps):
    """As the twin's, alike chains as one. None where events cross that may not."""
    cdef Py_ssize_t n = start.shape[0], i, at, depth = 0, step = 0, around = 0, gap_step = 0, gap_window = 0
    cdef Py_ssize_t steps = step_starts.shape[0], windows = counted0.shape[0]
    cdef int64_t moves = 0, since = 0, begin, kept = 0, covered = step_starts[0] - 1
    cdef int64_t held_lo = 0, held_hi = 0, lo, hi, before_event = -1
    cdef int32_t before = -1, number
    cdef uint8_t said = 0
    cdef bint fits = True, enough = True
    cdef Trie trie = Trie(), apart = Trie()
    cdef Call now, held, none
    cdef Running opened
    found, empty = room_for(2 * n + 1), room_for((n if gaps else 0) + windows + 1)
    cdef Stretches out = stretches_in(found)
    cdef Stretches between = stretches_in(empty)
    cdef Running* stack = <Running*>malloc((n + 1) * sizeof(Running))
    cdef Call* latest = <Call*>malloc((n + 1) * sizeof(Call))
    if stack == NULL or latest == NULL:
        free(stack)
        free(latest)
        raise MemoryError
    none.end = none.event = none.chain = none.place = -1
    none.says = 0
    now = held = none
    with nogil:
        for i in range(n + 1):
            begin = end_of_time
            if i < n:
                begin = start[i]
                if end[i] <= begin or begin >= until or end[i] <= step_starts[0] or end[i] - begin < shortest:
                    continue
                kept += 1
                if kept > most:
                    continue
                said = says[row[i]]
                while around < steps - 1 and step_starts[around] < begin:
                    around += 1
                if said & IS_SILENT or (begin <= step_starts[around] and end[i] >= span_ends[around]
                                        and not said & (IS_FRAME | IS_CALL)):
                    continue
                if i and begin < start[i - 1]:
                    fits = False
                    break
            while depth and stack[depth - 1].call.end <= begin:
                depth -= 1
                opened = stack[depth]
                hold(&out, &held, &held_lo, &held_hi, since, opened.call.end, &now, wanted0, wanted1)
                since = opened.call.end
                if opened.call.end > covered or (opened.call.end == covered and opened.call.event > before_event):
                    covered = opened.call.end
                    before_event = opened.call.event
                    before = row[before_event]
                now = opened.around
            if gaps and depth == 0:
                while gap_window < windows and counted1[gap_window] <= covered:
                    gap_window += 1
                while gap_window < windows and counted0[gap_window] < begin:
                    lo = covered if covered > counted0[gap_window] else counted0[gap_window]
                    hi = begin if begin < counted1[gap_window] else counted1[gap_window]
                    while gap_step < steps and step_starts[gap_step] <= lo:
                        gap_step += 1
                    if lo < hi:
                        number = apart.of(-2 - before, row[i] if i < n else -1, -1, 0, 0, False)
                        number = apart.place(number, <int32_t>(gap_step - 1))
                        enough = enough and number >= 0
                        keep(&between, lo, hi, number, -1, wanted0, wanted1)
                    if counted1[gap_window] > begin:
                        break
                    gap_window += 1
            if i == n or not enough:
                break
            hold(&out, &held, &held_lo, &held_hi, since, begin, &now, wanted0, wanted1)
            since = begin
            while step < steps and step_starts[step] <= begin:
                step += 1
            opened.around = latest[depth - 1] if depth else none
            opened.call.end = end[i]
            opened.call.event = i
            opened.call.says = said
            opened.call.chain = trie.of(opened.around.chain, row[i], kind[i] << 1 | (feeds[i] != 0), said,
                                        opened.around.says, kind[i] == compile_kind)
            opened.call.place = trie.place(opened.call.chain, <int32_t>(step - 1))
            if opened.call.place < 0:
                enough = False
                break
            now = opened.call
            latest[depth] = now
            at = depth
            while at > 0 and stack[at - 1].call.end < now.end:
                stack[at] = stack[at - 1]
                at -= 1
                moves += 1
            stack[at] = opened
            depth += 1
            if moves > (0 if gaps else MOVES_AN_EVENT * n):
                fits = False
                break
        if fits and held.event >= 0:
            keep(&out, held_lo, held_hi, held.place, <int32_t>held.event, wanted0, wanted1)
        free(stack)
        free(latest)
    if not enough:
        raise MemoryError
    if not fits:
        return None
    return (
        tuple(cut(one, out.size) for one in found) + trie.columns(other_kind),
        tuple(cut(one, between.size) for one in empty) + apart.columns(other_kind),
    )


cdef inline void hold(Stretches* out, Call* held, int64_t* lo, int64_t* hi, int64_t since, int64_t until, Call* now,
                      const int64_t[::1] w0, const int64_t[::1] w1) noexcept nogil:
    """Takes the next stretch of the innermost call: it makes the last one longer, or that is complete."""
    if now.event < 0:
        return
    if now.end < until:
        until = now.end
    if until <= since:
        return
    if held.event == now.event and hi[0] == since:
        hi[0] = until
        return
    if held.event >= 0:
        keep(out, lo[0], hi[0], held.place, <int32_t>held.event, w0, w1)
    held[0] = now[0]
    lo[0] = since
    hi[0] = until


def tally(const int32_t[::1] who, const int32_t[::1] event, const int64_t[::1] ps, int64_t[::1] spent,
          int32_t[::1] count, uint8_t[::1] seen, uint8_t bit):
    """Adds each stretch's ps to its place, and to the place's count each event that has any for the first time: seen has a
    bit for that of each event."""
    cdef Py_ssize_t n = who.shape[0], i
    with nogil:
        for i in range(n):
            if ps[i] <= 0:
                continue
            spent[who[i]] += ps[i]
            if event[i] >= 0 and not seen[event[i]] & bit:
                seen[event[i]] |= bit
                count[who[i]] += 1


# What the events of several streams share.

cdef struct Head:
    int64_t time
    int64_t at  # its stretch
    int64_t until  # the end of its run of stretches
    int32_t inside  # whether the stretch has begun


cdef inline void sink(Head* heap, Py_ssize_t n, Py_ssize_t i) noexcept nogil:
    cdef Head moved = heap[i]
    cdef Py_ssize_t child
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and heap[child + 1].time < heap[child].time:
            child += 1
        if heap[child].time >= moved.time:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = moved


cdef inline void begin(Head* head, const int64_t[::1] lo, Py_ssize_t at) noexcept nogil:
    head.time = lo[at]
    head.at = at
    head.inside = 0


def shared(const int64_t[::1] lo, const int64_t[::1] hi, const int64_t[::1] starts, const int64_t[::1] ends):
    """As the twin's. Stretches that ascend are a run; the runs are merged."""
    cdef Py_ssize_t n = lo.shape[0], m = starts.shape[0], i, runs = 1, left = 0, j = 0
    cdef int64_t time, total = 0, last = 0, covered, running = 0
    cdef double each = 0.0
    out = np.zeros(n, np.int64)
    cdef int64_t[::1] spent = out
    if n == 0 or m == 0:
        return out
    for i in range(1, n):
        runs += lo[i] < hi[i - 1]
    cdef double[::1] since = np.empty(n, np.float64)
    cdef Head* heap = <Head*>malloc((runs + 1) * sizeof(Head))
    if heap == NULL:
        raise MemoryError
    with nogil:
        for i in range(n):
            if i == 0 or lo[i] < hi[i - 1]:
                begin(&heap[left], lo, i)
                left += 1
            heap[left - 1].until = i + 1
        i = left // 2
        while i > 0:
            i -= 1
            sink(heap, left, i)
        while left:
            time = heap[0].time
            while j < m and starts[j] <= time:
                total += ends[j] - starts[j]
                j += 1
            covered = total - (ends[j - 1] - time) if j and time < ends[j - 1] else total
            if running > 0 and covered != last:
                each += <double>(covered - last) / <double>running
            last = covered
            i = heap[0].at
            if not heap[0].inside:
                since[i] = each
                running += 1
                heap[0].inside = 1
                heap[0].time = hi[i]
            else:
                spent[i] = <int64_t>rint(each - since[i])
                running -= 1
                if i + 1 < heap[0].until:
                    begin(&heap[0], lo, i + 1)
                else:
                    left -= 1
                    heap[0] = heap[left]
            if left > 1:
                sink(heap, left, 0)
        free(heap)
    return out


def own_stretches(const int64_t[::1] start, const int64_t[::1] end, const int32_t[::1] stream, Py_ssize_t streams):
    """As the twin's; None where the events of a stream are not in order, or have no length."""
    cdef Py_ssize_t n = start.shape[0], i, s, k = 0, depth, first = 0, before, wholes = 0
    cdef int64_t since
    cdef int32_t e, last = -1
    cdef bint fits = True, crossed
    found = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64), np.empty(2 * n, np.int32)
    cdef int64_t[::1] lo = found[0]
    cdef int64_t[::1] hi = found[1]
    cdef int32_t[::1] who = found[2]
    cdef int64_t[::1] until = np.zeros(streams + 1, np.int64)  # where each stream's events end in order
    cdef int32_t[::1] order = np.empty(n, np.int32)
    cdef int32_t[::1] stack = np.empty(n, np.int32)
    cdef int32_t[::1] whole = np.empty(n, np.int32)
    with nogil:
        for i in range(n):
            until[stream[i] + 1] += 1
        for s in range(streams):
            until[s + 1] += until[s]
        for i in range(n):
            order[until[stream[i]]] = <int32_t>i
            until[stream[i]] += 1
        for s in range(streams):
            before, depth, crossed, since = k, 0, False, 0
            for i in range(first, until[s]):
                e = order[i]
                if end[e] <= start[e] or (i > first and (start[e] < start[last] or (start[e] == start[last]
                                                                                  and end[e] > end[last]))):
                    fits = False
                    break
                last = e
                while depth and end[stack[depth - 1]] <= start[e]:
                    depth -= 1
                    k = stretch(lo, hi, who, k, since, end[stack[depth]], stack[depth])
                    since = end[stack[depth]]
                if depth:
                    if end[e] > end[stack[depth - 1]]:
                        crossed = True
                        break
                    k = stretch(lo, hi, who, k, since, start[e], stack[depth - 1])
                since = start[e]
                stack[depth] = e
                depth += 1
            if not fits:
                break
            if crossed:
                k = before
                for i in range(first, until[s]):
                    whole[wholes] = order[i]
                    wholes += 1
            while depth and not crossed:
                depth -= 1
                k = stretch(lo, hi, who, k, since, end[stack[depth]], stack[depth])
                since = end[stack[depth]]
            first = until[s]
        for i in range(wholes):
            k = stretch(lo, hi, who, k, start[whole[i]], end[whole[i]], whole[i])
    return tuple(cut(column, k) for column in found) if fits else None


cdef inline Py_ssize_t stretch(int64_t[::1] lo, int64_t[::1] hi, int32_t[::1] who, Py_ssize_t k, int64_t since,
                               int64_t until, int32_t event) noexcept nogil:
    if until <= since:
        return k
    lo[k] = since
    hi[k] = until
    who[k] = event
    return k + 1
