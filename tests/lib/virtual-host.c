// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The session of a virtual host: a leader is there -> Attach with all that is held -> Welcome -> beats,
// until their acknowledgements stay away for a lease, or another leader is there. Then from the beginning.
// What an older leader orders is a violation, and left undone. What is sent without a link is lost; reports
// wait for the next Welcome.
#include "virtual-host-private.h"

#include <errno.h>

#include "attach.h"
#include "clock.h"
#include "feature-level.h"
#include "oom.h"

enum { BEAT_DEFAULT_MS = 1000 }; // until a Welcome says better

static uint64_t now_of(const VirtualHost *h) {
        return h->ops->now_us(h->userdata);
}

int virtual_host_send(VirtualHost *h, Argosy__ToVoter__MsgCase what, void *message) {
        Argosy__ToVoter m = ARGOSY__TO_VOTER__INIT;

        m.msg_case = what;
        m.hello = message; // a union: all of them are pointers
        return h->ops->send(&m, h->userdata);
}

// ---- Attach

// All that it holds, in as many messages as an agent needs. What is not taken is said with the next Attach.
static void say_held(VirtualHost *h, Argosy__ToVoter__Attach *m, Argosy__UnitReport **held, size_t n) {
        size_t said = MIN_OF(n, (size_t) ATTACH_HELD_MAX);
        int r;

        m->held = held;
        m->n_held = said;
        m->parts = said < n;
        // without a link a leader will be there anew
        r = virtual_host_send(h, ARGOSY__TO_VOTER__MSG_ATTACH, m);
        while (r >= 0 && said < n) {
                Argosy__ToVoter__AttachPart p = ARGOSY__TO_VOTER__ATTACH_PART__INIT;

                p.seq = m->seq;
                p.held = held + said;
                p.n_held = MIN_OF(n - said, (size_t) ATTACH_HELD_MAX);
                said += p.n_held;
                p.last = said == n;
                r = virtual_host_send(h, ARGOSY__TO_VOTER__MSG_ATTACH_PART, &p);
        }
}

void virtual_host_attach(VirtualHost *h) {
        Argosy__ToVoter__Attach m = ARGOSY__TO_VOTER__ATTACH__INIT;
        Argosy__UnitReport **held;
        size_t n_held;

        virtual_host_drop_final_reports(h);
        virtual_host_forget_contents(h);
        h->ops->attaching(&m, h->userdata);
        virtual_host_held(h, &held, &n_held);
        m.seq = ++h->seq;
        m.wall_us = h->ops->clock_us ? h->ops->clock_us(h->userdata) : 0;
        h->attach_sent_us = now_of(h);
        h->attach_due_us = h->attach_sent_us + VIRTUAL_ATTACH_RETRY_MS * USEC_PER_MSEC;
        h->beat_due_us = 0;
        h->n_quiet = 0;
        h->welcomed = h->unanswered = false;
        h->parts = 0;
        say_held(h, &m, held, n_held);
        virtual_host_held_free(held);
}

void virtual_host_on_leader(VirtualHost *h, bool led) {
        h->led = led;
        h->welcomed = false;
        h->parts = 0;
        h->beat_due_us = 0;
        h->attach_due_us = led ? now_of(h) : 0;
}

// ---- Welcome and orders

static bool is_older(const VirtualHost *h, uint64_t generation, uint64_t term, uint64_t index) {
        if (generation != h->generation)
                return generation < h->generation;
        return term != h->term ? term < h->term : index < h->index;
}

// False: it comes from a leader that has been replaced, or out of order.
static bool is_obeyed(VirtualHost *h, uint64_t generation, uint64_t term, uint64_t index) {
        if (is_older(h, generation, term, index)) {
                h->ops->violation("orders are older than what was obeyed before", h->userdata);
                return false;
        }
        h->generation = generation;
        h->term = term;
        h->index = index;
        return true;
}

static void learn_nodes(VirtualHost *h, Argosy__NodeRecord *const *nodes, size_t n) {
        for (size_t i = 0; i < n; i++) {
                if (streq(nodes[i]->manager, "system"))
                        h->node = nodes[i]->node;
                if (!h->manager || !streq(nodes[i]->manager, h->manager))
                        continue;
                h->manager_news = h->manager_node != nodes[i]->node;
                h->manager_node = nodes[i]->node;
        }
}

