// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests that other hosts forward for their clients: the same as local ones, with the answers sent back
// over the link. The author is what the host says of its own users (author.h); a host that says nothing is
// older. Each author has an account (accounts.h): one with too many requests under way is refused, and the
// link is read on, since beats and the log are behind it. Beside that the memory of a host's requests has a
// limit, since the host names their authors itself. They begin when the host has taken earlier answers
// (host-asks.h); refusals that it does not take have a limit, too, beyond which the host is dropped.
#include <errno.h>

#include "accounts.h"
#include "author.h"
#include "forwards.h"
#include "host-link.h"
#include "message-of.h"
#include "message.h"
#include "request-kind.h"
#include "response.h"
#include "tables.h"
#include "turn.h"

enum {
        FORWARD_BYTES_MAX = 48 * 1024 * 1024, // of one host; more only if it has nothing else under way
        FORWARD_PART = 64,                    // bytes of a name, a pattern or the like, beside what it says
        REFUSALS_MAX = 1000,                  // that a host has not taken
};

typedef struct Forward {
        Leader *leader;
        Host *host;
        Account *account; // the author's, which is charged
        uint64_t id; // chosen by the host
        uint64_t cancel;
        size_t bytes;
} Forward;

static void send_reply(Leader *l, Host *h, uint64_t id, const Argosy__Response *response) {
        Argosy__ToHost__ForwardReply reply =
                MESSAGE_OF(to_host__forward_reply, .id = id, .response = (Argosy__Response *) response);
        Argosy__ToHost m = TO_HOST_OF(FORWARD_REPLY, forward_reply, &reply);

        leader_to_host(l, h, &m);
}

static void end(Forward *f) {
        map_take(&f->host->requests.forwards, &f->id, sizeof(f->id));
        f->host->requests.forward_bytes -= f->bytes;
        account_give(f->account, ACCOUNT_FORWARDS, 1);
        account_leave(f->account);
        free(f);
}

static size_t n_parts(const Argosy__Request *q) {
        switch (q->what_case) {
        case ARGOSY__REQUEST__WHAT_CHANGE:
                return q->change->n_names;
        case ARGOSY__REQUEST__WHAT_WAIT:
                return 2 * q->wait->n_items;
        case ARGOSY__REQUEST__WHAT_APPLY:
                return 2 * q->apply->n_units + q->apply->n_gone;
        case ARGOSY__REQUEST__WHAT_LIST_UNITS:
                return q->list_units->n_patterns;
        case ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES:
                return q->list_unit_files->n_patterns;
        default:
                return 0;
        }
}

// About what it takes.
static size_t bytes_of(const Argosy__Request *q) {
        return message_bytes(q) + n_parts(q) * FORWARD_PART;
}

bool forwards_have_room(const Host *h, size_t bytes) {
        size_t all = h->requests.forward_bytes + h->requests.asks_bytes;

        return all == 0 || all + bytes <= FORWARD_BYTES_MAX;
}

// A token is the same wherever it is shown. A host that says nothing of who asks is one asker.
static Principal principal_of(const Host *h, const Argosy__Author *author, bool attested) {
        Hash proof;

        if (hash_from_bytes(author->token_proof.data, author->token_proof.len, &proof))
                return principal_of_token(0, &proof);
        return attested ? principal_of_user(h->number, author->uid, author->owner)
                        : principal_of_host(h->number);
}

// NULL: the host has as many under way as it may, or out of memory.
static Forward *forward_new(Leader *l, Host *h, uint64_t id, const Argosy__Author *author, bool attested) {
        Principal of = principal_of(h, author, attested);
        Forward *f = calloc(1, sizeof(*f));

        if (!f)
                return NULL;
        *f = (Forward){.leader = l, .host = h, .id = id, .account = account_enter(l->config.accounts, &of)};
        if (!f->account || !account_take(f->account, ACCOUNT_FORWARDS, 1)) {
                account_leave(f->account);
                free(f);
                return NULL;
        }
        if (map_add(&h->requests.forwards, &f->id, sizeof(f->id), f) == 0)
                return f;
        account_give(f->account, ACCOUNT_FORWARDS, 1);
        account_leave(f->account);
        free(f);
        return NULL;
}

