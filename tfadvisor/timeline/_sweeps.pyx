# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One pass over what is sorted already: sets of intervals, calls that nest, ids that match, rows that are alike.

No pass holds the GIL or makes an array that it does not return, and none sorts. sweeps_twin.py does the same in NumPy and
is the definition. All times are int64 picoseconds. A function that returns None leaves the case to the twin.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

ctypedef fused Integer:
    int32_t
    int64_t

ctypedef fused Number:
    int32_t
    int64_t


cdef object cut(object column, Py_ssize_t size):
    """The first entries of a buffer; pages that were never written take no memory, so only much too large ones are copied."""
    return column[:size].copy() if size * 64 < len(column) else column[:size]


cdef inline Py_ssize_t upto(const int64_t[::1] times, Py_ssize_t n, int64_t time, Py_ssize_t near) noexcept nogil:
    """How many of the ascending times are <= time, looked for in growing steps from a likely place."""
    cdef Py_ssize_t lo, hi, mid
    cdef Py_ssize_t stride = 1
    if near > 0 and times[near - 1] > time:
        hi = near - 1
        lo = hi - 1
        while lo >= 0 and times[lo] > time:
            hi = lo
            stride *= 2
            lo -= stride
        if lo < 0:
            lo = -1
    else:
        lo = near - 1
        hi = near
        while hi < n and times[hi] <= time:
            lo = hi
            hi += stride
            stride *= 2
        if hi > n:
            hi = n
    while hi - lo > 1:
        mid = lo + (hi - lo) // 2
        if times[mid] <= time:
            lo = mid
        else:
            hi = mid
    return hi


def united(starts, ends):
    """(starts, ends) of the union of intervals in ascending order of start; None when they are not. The arrays
    themselves where they are such a set already."""
    cdef const int64_t[::1] lo = starts
    cdef const int64_t[::1] hi = ends
    cdef Py_ssize_t n = lo.shape[0], i, k = 0
    cdef int64_t reach = 0, before
    cdef bint ascending = True, apart = True
    if n == 0:
        return starts, ends
    before = lo[0]
    with nogil:
        for i in range(n):
            if lo[i] < before:
                ascending = False
                break
            before = lo[i]
            if hi[i] <= lo[i]:
                apart = False
            elif k and lo[i] <= reach:
                apart = False
                if hi[i] > reach:
                    reach = hi[i]
            else:
                reach = hi[i]
                k += 1
    if not ascending:
        return None
    if apart:
        return starts, ends
    first, last = np.empty(k, np.int64), np.empty(k, np.int64)
    cdef int64_t[::1] out_lo = first
    cdef int64_t[::1] out_hi = last
    k = 0
    with nogil:
        for i in range(n):
            if hi[i] <= lo[i]:
                continue
            if k and lo[i] <= out_hi[k - 1]:
                if hi[i] > out_hi[k - 1]:
                    out_hi[k - 1] = hi[i]
            else:
                out_lo[k] = lo[i]
                out_hi[k] = hi[i]
                k += 1
    return first, last


def merged(const int64_t[::1] a0, const int64_t[::1] a1, const int64_t[::1] b0, const int64_t[::1] b1):
    """(starts, ends) of what either of two sets covers."""
    cdef Py_ssize_t n = a0.shape[0], m = b0.shape[0], i = 0, j = 0, k = 0
    cdef int64_t lo, hi
    first, last = np.empty(n + m, np.int64), np.empty(n + m, np.int64)
    cdef int64_t[::1] out_lo = first
    cdef int64_t[::1] out_hi = last
    with nogil:
        while i < n or j < m:
            if j >= m or (i < n and a0[i] <= b0[j]):
                lo = a0[i]
                hi = a1[i]
                i += 1
            else:
                lo = b0[j]
                hi = b1[j]
                j += 1
            if hi <= lo:
                continue
            if k and lo <= out_hi[k - 1]:
                if hi > out_hi[k - 1]:
                    out_hi[k - 1] = hi
            else:
                out_lo[k] = lo
                out_hi[k] = hi
                k += 1
    return cut(first, k), cut(last, k)


def common(const int64_t[::1] a0, const int64_t[::1] a1, const int64_t[::1] b0, const int64_t[::1] b1):
    """(starts, ends) of what both of two sets cover."""
    cdef Py_ssize_t n = a0.shape[0], m = b0.shape[0], i = 0, j = 0, k = 0
    cdef int64_t lo, hi
    first, last = np.empty(n + m, np.int64), np.empty(n + m, np.int64)
    cdef int64_t[::1] out_lo = first
    cdef int64_t[::1] out_hi = last
    with nogil:
        while i < n and j < m:
            lo = a0[i] if a0[i] > b0[j] else b0[j]
            hi = a1[i] if a1[i] < b1[j] else b1[j]
            if lo < hi:
                if k and out_hi[k - 1] == lo:
                    out_hi[k - 1] = hi
                else:
                    out_lo[k] = lo
                    out_hi[k] = hi
                    k += 1
            if a1[i] < b1[j]:
                i += 1
            else:
                j += 1
    return cut(first, k), cut(last, k)