static void on_welcome_part(VirtualHost *h, const Argosy__ToHost__WelcomePart *p) {
        if (p->seq != h->seq)
                return;
        if (!is_obeyed(h, p->generation, p->term, p->index))
                return;
        virtual_host_learn(h, p->specs, p->n_specs);
        learn_nodes(h, p->nodes, p->n_nodes);
        virtual_host_obey_wanted(h, p->orders, p->n_orders);
        h->parts++;
        h->all_parts++;
        h->beat_due_us = now_of(h); // the rest may take longer than a lease
        h->attach_due_us = h->beat_due_us + VIRTUAL_ATTACH_RETRY_MS * USEC_PER_MSEC;
}

static void take_times(VirtualHost *h, const Argosy__ToHost__Welcome *w) {
        h->beat_ms = w->beat_ms ?: BEAT_DEFAULT_MS;
        h->lease_ms = w->lease_ms;
        h->lease_from_us = MAX_OF(h->lease_from_us, h->attach_sent_us); // the Attach counts as a beat
        h->beat_due_us = now_of(h) + h->beat_ms * USEC_PER_MSEC;
        h->attach_due_us = 0;
}

static void on_welcome(VirtualHost *h, const Argosy__ToHost__Welcome *w) {
        if (w->seq != h->seq || !is_obeyed(h, w->generation, w->term, w->index))
                return;
        if (w->parts != h->parts) { // not the whole: nothing may be removed by it
                h->ops->violation("parts of a Welcome are missing", h->userdata);
                h->attach_due_us = now_of(h);
                return;
        }
        h->welcomed = true;
        h->welcomes++;
        virtual_host_learn(h, w->specs, w->n_specs);
        learn_nodes(h, w->nodes, w->n_nodes);
        virtual_host_obey_wanted(h, w->orders, w->n_orders);
        h->parts = 0;
        virtual_host_drop_unnamed(h);
        take_times(h, w);
        virtual_host_ask_for_files(h);
}

static void on_orders(VirtualHost *h, const Argosy__ToHost__Orders *o) {
        if (!h->welcomed || !is_obeyed(h, o->generation, o->term, o->index))
                return; // what was on its way when it attached anew comes again with the Welcome
        virtual_host_learn(h, o->specs, o->n_specs);
        learn_nodes(h, o->nodes, o->n_nodes);
        virtual_host_obey(h, o->orders, o->n_orders);
}

// ---- beats

static uint64_t lease_until_us(const VirtualHost *h) {
        return h->lease_from_us + h->lease_ms * USEC_PER_MSEC;
}

// As an agent whom nobody asks whether somebody leads (src/agent/rules/beat-pace.h).
static bool is_quiet(const VirtualHost *h, uint64_t now_us) {
        return h->welcomed && !h->watches && !h->unanswered && h->n_quiet < VIRTUAL_QUIET_BEATS &&
               now_us + (h->beat_ms + h->lease_ms / 3) * USEC_PER_MSEC <= lease_until_us(h);
}

void virtual_host_beat(VirtualHost *h, bool told) {
        Argosy__ToVoter__Beat beat = ARGOSY__TO_VOTER__BEAT__INIT;
        uint64_t now_us = now_of(h);

        beat.seq = ++h->beat_seq;
        beat.quiet = is_quiet(h, now_us);
        h->n_quiet = beat.quiet ? h->n_quiet + 1 : 0;
        h->unanswered = !beat.quiet;
        beat.reported_ms = told ? h->ops->reported_ms(now_us, h->userdata) : 0;
        if (h->ops->clock_us && beat.seq % VIRTUAL_WALL_BEATS == 0)
                beat.wall_ms = h->ops->clock_us(h->userdata) / USEC_PER_MSEC;
        h->beats_sent_us[beat.seq % VIRTUAL_BEATS_KEPT] = now_us;
        h->beat_due_us = now_us + (h->beat_ms ?: BEAT_DEFAULT_MS) * USEC_PER_MSEC;
        (void) virtual_host_send(h, ARGOSY__TO_VOTER__MSG_BEAT, &beat); // the lease says what became of it
}

