// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What comes is read by BusInput: signals go to the owner, and what is passed on is at once taken by sd-bus,
// before the next is looked at, so that nothing overtakes anything.
//
// sd-bus says before a poll what it waits for (sd_bus_get_events) and until when (sd_bus_get_timeout): a
// prepare handle asks, in the turns in which the connection was used. Messages that wait in BusInput for the
// next turn are not shown by the socket's readiness: then the timer is due at once.
//
// Between bursts that follow each other closely the link rests: the timer ends the rest, and the socket is
// not polled for reading until then (bus-pace.h).

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "bus-input.h"
#include "bus-link.h"
#include "bus-pace.h"
#include "clock.h"
#include "systemd-manager.h"
#include "uvx.h"

enum {
        LINK_HANDLES = 3,
        READS_PER_TURN = 4, // of BUS_INPUT_READ_BYTES
};

struct BusLink {
        sd_bus *bus;
        int fd; // the peer's
        BusInput *input;
        bool more; // may have come that the socket does not show
        uv_poll_t poll;
        uv_prepare_t prepare;
        uv_timer_t timer;
        int n_handles; // initialised and not yet closed
        int events;    // that `poll` waits for
        int error;
        bool paused, dead; // dead: broken or closed, nothing is processed any more
        uint64_t drained_us;
        BusPace pace;
        bool may_rest;
        SystemdShare *share;    // NULL: alone
        bool busy;              // counted there
        uint64_t rest_until_us; // monotonic
        BusLinkOps ops;
        void *userdata;
};

static void on_prepare(uv_prepare_t *h);

// sd-bus waits for something else only after it was used; so a connection among many on which nothing
// happens costs a turn of the loop nothing.
static void ask_before_poll(BusLink *l) {
        if (!l->dead)
                uv_prepare_start(&l->prepare, on_prepare);
}

static void on_handle_closed(uv_handle_t *h) {
        BusLink *l = h->data;

        if (--l->n_handles > 0)
                return;
        if (l->ops.closed)
                l->ops.closed(l->userdata);
        free(l);
}

static size_t read_budget(const BusLink *l) {
        unsigned n = l->share ? MAX_OF(l->share->n_busy, 1U) : 1;

        return MIN_OF(MAX_OF(SYSTEMD_READ_SHARED / n, (unsigned) SYSTEMD_READ_MIN),
                      (unsigned) SYSTEMD_READ_BUDGET);
}

static void note_busy(BusLink *l, bool busy) {
        if (!l->share || l->busy == busy)
                return;
        l->busy = busy;
        if (busy)
                l->share->n_busy++;
        else
                l->share->n_busy--;
}

static void break_link(BusLink *l, int error) {
        l->dead = true;
        note_busy(l, false);
        uv_poll_stop(&l->poll);
        uv_prepare_stop(&l->prepare);
        uv_timer_stop(&l->timer);
        l->ops.broken(error, l->userdata);
}

// A lost connection first shows as a bus that is not open. Processed any further it would call every handler
// with an error that systemd never sent, and close the descriptor under the loop's feet.
static void note_loss(BusLink *l) {
        if (sd_bus_is_open(l->bus) <= 0)
                bus_link_fail(l, -ECONNRESET);
}

// The same clock as sd-bus's: CLOCK_MONOTONIC.
static uint64_t now_monotonic_us(void) {
        return uv_hrtime() / 1000;
}

// sd-bus's part: what was passed on to it is read and handled, calls go out, those without an answer end. At
// most one message has been passed on. 0 or an error.
static int let_sd_bus(BusLink *l) {
        int r;

        do
                r = sd_bus_process(l->bus, NULL);
        while (r > 0);
        note_loss(l);
        return r;
}

// Up to `budget` messages. What stopped it: 0: there is no more at present; 1: enough for this turn, or it
// was paused; or an error.
static int take_messages(BusLink *l, size_t budget, size_t *ret_n) {
        uint64_t reads = bus_input_reads(l->input) + READS_PER_TURN;
        BusSignal signal;
        int r = let_sd_bus(l);

        for (*ret_n = 0; r >= 0 && l->error == 0;) {
                if (l->paused || *ret_n >= budget || bus_input_reads(l->input) >= reads)
                        return 1;
                r = bus_input_next(l->input, &signal);
                if (r == BUS_INPUT_NOTHING)
                        return 0;
                if (r == BUS_INPUT_SIGNAL)
                        r = l->ops.signal(&signal, l->userdata);
                else if (r == BUS_INPUT_PASSED)
                        r = let_sd_bus(l);
                (*ret_n)++;
        }
        return r;
}

static void process(BusLink *l) {
        size_t n_messages = 0, budget = read_budget(l);
        int r;

        note_loss(l);
        r = l->error < 0 ? 0 : take_messages(l, budget, &n_messages);
        note_busy(l, n_messages >= budget);
        l->more = r > 0;
        if (r == 0 && !l->paused) {
                uint64_t now_us = now_monotonic_us();

                l->drained_us = clock_boot_us();
                l->rest_until_us = now_us + bus_pace(&l->pace, n_messages, now_us);
                if (l->rest_until_us == now_us)
                        bus_input_trim(l->input);
        }
        if (r < 0 && l->error == 0)
                l->error = r;
        ask_before_poll(l);
        l->ops.turn(l->userdata); // may close us; the memory stays until the loop closes the handles
        if (!l->dead && l->error < 0)
                break_link(l, l->error);
}