def without(const int64_t[::1] a0, const int64_t[::1] a1, const int64_t[::1] b0, const int64_t[::1] b1):
    """(starts, ends) of what the first set covers and the second does not."""
    cdef Py_ssize_t n = a0.shape[0], m = b0.shape[0], i, j = 0, k = 0
    cdef int64_t lo, hi
    first, last = np.empty(n + m, np.int64), np.empty(n + m, np.int64)
    cdef int64_t[::1] out_lo = first
    cdef int64_t[::1] out_hi = last
    with nogil:
        for i in range(n):
            lo = a0[i]
            hi = a1[i]
            while j < m and b1[j] <= lo:
                j += 1
            while j < m and b0[j] < hi:
                if b0[j] > lo:
                    out_lo[k] = lo
                    out_hi[k] = b0[j]
                    k += 1
                lo = b1[j]
                if lo >= hi:
                    break
                j += 1
            if lo < hi:
                out_lo[k] = lo
                out_hi[k] = hi
                k += 1
    return cut(first, k), cut(last, k)


cdef int64_t[::1] totals_of(const int64_t[::1] starts, const int64_t[::1] ends):
    """How much of a set lies before each of its intervals, and at last all of it."""
    cdef Py_ssize_t n = starts.shape[0], j
    cdef int64_t[::1] before = np.empty(n + 1, np.int64)
    with nogil:
        before[0] = 0
        for j in range(n):
            before[j + 1] = before[j] + (ends[j] - starts[j])
    return before


def within(const int64_t[::1] starts, const int64_t[::1] ends, const int64_t[::1] lo, const int64_t[::1] hi):
    """How much of a set lies in each window lo <= t < hi. Windows that ascend need one pass, others a running total
    besides."""
    cdef Py_ssize_t n = starts.shape[0], m = lo.shape[0], i, j = 0, k = 0
    cdef int64_t length = 0
    cdef bint ascending = True
    out = np.empty(m, np.int64)
    cdef int64_t[::1] found = out
    cdef int64_t[::1] before
    with nogil:
        for i in range(m):
            if i and (lo[i] < lo[i - 1] or hi[i] < hi[i - 1]):
                ascending = False
                break
            while j < n and starts[j] <= lo[i]:
                length -= ends[j] - starts[j]
                j += 1
            while k < n and starts[k] <= hi[i]:
                length += ends[k] - starts[k]
                k += 1
            found[i] = length + cut_off(ends, lo[i], j) - cut_off(ends, hi[i], k)
    if ascending:
        return out
    before = totals_of(starts, ends)
    j = 0
    with nogil:
        for i in range(m):
            j = upto(starts, n, lo[i], j)
            k = upto(starts, n, hi[i], j)
            found[i] = before[k] - before[j] + cut_off(ends, lo[i], j) - cut_off(ends, hi[i], k)
    return out


cdef inline int64_t cut_off(const int64_t[::1] ends, int64_t time, Py_ssize_t begun) noexcept nogil:
    """What lies behind a time of the last interval that has begun by then."""
    return ends[begun - 1] - time if begun and ends[begun - 1] > time else 0


def reached(const int64_t[::1] times, const int64_t[::1] asked):
    """How many of the ascending times are no later than each asked one."""
    cdef Py_ssize_t n = times.shape[0], m = asked.shape[0], i, j = 0
    out = np.empty(m, np.int64)
    cdef int64_t[::1] number = out
    with nogil:
        for i in range(m):
            j = upto(times, n, asked[i], j)
            number[i] = j
    return out


def contains(const int64_t[::1] starts, const int64_t[::1] ends, const int64_t[::1] times):
    """Whether each time lies in a set."""
    cdef Py_ssize_t n = starts.shape[0], m = times.shape[0], i, j = 0
    out = np.empty(m, np.bool_)
    cdef uint8_t[::1] inside = out.view(np.uint8)
    with nogil:
        for i in range(m):
            j = upto(starts, n, times[i], j)
            inside[i] = j > 0 and times[i] < ends[j - 1]
    return out


def met(const int64_t[::1] lo, const int64_t[::1] hi, const int32_t[::1] who, const uint8_t[::1] works,
        const int64_t[::1] starts, const int64_t[::1] ends):
    """Indexes of the stretches with an instant in a set, of those whose `who` works."""
    cdef Py_ssize_t n = starts.shape[0], m = lo.shape[0], i, j = 0, k = 0
    out = np.empty(m, np.int64)
    cdef int64_t[::1] found = out
    with nogil:
        for i in range(m):
            if works[who[i]]:
                j = upto(ends, n, lo[i], j)
                if j < n and starts[j] < hi[i]:
                    found[k] = i
                    k += 1
    return cut(out, k)