static void on_beat_ack(VirtualHost *h, const Argosy__ToHost__BeatAck *ack) {
        h->acks++;
        h->last_ack = ack->seq;
        h->unanswered &= ack->seq < h->beat_seq;
        if (ack->seq > h->beat_seq || h->beat_seq - ack->seq >= VIRTUAL_BEATS_KEPT)
                return;
        h->lease_ms = ack->lease_ms ?: h->lease_ms;
        h->lease_from_us = MAX_OF(h->lease_from_us, h->beats_sent_us[ack->seq % VIRTUAL_BEATS_KEPT]);
        h->late_acks +=
                now_of(h) > h->beats_sent_us[ack->seq % VIRTUAL_BEATS_KEPT] + h->beat_ms * USEC_PER_MSEC;
}

// ---- Goodbye

void virtual_host_goodbye(VirtualHost *h, bool stopping) {
        Argosy__ToVoter__Goodbye m = ARGOSY__TO_VOTER__GOODBYE__INIT;

        m.why = ARGOSY__TO_VOTER__GOODBYE__WHY__SHUTDOWN;
        m.stopping = stopping;
        (void) virtual_host_send(h, ARGOSY__TO_VOTER__MSG_GOODBYE, &m);
}

// ---- a voter

static void on_store_open(VirtualHost *h, const Argosy__ToHost__StoreOpen *open) {
        Argosy__ToVoter__StoreOpened opened = ARGOSY__TO_VOTER__STORE_OPENED__INIT;

        opened.raft_id = open->raft_id;
        opened.error = "a virtual host keeps no log";
        (void) virtual_host_send(h, ARGOSY__TO_VOTER__MSG_STORE_OPENED, &opened);
}

// ---- what comes, and when

void virtual_host_on_message(VirtualHost *h, const Argosy__ToHost *m) {
        switch (m->msg_case) {
        case ARGOSY__TO_HOST__MSG_WELCOME:
                on_welcome(h, m->welcome);
                break;
        case ARGOSY__TO_HOST__MSG_WELCOME_PART:
                on_welcome_part(h, m->welcome_part);
                break;
        case ARGOSY__TO_HOST__MSG_ORDERS:
                on_orders(h, m->orders);
                break;
        case ARGOSY__TO_HOST__MSG_BEAT_ACK:
                on_beat_ack(h, m->beat_ack);
                break;
        case ARGOSY__TO_HOST__MSG_FILE_PIECE:
                virtual_host_on_piece(h, m->file_piece);
                break;
        case ARGOSY__TO_HOST__MSG_CALL:
                virtual_host_answer(h, m->call);
                break;
        case ARGOSY__TO_HOST__MSG_STORE_OPEN:
                on_store_open(h, m->store_open);
                break;
        default: // what does not concern it, or says nothing to a host without disk
                break;
        }
}

static bool is_due(uint64_t due_us, uint64_t now_us) {
        return due_us > 0 && due_us <= now_us;
}

void virtual_host_on_time(VirtualHost *h) {
        uint64_t now_us = now_of(h);

        virtual_host_end_due(h);
        if (!h->led)
                return;
        if (is_due(h->attach_due_us, now_us) || (h->welcomed && now_us >= lease_until_us(h)))
                virtual_host_attach(h);
        if (h->welcomed)
                virtual_host_send_reports(h);
        if (is_due(h->beat_due_us, now_us))
                virtual_host_beat(h, h->welcomed && list_is_empty(&h->changed) &&
                                             list_is_empty(&h->final_reports));
}

static uint64_t sooner(uint64_t us, uint64_t due_us) {
        return due_us > 0 ? MIN_OF(us, due_us) : us;
}

uint64_t virtual_host_next_us(const VirtualHost *h) {
        uint64_t us = sooner(UINT64_MAX, deadline_heap_next(&h->ends));

        if (!h->led)
                return us;
        us = sooner(sooner(us, h->attach_due_us), h->beat_due_us);
        if (h->welcomed)
                us = sooner(us, lease_until_us(h));
        if (h->welcomed && (!list_is_empty(&h->changed) || !list_is_empty(&h->final_reports)))
                us = MIN_OF(us, now_of(h));
        return us;
}

// ---- beginning and end

void virtual_host_init(VirtualHost *h, const VirtualHostOps *ops, void *userdata) {
        *h = (VirtualHost){.ops = ops, .userdata = userdata};
        list_init(&h->changed);
        list_init(&h->final_reports);
        list_init(&h->fetches);
        list_init(&h->awaiting);
}

void virtual_host_done(VirtualHost *h) {
        virtual_host_forget(h);
        virtual_host_forget_contents(h);
        map_done(&h->units);
        deadline_heap_done(&h->ends);
}
