// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Somebody has put a password into a unit file, has changed it, and wants it to be nowhere. Jobs that name such a
// content keep its hash and nothing else.
//
// What a unit has now is not erased, and the answer says so, also of what somebody takes into use in the same entry.
// What is not kept any more counts as erased, unless that goes for all.

#include "forget-request.h"

#include <errno.h>
#include <stdlib.h>

#include "batch-builder.h"
#include "response.h"
#include "str.h"
#include "tickets.h"

static int refuse(Ticket *t, int status, const char *why) {
        ticket_settle(t, response_error(status, "%s", why));
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

// The log has it.
static void on_committed(Leader *l, Ticket *t) {
        const Argosy__Request__Forget *m = t->request->forget;
        size_t n = 0;

        for (size_t i = 0; i < m->n_revs; i++) {
                bool known;
                Hash hash;

                (void) is_former(l, m->revs[i], &hash, &known);
                n += known;
        }
        if (n > 0 && t->response)
                (void) field_printf(&t->response->message, "%zu of %zu are not erased: units have them now",
                                    n, m->n_revs);
}

int forget_plan(Leader *l, Ticket *t, BatchBuilder *b) {
        const Argosy__Request__Forget *m = t->request->forget;
        _cleanup_free_ Hash *hashes = calloc(m->n_revs + 1, sizeof(*hashes));
        _cleanup_free_ ProtobufCBinaryData *fields = calloc(m->n_revs + 1, sizeof(*fields));
        size_t n = 0, n_used = 0;
        int r;

        if (!hashes || !fields)
                return -ENOMEM;
        if (m->n_revs > FORGET_MAX)
                return refuse(t, E2BIG, "so many contents are not erased at once");
        for (size_t i = 0; i < m->n_revs; i++) {
                bool known;

                if (is_former(l, m->revs[i], &hashes[n], &known)) {
                        fields[n] = (ProtobufCBinaryData){HASH_SIZE, hashes[n].bytes};
                        n++;
                } else
                        n_used += known;
        }
        if (n == 0 && n_used > 0)
                return refuse(t, EBUSY, "units have that now: nothing was erased");
        if (n == 0)
                return refuse(t, ENOENT, "nothing of that is kept");
        r = batch_builder_forget_specs(b, fields, n);
        if (r < 0)
                return r;
        message_free(t->response);
        t->response = response_new(ARGOSY__RESPONSE__WHAT__NOT_SET);
        t->committed = on_committed;
        return t->response ? 1 : -ENOMEM;
}