cdef struct Open:
    int64_t end
    int64_t event
    int64_t parent


cdef enum:
    MOVES_AN_EVENT = 16  # how many open calls a new one may pass on the mean before the twin's sorting is faster


cdef inline Py_ssize_t place_of(Open* stack, Py_ssize_t depth, int64_t end, int64_t* moves) noexcept nogil:
    """Makes room for a call that ends then among the open ones, which lie by descending end."""
    cdef Py_ssize_t at = depth
    while at > 0 and stack[at - 1].end < end:
        stack[at] = stack[at - 1]
        at -= 1
        moves[0] += 1
    return at


def parents(const int64_t[::1] starts, const int64_t[::1] ends):
    """Index of the innermost event around each, -1 without one; None where too many events cross each other."""
    cdef Py_ssize_t n = starts.shape[0], i, at, depth = 0
    cdef int64_t end, moves = 0
    cdef bint fits = True
    out = np.empty(n, np.int64)
    cdef int64_t[::1] parent = out
    cdef Open* stack = <Open*>malloc((n + 1) * sizeof(Open))
    cdef int64_t* latest = <int64_t*>malloc((n + 1) * sizeof(int64_t))
    if stack == NULL or latest == NULL:
        free(stack)
        free(latest)
        raise MemoryError
    with nogil:
        for i in range(n):
            while depth and stack[depth - 1].end <= starts[i]:
                depth -= 1
            parent[i] = latest[depth - 1] if depth else -1
            latest[depth] = i
            end = ends[i] if ends[i] > starts[i] else starts[i] + 1
            at = place_of(stack, depth, end, &moves)
            stack[at].end = end
            depth += 1
            if moves > MOVES_AN_EVENT * n or (i and starts[i] < starts[i - 1]):
                fits = False
                break
        free(stack)
        free(latest)
    return out if fits else None


def innermost(const int64_t[::1] starts, const int64_t[::1] ends):
    """(from, to, event) of the stretches with the same innermost event; None where too many events cross each other, or
    one has no length."""
    cdef Py_ssize_t n = starts.shape[0], i, at, depth = 0, k = 0
    cdef int64_t moves = 0, since = 0, until, now = -1
    cdef bint fits = True
    begin, finish, event = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64), np.empty(2 * n, np.int32)
    cdef int64_t[::1] lo = begin
    cdef int64_t[::1] hi = finish
    cdef int32_t[::1] who = event
    cdef Open* stack = <Open*>malloc((n + 1) * sizeof(Open))
    cdef int64_t* latest = <int64_t*>malloc((n + 1) * sizeof(int64_t))
    cdef Open opened
    if stack == NULL or latest == NULL:
        free(stack)
        free(latest)
        raise MemoryError
    with nogil:
        for i in range(n + 1):
            while depth and (i == n or stack[depth - 1].end <= starts[i]):
                depth -= 1
                if now >= 0:
                    until = ends[now] if ends[now] < stack[depth].end else stack[depth].end
                    k = stretch(lo, hi, who, k, since, until, now)
                since = stack[depth].end
                now = stack[depth].parent
            if i == n:
                break
            if now >= 0:
                until = ends[now] if ends[now] < starts[i] else starts[i]
                k = stretch(lo, hi, who, k, since, until, now)
            since = starts[i]
            now = i
            opened.end = ends[i]
            opened.event = i
            opened.parent = latest[depth - 1] if depth else -1
            latest[depth] = i
            at = place_of(stack, depth, ends[i], &moves)
            stack[at] = opened
            depth += 1
            if moves > MOVES_AN_EVENT * n or ends[i] <= starts[i] or (i and starts[i] < starts[i - 1]):
                fits = False
                break
        free(stack)
        free(latest)
    return (cut(begin, k), cut(finish, k), cut(event, k)) if fits else None


cdef inline Py_ssize_t stretch(int64_t[::1] lo, int64_t[::1] hi, int32_t[::1] who, Py_ssize_t k, int64_t since,
                               int64_t until, int64_t now) noexcept nogil:
    """Adds a stretch, or makes the last one longer; returns how many there are."""
    if until <= since:
        return k
    if k and who[k - 1] == now and hi[k - 1] == since:
        hi[k - 1] = until
        return k
    lo[k] = since
    hi[k] = until
    who[k] = <int32_t>now
    return k + 1


def enclosing(const uint8_t[::1] wanted, const int64_t[::1] parent):
    """The wanted event that each event is or lies in, the innermost one; -1 without one. Parents come before what is in them."""
    cdef Py_ssize_t n = parent.shape[0], i
    out = np.empty(n, np.int64)
    cdef int64_t[::1] found = out
    with nogil:
        for i in range(n):
            found[i] = i if wanted[i] else (found[parent[i]] if parent[i] >= 0 else -1)
    return out


