// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See host-asks.h. The answers to what a host asks while it does not take them would pile up here, and be
// made for nobody. So such a message waits, with all of its kind that come behind it, in the order in which
// they came:
//
//      message -> the host is full -> Host.requests.asks -> leader_on_host_drained() -> Leader.asks_due ->
//      some of them in each turn: as if they came now
//
// All else that the host says is heard at once, since its link is read on: beats, reports, what it calls
// off.
//
// Limits: ASKS_MAX messages, which is more than a host's clients may have under way, and bytes, which they
// share with the host's requests that are under way. A request beyond these bytes is refused; a host that
// asks more is dropped. What waits when the link is lost, or another host leads, is forgotten: hosts ask
// again then.
#include "host-asks.h"

#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "forwards.h"
#include "host-complaints.h"
#include "host-link.h"
#include "log.h"
#include "message.h"
#include "pool.h"
#include "registry.h"
#include "tables.h"
#include "turn.h"

enum {
        ASKS_MAX = 10000,
        // of one that is no request: who asks for a certificate or a file says less
        ASK_BYTES_MAX = 8 * 1024,
        ASKS_TURN_NS = 1000000, // of a turn
        ASKS_FREED = 64,        // in the loop
        ASKS_TOLD_US = 60000000,
};

typedef struct HostAsk {
        ListNode link; // in Host.requests.asks
        Argosy__ToVoter *message;
        size_t bytes;
} HostAsk;

static bool is_full(const Leader *l, const Host *h) {
        return l->ops.host_is_full(h->number, l->userdata);
}

// It is about a request that waits here.
static bool is_about_held(const Host *h, uint64_t forward) {
        return !list_is_empty(&h->requests.asks) &&
               !map_find(&h->requests.forwards, &forward, sizeof(forward));
}

static bool has_to_wait(const Leader *l, const Host *h, const Argosy__ToVoter *m) {
        switch (m->msg_case) {
        case ARGOSY__TO_VOTER__MSG_FORWARD:
        case ARGOSY__TO_VOTER__MSG_FILE_ASK:
        case ARGOSY__TO_VOTER__MSG_RENEW:
                return !list_is_empty(&h->requests.asks) || is_full(l, h);
        case ARGOSY__TO_VOTER__MSG_FORWARD_CANCEL:
                return is_about_held(h, m->forward_cancel->id);
        case ARGOSY__TO_VOTER__MSG_FORWARD_TAKEN:
                return is_about_held(h, m->forward_taken->id);
        default:
                return false;
        }
}

static void ask_free(HostAsk *a) {
        list_unlink(&a->link);
        message_free(a->message);
        free(a);
}

static void free_all(void *userdata) {
        ListNode *asks = userdata;

        while (!list_is_empty(asks))
                ask_free(CONTAINER_OF(asks->next, HostAsk, link));
        free(asks);
}

void host_asks_forget(Leader *l, Host *h) {
        ListNode *asks = h->requests.n_asks > ASKS_FREED ? malloc(sizeof(*asks)) : NULL;

        list_unlink(&h->requests.asks_due);
        h->requests.n_asks = h->requests.asks_bytes = 0;
        if (!asks) { // few, or it takes a moment
                while (!list_is_empty(&h->requests.asks))
                        ask_free(CONTAINER_OF(h->requests.asks.next, HostAsk, link));
                return;
        }
        list_init(asks);
        list_splice(asks, &h->requests.asks);
        pool_release(l->config.loop, asks, free_all);
}

static void drop(Leader *l, Host *h) {
        uint64_t now_us = leader_now(l);

        if (h->requests.asks_reported_us == 0 || now_us - h->requests.asks_reported_us >= ASKS_TOLD_US) {
                log_host(LOG_WARNING, host_name(l, h),
                         "Host %s asks on and takes no answer: its connection is ended.", host_name(l, h));
                h->requests.asks_reported_us = now_us;
        }
        host_asks_forget(l, h);
        l->ops.drop_host(h->number, l->userdata);
}

static bool may_wait(const Host *h, const Argosy__ToVoter *m, size_t bytes) {
        return h->requests.n_asks < ASKS_MAX &&
               (m->msg_case == ARGOSY__TO_VOTER__MSG_FORWARD || bytes <= ASK_BYTES_MAX);
}

bool host_asks_hold(Leader *l, Host *h, Argosy__ToVoter *m) {
        size_t bytes;
        HostAsk *a;

        if (!has_to_wait(l, h, m))
                return false;
        bytes = sizeof(*a) + message_bytes(m);
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_FORWARD && !forwards_have_room(h, bytes))
                return false; // it is refused
        a = may_wait(h, m, bytes) ? malloc(sizeof(*a)) : NULL;
        if (!a) {
                drop(l, h);
                return true;
        }
        *a = (HostAsk){.message = message_take(m), .bytes = bytes};
        if (!a->message) {
                free(a);
                drop(l, h);
                return true;
        }
        list_append(&h->requests.asks, &a->link);
        h->requests.n_asks++;
        h->requests.asks_bytes += bytes;
        return true;
}

void host_asks_on_drained(Leader *l, Host *h) {
        if (!list_is_empty(&h->requests.asks) && !list_is_linked(&h->requests.asks_due))
                list_append(&l->asks_due, &h->requests.asks_due);
}

static void take_first(Leader *l, Host *h, void (*take)(Leader *l, Host *h, Argosy__ToVoter *message)) {
        HostAsk *a = CONTAINER_OF(h->requests.asks.next, HostAsk, link);

        list_unlink(&a->link);
        h->requests.n_asks--;
        h->requests.asks_bytes -= a->bytes;
        take(l, h, a->message);
        ask_free(a);
}

void host_asks_turn(Leader *l, void (*take)(Leader *l, Host *h, Argosy__ToVoter *message)) {
        uint64_t until_ns = uv_hrtime() + ASKS_TURN_NS;

        while (!list_is_empty(&l->asks_due)) {
                Host *h = CONTAINER_OF(l->asks_due.next, Host, requests.asks_due);

                list_unlink(&h->requests.asks_due);
                if (!cluster_state_find_host(l->state, h->number)) // removed meanwhile, and its link ends
                        host_asks_forget(l, h);
                if (list_is_empty(&h->requests.asks) || is_full(l, h))
                        continue;
                take_first(l, h, take);
                list_append(&l->asks_due, &h->requests.asks_due); // behind other hosts
                if (uv_hrtime() < until_ns)
                        continue;
                leader_mark(l);
                return;
        }
}
