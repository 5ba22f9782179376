// SPDX-License-Identifier: LGPL-2.1-or-later
//
// argosyd's end of a helper (helper-link.h), and the helper: a process of its own in the world, so what it
// does to files is an event of the world's, and no fault of argosyd's hits it there.
//
//      request -> frame -> later: what a helper does, by the product's code -> frame -> later: `reply`
//      nothing to do for HELPER_IDLE_MS -> `ended`; no answer in HELPER_ANSWER_MS -> `ended`, -ETIMEDOUT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "fake-pid1.h"
#include "helper-files.h"
#include "helper-link.h"
#include "list.h"
#include "oom.h"
#include "sim-users.h"
#include "str.h"
#include "unit-search.h"

#define ASKED_AGAIN_US (50 * USEC_PER_MSEC) // by whoever tries to connect

struct HelperLink {
        ListNode node; // in `all`
        SimHost *host;
        uint64_t life; // of its argosyd
        HelperMode mode;
        HelperOps ops;
        void *userdata;
        HelperFiles files;
        char *base, *search_dirs[2];
        Buf in;  // requests, as frames
        Buf out; // the answer to the first one
        bool works, ended, closed;
        uint64_t began_us; // of the request that it works on
        uint64_t n_asked;
        unsigned n_events;
};

static ListNode all = {&all, &all};
const SimMachine *sim_helper_connects;

static void release(HelperLink *l) {
        if (l->n_events > 0 || !l->closed)
                return;
        buf_done(&l->in);
        buf_done(&l->out);
        free(l->base);
        free(l->search_dirs[0]);
        free(l);
}

static void stop(HelperLink *l) {
        if (list_is_linked(&l->node))
                list_unlink(&l->node);
        helper_files_done(&l->files);
        l->ended = true;
}

// Of the host's loop; if argosyd is killed before, never.
static void at(HelperLink *l, uint64_t us, void (*run)(void *data)) {
        l->n_events++;
        sim_at(sim_now_us() + us, l->host, run, l);
}

static void end(HelperLink *l, int error) {
        stop(l);
        l->ops.ended(error, l->userdata);
}

// --------------------------------------------------------------------------------------- what a helper does

static void do_files(HelperLink *l, const Argosy__HelperRequest *q) {
        Argosy__HelperReply reply = ARGOSY__HELPER_REPLY__INIT;

        (void) helper_files_answer(q, &l->files, &reply);
        if (helper_frame_pack(&reply.base, &l->out) < 0)
                abort();
}

static void do_search(HelperLink *l, const Argosy__HelperRequest *q) {
        Argosy__HelperReply reply = ARGOSY__HELPER_REPLY__INIT;
        Argosy__LoadState *loads = oom_checked(calloc(q->n_look + 1, sizeof(*loads)));

        reply.error = unit_search_run((const char *const *) l->search_dirs, q->look, q->n_look, loads);
        reply.loads = loads;
        reply.n_loads = reply.error < 0 ? 0 : q->n_look;
        if (helper_frame_pack(&reply.base, &l->out) < 0)
                abort();
        free(loads);
}

static void do_first(HelperLink *l) {
        const uint8_t *payload;
        size_t len, total;
        Argosy__HelperRequest *q;

        if (helper_frame_cut(l->in.data, l->in.len, HELPER_FRAME_MAX, &payload, &len, &total) <= 0)
                abort();
        q = oom_checked(argosy__helper_request__unpack(NULL, len, payload));
        if (l->mode == HELPER_SEARCH)
                do_search(l, q);
        else
                do_files(l, q);
        argosy__helper_request__free_unpacked(q, NULL);
        buf_consume(&l->in, total);
}

// ---------------------------------------------------------------------------------------------- its answers

static void work_later(HelperLink *l);

static void on_idle(void *data) {
        HelperLink *l = data;

        l->n_events--;
        if (!l->ended && !l->works && sim_now_us() >= l->began_us)
                end(l, 0);
        else
                release(l);
}

static void on_answered(void *data) {
        HelperLink *l = data;
        const uint8_t *payload;
        size_t len, total;
        Argosy__HelperReply *reply;

        l->n_events--;
        if (l->ended) {
                release(l);
                return;
        }
        if (helper_frame_cut(l->out.data, l->out.len, HELPER_REPLY_MAX, &payload, &len, &total) <= 0 ||
            !(reply = helper_reply_parse(payload, len))) {
                end(l, -EBADMSG);
                return;
        }
        buf_consume(&l->out, total);
        l->works = false;
        l->n_events++; // until it is told
        l->ops.reply(reply, -1, l->userdata);
        argosy__helper_reply__free_unpacked(reply, NULL);
        l->n_events--;
        if (l->ended) {
                release(l);
                return;
        }
        if (l->in.len > 0)
                work_later(l);
        else {
                l->began_us = sim_now_us() + HELPER_IDLE_MS * USEC_PER_MSEC;
                at(l, HELPER_IDLE_MS * USEC_PER_MSEC, on_idle);
        }
}