def places(const Integer[::1] ordered, const Number[::1] wanted):
    """Index of the first entry of an ascending array that equals each wanted number, -1 without one.

    Numbers that follow each other in both, as ids and positions do, are found without a search, and so is one that repeats
    the last.
    """
    cdef Py_ssize_t n = ordered.shape[0], m = wanted.shape[0], i, lo, hi, mid
    cdef int64_t apart = 0, guess
    out = np.empty(m, np.int32)
    cdef int32_t[::1] found = out
    with nogil:
        for i in range(m):
            if i and wanted[i] == wanted[i - 1]:
                found[i] = found[i - 1]
                continue
            guess = wanted[i] - apart
            if 0 <= guess < n and ordered[guess] == wanted[i] and (guess == 0 or ordered[guess - 1] < wanted[i]):
                found[i] = <int32_t>guess
                continue
            lo = 0
            hi = n
            while lo < hi:
                mid = lo + (hi - lo) // 2
                if ordered[mid] < wanted[i]:
                    lo = mid + 1
                else:
                    hi = mid
            if lo < n and ordered[lo] == wanted[i]:
                found[i] = <int32_t>lo
                apart = wanted[i] - lo
            else:
                found[i] = -1
    return out


cdef enum:
    MOST_COLUMNS = 8


cdef struct Columns:
    int number
    const char* first[MOST_COLUMNS]
    Py_ssize_t stride[MOST_COLUMNS]


cdef inline int32_t entry(Columns* columns, int column, Py_ssize_t event) noexcept nogil:
    return (<const int32_t*>(columns.first[column] + event * columns.stride[column]))[0]


cdef inline uint64_t hash_of(Columns* columns, Py_ssize_t event) noexcept nogil:
    cdef uint64_t code = 0
    cdef int c
    for c in range(columns.number):
        code = (code ^ <uint64_t><uint32_t>entry(columns, c, event)) * <uint64_t>0x9E3779B97F4A7C15
        code ^= code >> 29
    return code


cdef inline bint are_alike(Columns* columns, Py_ssize_t one, Py_ssize_t other) noexcept nogil:
    cdef int c
    for c in range(columns.number):
        if entry(columns, c, one) != entry(columns, c, other):
            return False
    return True


def alike(tuple columns, const int64_t[::1] starts, const int64_t[::1] ends, const uint8_t[::1] chosen, int64_t small):
    """Sums over the chosen events that are alike in every int32 column: (last event, number, summed length, number
    shorter than small) of each group, in the order of their first events."""
    cdef Columns keys
    cdef const int32_t[:] column
    cdef Py_ssize_t n = chosen.shape[0], i = 0, group = 0, slot, k = 0
    cdef Py_ssize_t room = 1 << 10, most = 1 << 9
    cdef int64_t length
    keys.number = len(columns)
    if n == 0 or keys.number > MOST_COLUMNS:
        return tuple(np.empty(0, np.int64) for _ in range(4))
    for c, one in enumerate(columns):
        column = one
        keys.first[c] = <const char*>&column[0]
        keys.stride[c] = column.strides[0]
    last, count, total, short = (np.zeros(most, np.int64) for _ in range(4))
    cdef int64_t[::1] of_last = last
    cdef int64_t[::1] of_count = count
    cdef int64_t[::1] of_total = total
    cdef int64_t[::1] of_short = short
    places_of = np.zeros(room, np.int32)
    cdef int32_t[::1] table = places_of
    while i < n:
        with nogil:
            while i < n and k < most:
                if not chosen[i]:
                    i += 1
                    continue
                slot = hash_of(&keys, i) & (room - 1)
                while table[slot] and not are_alike(&keys, i, of_last[table[slot] - 1]):
                    slot = (slot + 1) & (room - 1)
                if not table[slot]:
                    k += 1
                    table[slot] = <int32_t>k
                group = table[slot] - 1
                length = ends[i] - starts[i]
                of_last[group] = i
                of_count[group] += 1
                of_total[group] += length
                of_short[group] += length < small
                i += 1
        if k == most:
            room, most = room * 4, most * 4
            last, count, total, short = (np.append(one, np.zeros(most - k, np.int64)) for one in (last, count, total, short))
            of_last, of_count, of_total, of_short = last, count, total, short
            places_of = np.zeros(room, np.int32)
            table = places_of
            for group in range(k):
                slot = hash_of(&keys, of_last[group]) & (room - 1)
                while table[slot]:
                    slot = (slot + 1) & (room - 1)
                table[slot] = <int32_t>(group + 1)
    return last[:k].copy(), count[:k].copy(), total[:k].copy(), short[:k].copy()
