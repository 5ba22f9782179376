// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A connection begins with lines of text that end with "\r\n" and never with 'l' or 'B', with which every
// message does; text is passed on, and after the first message there is none. A signal waits here until it
// is whole; of a longer reply pieces are passed on as they come, so that none is held twice.

#include "bus-input.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "buf.h"

// What the last connection left that was read empty: the next that is read takes it. One serves all, since
// seldom more than one has something left between two turns.
static _Thread_local uint8_t *spare; // BUS_INPUT_READ_BYTES

struct BusInput {
        int from, to;
        uint64_t max;
        Buf in;
        size_t at;        // of `in` given out or passed on
        bool talks;       // the text is over
        size_t n_line;    // bytes of the line of text under way
        uint64_t passing; // bytes of what is being passed on, from `at` on
        uint32_t serial;  // of the last message
        bool lost;
        uint64_t n_reads;
};

int bus_input_new(int fd, uint64_t max, BusInput **ret, int *ret_sd_bus) {
        BusInput *i = calloc(1, sizeof(*i));
        int pair[2];

        if (!i)
                return -ENOMEM;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
                int r = -errno;

                free(i);
                return r;
        }
        *i = (BusInput){.from = fd, .to = pair[1], .max = max};
        *ret_sd_bus = pair[0];
        *ret = i;
        return 0;
}

BusInput *bus_input_free(BusInput *i) {
        if (!i)
                return NULL;
        close(i->to);
        buf_done(&i->in);
        free(i);
        return NULL;
}

// 1: bytes came; 0: none at present. No more is kept than one piece, or the one message that is longer.
static int read_more(BusInput *i) {
        size_t room;
        uint8_t *p;
        ssize_t n;

        buf_consume(&i->in, i->at); // a part of one message at most
        i->at = 0;
        if (i->in.len == 0 && i->in.allocated > BUS_INPUT_READ_BYTES)
                buf_done(&i->in);
        if (!i->in.data && spare)
                i->in = (Buf){.data = TAKE_PTR(spare), .allocated = BUS_INPUT_READ_BYTES};
        room = i->in.len < BUS_INPUT_READ_BYTES ? BUS_INPUT_READ_BYTES - i->in.len : BUS_INPUT_READ_BYTES;
        p = buf_reserve(&i->in, room);
        if (!p)
                return -ENOMEM;
        n = recv(i->from, p, room, MSG_DONTWAIT);
        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        if (n == 0)
                return -ECONNRESET;
        i->in.len += (size_t) n;
        i->n_reads++;
        return 1;
}

static int pass_on(BusInput *i) {
        size_t len = (size_t) MIN_OF(i->passing, (uint64_t) (i->in.len - i->at));
        ssize_t n = send(i->to, i->in.data + i->at, len, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? BUS_INPUT_PASSED
                                                         : -errno; // sd-bus has to read first
        i->at += (size_t) n;
        i->passing -= (size_t) n;
        return BUS_INPUT_PASSED;
}

// Takes the text of the handshake that is there, up to the first message.
static int take_text(BusInput *i) {
        for (size_t at = i->at; at < i->in.len; at++) {
                uint8_t c = i->in.data[at];

                if (i->n_line == 0 && (c == 'l' || c == 'B')) {
                        i->talks = true;
                        return 0;
                }
                if (i->n_line == 0 && (c < 'A' || c > 'Z'))
                        return -EBADMSG;
                i->n_line = c == '\n' ? 0 : i->n_line + 1;
                if (i->n_line > BUS_INPUT_LINE_MAX)
                        return -EMSGSIZE;
                i->passing++;
        }
        return 0;
}

static void note_serial(BusInput *i, uint32_t serial) {
        if (serial != i->serial + 1)
                i->lost = true;
        i->serial = serial;
}

// BUS_INPUT_SIGNAL; BUS_INPUT_NOTHING: it is not whole yet, or something to be passed on begins here.
static int take_message(BusInput *i, BusSignal *ret) {
        const uint8_t *message = i->in.data + i->at;
        BusHead head;
        int r = bus_head_read(message, &head);

        if (r < 0)
                return r;
        if (head.total > i->max ||
            (head.type == BUS_TYPE_SIGNAL && i->max < BUS_BYTES_MAX && head.total > BUS_INPUT_SIGNAL_MAX))
                return -EMSGSIZE;
        if (head.type == BUS_TYPE_SIGNAL && i->in.len - i->at < head.total)
                return BUS_INPUT_NOTHING;
        note_serial(i, head.serial);
        if (head.type != BUS_TYPE_SIGNAL) {
                i->passing = head.total;
                return BUS_INPUT_NOTHING;
        }
        i->at += (size_t) head.total;
        r = bus_signal_read(&head, message, ret);
        return r < 0 ? r : BUS_INPUT_SIGNAL;
}

int bus_input_next(BusInput *i, BusSignal *ret) {
        int r;

        do {
                r = 0;
                if (!i->talks && i->passing == 0)
                        r = take_text(i);
                if (r == 0 && i->talks && i->passing == 0 && i->in.len - i->at >= BUS_HEAD_BYTES)
                        r = take_message(i, ret);
                if (r != 0)
                        return r;
                if (i->passing > 0 && i->at < i->in.len)
                        return pass_on(i);
                r = read_more(i);
        } while (r > 0);
        return r;
}

uint64_t bus_input_reads(const BusInput *i) {
        return i->n_reads;
}

bool bus_input_take_loss(BusInput *i) {
        bool lost = i->lost;

        i->lost = false;
        return lost;
}

void bus_input_trim(BusInput *i) {
        if (i->at < i->in.len)
                return;
        i->at = 0;
        if (!spare && i->in.allocated == BUS_INPUT_READ_BYTES) {
                spare = i->in.data;
                i->in = (Buf){};
        } else
                buf_done(&i->in);
}