static void on_poll(uv_poll_t *h, int status, int events) {
        BusLink *l = h->data;

        if (status < 0) // UV_EBADF is libuv's word for POLLERR: the peer went away without reading all
                bus_link_fail(l, status == UV_EBADF ? -ECONNRESET : uvx_errno(status));
        process(l);
}

static void on_timer(uv_timer_t *h) {
        process(h->data);
}

static void want_events(BusLink *l, int events) {
        if (events == l->events)
                return;
        l->events = events;
        if (events)
                uv_poll_start(&l->poll, events, on_poll);
        else
                uv_poll_stop(&l->poll);
}

static void on_prepare(uv_prepare_t *h) {
        BusLink *l = h->data;
        uint64_t until_us, now_us = now_monotonic_us();
        bool rests = l->may_rest && now_us < l->rest_until_us;
        int r = sd_bus_get_events(l->bus);

        note_loss(l);
        if (r < 0)
                bus_link_fail(l, r);
        if (l->error < 0) {
                uv_timer_start(&l->timer, on_timer, 0, 0);
                return;
        }
        if (l->paused || rests)
                r &= ~POLLIN;
        uv_prepare_stop(&l->prepare); // what it waits for stays so until somebody uses it
        want_events(l, (r & POLLIN ? UV_READABLE : 0) | (r & POLLOUT ? UV_WRITABLE : 0));
        r = sd_bus_get_timeout(l->bus, &until_us);
        if (r <= 0)
                until_us = UINT64_MAX;
        if (l->more)
                until_us = now_us; // the socket does not show it
        if (rests)
                until_us = MIN_OF(until_us, l->rest_until_us);
        if (until_us == UINT64_MAX || l->paused) {
                uv_timer_stop(&l->timer);
                return;
        }
        uv_timer_start(&l->timer, on_timer, until_us > now_us ? (until_us - now_us) / 1000 + 1 : 0, 0);
}

static int open_bus(BusLink *l, int fd, uint64_t message_max) {
        int r, input = -EBADF;
        sd_bus *bus;

        r = sd_bus_new(&bus);
        if (r < 0) {
                close(fd);
                return r;
        }
        r = sd_bus_negotiate_fds(bus, false); // none is of use to us
        if (r >= 0)
                r = bus_input_new(fd, message_max > 0 ? message_max : BUS_BYTES_MAX, &l->input, &input);
        if (r >= 0)
                r = sd_bus_set_fd(bus, input, fd);
        if (r < 0) {
                close(fd);
                if (input >= 0)
                        close(input);
        }
        if (r >= 0)
                r = sd_bus_start(bus);
        if (r < 0) {
                sd_bus_close_unref(bus);
                l->input = bus_input_free(l->input);
                return r;
        }
        l->bus = bus;
        l->fd = fd;
        return 0;
}

static void *init_handle(BusLink *l, uv_handle_t *h, int r) {
        if (r < 0)
                return NULL;
        h->data = l;
        l->n_handles++;
        return h;
}

int bus_link_new(uv_loop_t *loop, int fd, uint64_t message_max, const BusLinkOps *ops, void *userdata,
                 BusLink **ret) {
        BusLink *l = calloc(1, sizeof(*l));
        int r;

        if (!l) {
                close(fd);
                return -ENOMEM;
        }
        *l = (BusLink){.ops = *ops, .userdata = userdata, .drained_us = clock_boot_us()};
        r = open_bus(l, fd, message_max);
        if (r < 0) {
                free(l);
                return r;
        }
        r = uvx_errno(uv_poll_init(loop, &l->poll, l->fd));
        if (r < 0) {
                sd_bus_close_unref(l->bus);
                bus_input_free(l->input);
                free(l);
                return r;
        }
        init_handle(l, (uv_handle_t *) &l->poll, 0);
        init_handle(l, (uv_handle_t *) &l->prepare,
                    uv_prepare_init(loop, &l->prepare)); // these two cannot fail
        init_handle(l, (uv_handle_t *) &l->timer, uv_timer_init(loop, &l->timer));
        assert(l->n_handles == LINK_HANDLES);
        uv_prepare_start(&l->prepare, on_prepare);
        *ret = l;
        return 0;
}

void bus_link_set_share(BusLink *l, SystemdShare *share) {
        l->share = share;
}

void bus_link_close(BusLink *l) {
        l->dead = true;
        note_busy(l, false);
        uv_close((uv_handle_t *) &l->poll, on_handle_closed);
        uv_close((uv_handle_t *) &l->prepare, on_handle_closed);
        uv_close((uv_handle_t *) &l->timer, on_handle_closed);
        l->bus = sd_bus_close_unref(l->bus); // after uv_close(): the loop must forget the descriptor first
        l->input = bus_input_free(l->input);
}

sd_bus *bus_link_bus(BusLink *l) {
        ask_before_poll(l);
        return l->bus;
}

int bus_link_fd(const BusLink *l) {
        return l->fd;
}

void bus_link_fail(BusLink *l, int error) {
        if (l->error == 0)
                l->error = error;
        ask_before_poll(l);
}

void bus_link_pause(BusLink *l, bool pause) {
        l->paused = pause;
        ask_before_poll(l);
}

bool bus_link_take_loss(BusLink *l) {
        return bus_input_take_loss(l->input);
}

void bus_link_allow_rest(BusLink *l, bool allow) {
        l->may_rest = allow;
        ask_before_poll(l);
}

void bus_link_receive(BusLink *l) {
        l->more = true;
        ask_before_poll(l);
}

bool bus_link_catch_up(BusLink *l) {
        if (!l->dead)
                process(l);
        return !l->dead && !l->more;
}

uint64_t bus_link_drained_us(const BusLink *l) {
        return l->drained_us;
}
