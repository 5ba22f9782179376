// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Somebody has put a password into a unit file, has changed it, and wants it to be nowhere. Jobs that name
// such a content keep its hash and nothing else.
//
// What a unit has now is not erased, and the answer says so, also of what somebody takes into use in the
// same entry. What is not kept any more counts as erased, unless that goes for all.
//
// Thousands are several entries and one job: limits.forgets are looked at in a turn, and what is there of
// them is erased. Under another leader that begins anew, and what is erased by then is passed over.

#include "forget-request.h"

#include <errno.h>
#include <stdlib.h>

#include "batch-builder.h"
#include "response.h"
#include "str.h"
#include "pending-requests.h"
#include "turn.h"

typedef struct Forgetting {
        RequestWork work;
        size_t at, end; // revs that were looked at; and with the entry that is on its way
        size_t n_now;   // contents that units have
} Forgetting;

static void forgetting_free(PendingRequest *t, RequestWork *work) {
        free(CONTAINER_OF(work, Forgetting, work));
}

static const RequestWorkKind forgetting_kind = {forgetting_free};

static Forgetting *forgetting_of(const PendingRequest *t) {
        return CONTAINER_OF(request_work(t, &forgetting_kind), Forgetting, work);
}

// 0 or -ENOMEM.
static int begin(PendingRequest *t) {
        Forgetting *f = calloc(1, sizeof(*f));

        if (!f)
                return -ENOMEM;
        request_add_work(t, &forgetting_kind, &f->work);
        return 0;
}

static bool is_former(const Leader *l, const char *rev, Hash *ret, bool *ret_known) {
        const SpecEntry *spec;

        *ret_known = false;
        if (!hex_decode(rev, ret, HASH_SIZE))
                return false;
        spec = cluster_state_find_spec(l->state, ret);
        *ret_known = spec;
        return spec && spec_entry_is_former(spec);
}

static void count_used(const Leader *l, PendingRequest *t) {
        Forgetting *f = forgetting_of(t);

        for (size_t i = f->at; i < f->end; i++) {
                bool known;
                Hash hash;

                (void) is_former(l, t->request->forget->revs[i], &hash, &known);
                f->n_now += known;
        }
}

static void tell(PendingRequest *t) {
        const Forgetting *f = forgetting_of(t);

        if (f->n_now > 0 && t->response)
                (void) field_printf(&t->response->message, "%zu of %zu are not erased: units have them now",
                                    f->n_now, t->request->forget->n_revs);
}

// The log has this piece.
static void on_committed(Leader *l, PendingRequest *t) {
        Forgetting *f = forgetting_of(t);

        count_used(l, t);
        f->at = f->end;
        if (f->at == t->request->forget->n_revs)
                tell(t);
}

// Puts the contents of the next piece that can be erased; *ret_n: how many. 0 or -ENOMEM.
static int put_piece(Leader *l, PendingRequest *t, BatchBuilder *b, size_t *ret_n) {
        const Argosy__Request__Forget *m = t->request->forget;
        Forgetting *f = forgetting_of(t);
        size_t most = MIN_OF(m->n_revs - f->at, (size_t) l->limits.forgets), n = 0;
        _cleanup_free_ Hash *hashes = calloc(most + 1, sizeof(*hashes));
        _cleanup_free_ ProtobufCBinaryData *fields = calloc(most + 1, sizeof(*fields));

        if (!hashes || !fields)
                return -ENOMEM;
        f->end = f->at + most;
        for (size_t i = f->at; i < f->end; i++) {
                bool known;

                if (is_former(l, m->revs[i], &hashes[n], &known)) {
                        fields[n] = (ProtobufCBinaryData){HASH_SIZE, hashes[n].bytes};
                        n++;
                }
        }
        *ret_n = n;
        return n > 0 ? batch_builder_forget_specs(b, fields, n) : 0;
}

// Nothing of this piece is to be erased, and nothing of those before it has to be told to the log.
static int pass(Leader *l, PendingRequest *t) {
        Forgetting *f = forgetting_of(t);

        count_used(l, t);
        f->at = f->end;
        if (f->at < t->request->forget->n_revs) {
                leader_mark(l);
                return 0;
        }
        if (t->job > 0) { // of what was there before it, some is gone
                request_settle(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET));
                return 0;
        }
        return f->n_now > 0 ? request_refuse(t, EEXIST, "units have that now: nothing was erased")
                            : request_refuse(t, ENOENT, "nothing of that is kept");
}

int forget_plan(Leader *l, PendingRequest *t, BatchBuilder *b) {
        bool last;
        size_t n;
        int r;

        if (t->request->forget->n_revs > FORGET_MAX)
                return request_refuse(t, E2BIG, "so many contents are not erased at once");
        r = request_work(t, &forgetting_kind) ? 0 : begin(t);
        if (r < 0)
                return r;
        r = put_piece(l, t, b, &n);
        if (r < 0)
                return r;
        last = forgetting_of(t)->end == t->request->forget->n_revs;
        if (n == 0 && !(last && request_has_open_job(t)))
                return pass(l, t);
        request_when_committed(t, on_committed, !last);
        return request_prepare(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET));
}
