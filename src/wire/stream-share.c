// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How much of what streams have brought is given to their owners in one turn of the loop. What is over stays
// where it is, nothing more of it is read, and it goes on in the next turn:
//
//      guests (StreamOps.unpacks)   STREAM_GUEST_FRAMES messages of each, and more while all guests together
//                                   have sent few; of those that have
//                                   sent more than that, or than one read holds, STREAM_GUESTS_GO_ON read on
//                                   in a turn: they stand in a line, too
//      members (other messages)     STREAM_MEMBERS_US of all members together, with the reading; streams
//                                   beyond that stand in one line, and the first in it goes on first
//      beats                        the first short messages of each member are given at once: they cost
//                                   next to nothing, and leases hang by them
//      bytes, and frames that nobody makes messages of: the log's are given as they come
//
// A turn is the loop's time, which stands still in it. Short turns share a millisecond, and its budget, so a
// stream that has had its share may wait for the next millisecond.

#include "frame.h"
#include "stream-internal.h"

// ---- guests

// What all guests of this thread's loop have sent at the loop's time.
static _Thread_local struct {
        uint64_t now_ms;
        unsigned n;
        uint64_t line_ms;   // the turn
        unsigned n_went_on; // in it
        ListNode line;      // Stream.line
} guests;

// A guest may send as many requests as a read holds, and so may all others. One alone may send what a batch
// of the log has room for: in smaller ones each costs a quarter more.
static bool guest_may_give(const Stream *s) {
        return s->n_given < STREAM_GUEST_FRAMES ||
               (guests.now_ms == uv_now(s->handle.loop) && guests.n < STREAM_GUESTS_FRAMES);
}

static bool guests_wait(void) {
        return guests.line.next && !list_is_empty(&guests.line);
}

static Stream *first_guest(void) {
        return CONTAINER_OF(guests.line.next, Stream, line);
}

static bool guest_may_go_on(const Stream *s) {
        return guests.line_ms != uv_now(s->handle.loop) || guests.n_went_on < STREAM_GUESTS_GO_ON;
}

static void guest_waits(Stream *s) {
        if (!guests.line.next)
                list_init(&guests.line);
        if (!list_is_linked(&s->line))
                list_append(&guests.line, &s->line);
        drain_mark(&first_guest()->drain);
}

static void count_guest(Stream *s) {
        uint64_t now_ms = uv_now(s->handle.loop);

        s->n_given++;
        if (guests.now_ms != now_ms)
                guests.n = 0;
        guests.now_ms = now_ms;
        guests.n++;
}

// ---- members

// The shares of this thread's loop.
static _Thread_local struct {
        uint64_t now_ms;   // the turn
        uint64_t spent_ns; // in it
        uint64_t since_ns; // what is spent is counted from here
        ListNode line;     // Stream.line
} members;

static bool is_member(const Stream *s) {
        return s->message_kind && !s->ops->unpacks;
}

static bool has_line(void) {
        return members.line.next && !list_is_empty(&members.line);
}

static Stream *first_in_line(void) {
        return CONTAINER_OF(members.line.next, Stream, line);
}

static bool is_time_left(const Stream *s) {
        return members.now_ms != uv_now(s->handle.loop) || members.spent_ns < STREAM_MEMBERS_US * 1000;
}

// A short message, or no whole one.
static bool is_next_short(const Stream *s, size_t done) {
        const uint8_t *payload;
        size_t len;

        return !s->unpack && (frame_peek(s->plain_in.data + done, s->plain_in.len - done, s->frame_max,
                                         &payload, &len) <= 0 ||
                              len <= STREAM_SHORT_FRAME);
}

static bool member_may_give(const Stream *s, size_t done) {
        if (s->paused || (s->unpack ? !stream_unpack_is_done(s) : s->plain_in.len <= done))
                return true; // nothing
        if ((s->given_ms != members.now_ms || s->n_given < STREAM_SHORT_FRAMES) && is_next_short(s, done))
                return true;
        return is_time_left(s) && (!has_line() || first_in_line() == s);
}

static void spend(Stream *s) {
        uint64_t now_ns = uv_hrtime();

        members.spent_ns += now_ns - members.since_ns;
        members.since_ns = now_ns;
}

static void count_member(Stream *s) {
        if (s->given_ms != members.now_ms)
                s->n_given = 0;
        s->given_ms = members.now_ms;
        s->n_given++;
        spend(s);
}

// ---- both

void stream_share_begin(Stream *s) {
        uint64_t now_ms = uv_now(s->handle.loop);

        if (!is_member(s))
                return;
        if (members.now_ms != now_ms)
                members.spent_ns = 0;
        members.now_ms = now_ms;
        members.since_ns = uv_hrtime();
}

bool stream_may_give(const Stream *s, size_t done) {
        if (s->ops->unpacks)
                return guest_may_give(s);
        return !is_member(s) || member_may_give(s, done);
}

void stream_count_given(Stream *s) {
        if (s->ops->unpacks)
                count_guest(s);
        else if (is_member(s))
                count_member(s);
}

bool stream_may_read_on(Stream *s) {
        if (s->ops->unpacks)
                return false;
        if (!is_member(s))
                return true;
        spend(s);
        return is_time_left(s) && !list_is_linked(&s->line);
}

bool stream_share_may_go_on(Stream *s) {
        uint64_t now_ms = uv_now(s->handle.loop);

        if (!s->ops->unpacks || !list_is_linked(&s->line))
                return true;
        if (!guest_may_go_on(s)) {
                drain_mark(&first_guest()->drain);
                return false;
        }
        if (guests.line_ms != now_ms)
                guests.n_went_on = 0;
        guests.line_ms = now_ms;
        guests.n_went_on++;
        return true;
}

void stream_share_wait(Stream *s) {
        if (s->ops->unpacks) {
                guest_waits(s);
                return;
        }
        if (!is_member(s)) {
                drain_mark(&s->drain);
                return;
        }
        if (!members.line.next)
                list_init(&members.line);
        if (!list_is_linked(&s->line))
                list_append(&members.line, &s->line);
        drain_mark(&first_in_line()->drain);
}

void stream_share_leave(Stream *s) {
        if (!list_is_linked(&s->line))
                return;
        list_unlink(&s->line);
        if (has_line())
                drain_mark(&first_in_line()->drain);
        if (guests_wait())
                drain_mark(&first_guest()->drain);
}

Stream *stream_share_next(const Stream *s) {
        if (s->ops->unpacks)
                return guests_wait() && guest_may_go_on(s) ? first_guest() : NULL;
        return has_line() && is_member(s) && is_time_left(s) ? first_in_line() : NULL;
}