static void on_over(void *data) {
        HelperLink *l = data;

        l->n_events--;
        if (l->ended)
                release(l);
        else
                end(l, -ETIMEDOUT);
}

static SimMachine *machine_of(const HelperLink *l) {
        return sim_machine(sim_host_number(l->host));
}

static uint64_t over_us(const HelperLink *l) {
        uint64_t until_us = l->began_us + HELPER_ANSWER_MS * USEC_PER_MSEC;

        return until_us > sim_now_us() ? until_us - sim_now_us() : 0;
}

// The world's: the helper is no part of argosyd.
static void on_work(void *data) {
        HelperLink *l = data;

        l->n_events--;
        if (l->ended || sim_host_life(l->host) != l->life) {
                release(l);
                return;
        }
        if (machine_of(l)->user.stuck) {
                at(l, over_us(l), on_over);
                return;
        }
        do_first(l);
        at(l, draw_log(sim_draw(), 100, 100 * USEC_PER_MSEC), on_answered);
}

static void work_later(HelperLink *l) {
        l->works = true;
        l->began_us = sim_now_us();
        l->n_events++;
        sim_at(sim_now_us() + draw_log(sim_draw(), 100, 300 * USEC_PER_MSEC), NULL, on_work, l);
}

// ----------------------------------------------------------------------------------------------- connecting

static void hand_over(HelperLink *l) {
        Argosy__HelperReply reply = ARGOSY__HELPER_REPLY__INIT;
        int fd = pid1_socket(machine_of(l)->user.pid1);

        if (fd < 0)
                abort();
        sim_helper_connects = machine_of(l);
        l->ops.reply(&reply, fd, l->userdata);
        sim_helper_connects = NULL;
}

static void refuse(HelperLink *l) {
        Argosy__HelperReply reply = ARGOSY__HELPER_REPLY__INIT;

        reply.error = -ENOENT;
        reply.why = (char *) "cannot connect to its systemd: No such file or directory";
        l->ops.reply(&reply, -1, l->userdata);
}

static void on_connect(void *data) {
        HelperLink *l = data;
        const SimMachine *m = machine_of(l);

        if (l->ended)
                ;
        else if (m->user.stuck || (m->user.runs && !pid1_is_reachable(m->user.pid1))) {
                if (over_us(l) == 0)
                        end(l, -ETIMEDOUT);
                else {
                        l->n_events--;
                        at(l, MIN_OF(ASKED_AGAIN_US, over_us(l)), on_connect);
                        return;
                }
        } else if (m->user.runs)
                hand_over(l);
        else
                refuse(l);
        l->n_events--;
        release(l);
}

// -------------------------------------------------------------------------------------------- argosyd's end

int helper_link_new(const HelperConfig *config, const HelperOps *ops, void *userdata, HelperLink **ret) {
        HelperLink *l = oom_checked(calloc(1, sizeof(*l)));
        const SimMachine *m;

        l->host = sim_host_of_loop(config->loop);
        l->life = sim_host_life(l->host);
        l->mode = config->mode;
        l->ops = *ops;
        l->userdata = userdata;
        m = machine_of(l);
        // from where the world is: a link leads to the machine's other paths, and helpers follow none
        l->base = oom_checked(str_printf("%u/user-1000", m->number));
        l->search_dirs[0] = oom_checked(str_printf("%s/systemd/user", l->base));
        l->files = (HelperFiles){.base = l->base,
                                 .below = "user",
                                 .owner = getuid(),
                                 .search_dirs = (const char *const *) l->search_dirs};
        l->began_us = sim_now_us();
        list_init(&l->node);
        list_append(&all, &l->node);
        if (l->mode == HELPER_CONNECT)
                at(l, draw_log(sim_draw(), USEC_PER_MSEC, 300 * USEC_PER_MSEC), on_connect);
        *ret = l;
        return 0;
}

int helper_link_send(HelperLink *l, const Argosy__HelperRequest *request) {
        int r;

        if (l->ended)
                return -EPIPE;
        r = helper_frame_pack(&request->base, &l->in);
        if (r < 0)
                return r;
        l->n_asked++;
        if (!l->works)
                work_later(l);
        return 0;
}

void helper_link_be_patient(HelperLink *l, bool patient) {
}

static void on_closed(void *data) {
        HelperLink *l = data;

        l->n_events--;
        l->closed = true;
        if (l->ops.closed)
                l->ops.closed(l->userdata);
        release(l);
}

void helper_link_close(HelperLink *l) {
        stop(l);
        at(l, draw_log(sim_draw(), 10, 5 * USEC_PER_MSEC), on_closed);
}

void sim_helpers_abandon(SimHost *h) {
        list_foreach_safe (n, &all) {
                HelperLink *l = CONTAINER_OF(n, HelperLink, node);

                if (l->host != h)
                        continue;
                if (l->works && l->out.len == 0 && !machine_of(l)->user.stuck && draw_below(sim_draw(), 2))
                        do_first(l);
                stop(l);
        }
}