static void on_response(const Argosy__Response *response, void *userdata) {
        Forward *f = userdata;
        Leader *l = f->leader;
        Host *h = f->host;
        uint64_t id = f->id;

        if (response->final)
                end(f);
        send_reply(l, h, id, response);
}

static void refuse(Leader *l, Host *h, uint64_t id, uint64_t request_id, int status, const char *why) {
        _cleanup_response_ Argosy__Response *r = response_error(status, "%s", why);

        if (!r)
                return;
        r->id = request_id;
        send_reply(l, h, id, r);
        if (!l->ops.host_is_full(h->number, l->userdata))
                h->requests.n_forwards_refused = 0;
        else if (++h->requests.n_forwards_refused > REFUSALS_MAX)
                l->ops.drop_host(h->number, l->userdata);
}

void forwards_on_drained(Host *h) {
        h->requests.n_forwards_refused = 0;
}

// The author is a user of that host, whatever the message says: a host cannot speak for users of others.
static int author_of(const Host *h, const Argosy__ToVoter__Forward *forward, const Argosy__Author **ret) {
        *ret = forward->author;
        return author_admit(forward->author, h->number);
}

void forwards_on_request(Leader *l, Host *h, const Argosy__ToVoter__Forward *forward) {
        uint64_t id = forward->id, request_id = forward->request ? forward->request->id : 0, cancel;
        Argosy__Author unattested = author_unattested(h->number);
        const Argosy__Author *author = &unattested;
        Forward *f;
        size_t bytes;
        int r;

        if (!forward->request) {
                refuse(l, h, id, request_id, EINVAL, "this host asks for nothing");
                return;
        }
        if (map_find(&h->requests.forwards, &id, sizeof(id)))
                return; // the host repeats itself
        if (forward->author && author_of(h, forward, &author) < 0) {
                refuse(l, h, id, request_id, EINVAL, "what this host says of who asks is not possible");
                return;
        }
        bytes = bytes_of(forward->request);
        if (!forwards_have_room(h, bytes)) {
                refuse(l, h, id, request_id, EBUSY,
                       "requests of this host that are under way at the leader are too long for one more");
                return;
        }
        f = forward_new(l, h, id, author, forward->author);
        if (!f) {
                refuse(l, h, id, request_id, EBUSY,
                       "whoever asks has too many requests under way at the leader");
                return;
        }
        f->bytes = bytes;
        h->requests.forward_bytes += bytes;
        r = request_is_long(forward->request)
                    ? leader_request_take(l, author, forward->request, on_response, f, &cancel)
                    : leader_request(l, author, forward->request, on_response, f, &cancel);
        if (r < 0) {
                end(f);
                refuse(l, h, id, request_id, -r, "the leader cannot take the request");
        } else if (cancel) {
                // It is still open, so that f is still there: the last answer is never given inside this
                // call then.
                f->cancel = cancel;
        }
}

void forwards_on_cancel(Leader *l, Host *h, const Argosy__ToVoter__ForwardCancel *cancel) {
        Forward *f = map_find(&h->requests.forwards, &cancel->id, sizeof(cancel->id));

        if (!f)
                return;
        leader_cancel(l, f->cancel);
        end(f);
}

void forwards_on_taken(Leader *l, Host *h, const Argosy__ToVoter__ForwardTaken *taken) {
        const Forward *f = map_find(&h->requests.forwards, &taken->id, sizeof(taken->id));

        if (f)
                leader_taken(l, f->cancel, taken->mark);
}

void forwards_on_link_lost(Leader *l, Host *h) {
        map_foreach (slot, &h->requests.forwards) {
                Forward *f = slot->value;

                leader_cancel(l, f->cancel);
                end(f);
        }
}
