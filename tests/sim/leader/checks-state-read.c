// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of what a state knows besides its records: counts, lists by node, set and content, jobs by revision
// and by unit. It is kept up to date from entry to entry; a state that was made from an image has it from
// the records alone. So when all is calm both are asked for all of it.
//
//      state_read()       one line of text for each answer
//
// Left out: what an image does not have on purpose (what is to be handed out as dirty, and when
// something changed last), and memory.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "checks-private.h"
#include "message.h"
#include "test.h"

#define add(b, format, ...) assert_int_equal(buf_printf(b, format "\n", __VA_ARGS__), 0)

static void read_counts(Buf *b, const ClusterState *s) {
        AccessTime now = {.wall_us = cluster_state_time_us(s), .counted_us = cluster_state_counted_us(s)};
        size_t n_stored;

        (void) cluster_state_stored_requests(s, &n_stored);
        add(b, "revision %" PRIu64 ", level %u, raft id %u", cluster_state_revision(s),
            cluster_state_feature_level(s), cluster_state_next_raft_id(s));
        add(b, "units %zu, hosts %zu, tombstones %zu, tokens %zu, open %zu, requests %zu",
            cluster_state_n_units(s), cluster_state_n_hosts(s), cluster_state_n_tombstones(s),
            cluster_state_n_tokens(s), cluster_state_n_tokens_open(s, now), n_stored);
        add(b, "files %zu, former %zu, jobs %zu, secrets %zu", cluster_state_files_bytes(s),
            cluster_state_former_specs_bytes(s), cluster_state_jobs_bytes(s),
            cluster_state_secrets_bytes(s));
        add(b, "limits %zu %zu %zu %zu", cluster_state_history_bytes(s), cluster_state_file_limit(s),
            cluster_state_unit_files_limit(s), cluster_state_files_limit(s));
        add(b, "jobs %" PRIu64 " to %" PRIu64 ", complete from %" PRIu64 ", undo from %" PRIu64,
            cluster_state_first_job(s), cluster_state_last_job(s), cluster_state_jobs_complete_from(s),
            cluster_state_undo_from(s));
        add(b, "times %" PRIu64 " %" PRIu64 ", keys %d", cluster_state_time_us(s),
            cluster_state_counted_us(s), cluster_state_takes_open_keys(s, 1));
}

static void read_list(Buf *b, const char *what, const char *of, const ListNode *list, size_t n) {
        size_t found = 0;

        for (const ListNode *i = list ? list->next : NULL; i && i != list; i = i->next)
                found++;
        add(b, "%s %s: %zu counted, %zu there", what, of, n, found);
}

static void read_unit(Buf *b, const ClusterState *s, const UnitEntry *e) {
        const Argosy__UnitRecord *r = e->record;
        const Map *set = *r->set ? cluster_state_units_of_set(s, r->set) : NULL;

        add(b, "unit %s: job %" PRIu64 ", set of %zu, content of %zu, changed %" PRIu64 ", files %d %zu",
            r->name, cluster_state_find_job_of(s, r->name, r->revision), set ? set->count : 0,
            e->spec->users, cluster_state_spec_revision(s, e->spec), cluster_state_has_files_of(s, e->spec),
            cluster_state_files_bytes_to_come(s, e->spec));
}

static void read_host(Buf *b, const ClusterState *s, const Argosy__HostRecord *h) {
        OwnJob lost, back;
        bool was_lost = cluster_state_last_own_job(s, ARGOSY__OWN_CAUSE__OWN_LOST, h->host, &lost),
             was_back = cluster_state_last_own_job(s, ARGOSY__OWN_CAUSE__OWN_BACK, h->host, &back);

        add(b, "host %u: lost %d by %" PRIu64 ", back by %" PRIu64 ", retired %d", h->host,
            cluster_state_host_was_lost(s, h->host), was_lost ? lost.number : 0, was_back ? back.number : 0,
            cluster_state_raft_id_is_retired(s, h->raft_id));
        for (size_t i = 0; i < h->n_nodes; i++) {
                size_t n = 0;
                const ListNode *units = cluster_state_units_on(s, h->nodes[i]->node, &n);

                read_list(b, "units on", h->nodes[i]->manager, units, n);
                read_list(b, "tombstones on", h->nodes[i]->manager,
                          cluster_state_tombstones_on(s, h->nodes[i]->node), 0);
        }
}

static void read_jobs(Buf *b, const ClusterState *s) {
        uint64_t late[64], first = cluster_state_job_after(s, 0);
        size_t n = cluster_state_late_jobs(s, 0, UINT64_MAX, late, 64);

        for (uint64_t i = first; i > 0; i = cluster_state_job_after(s, i))
                add(b,
                    "job %" PRIu64 ": state %d, revision %" PRIu64
                    ", takes %d, partial %d, dropped %d, before %" PRIu64,
                    i, (int) cluster_state_job_state(s, i), cluster_state_job_revision(s, i),
                    cluster_state_job_takes_units(s, i), cluster_state_job_is_partial(s, i),
                    cluster_state_job_is_dropped(s, i), cluster_state_job_before(s, i));
        for (size_t i = 0; i < n; i++)
                add(b, "late %" PRIu64, late[i]);
        for (uint64_t i = 0; i < 8; i++) {
                uint64_t revision = cluster_state_revision(s) * i / 8;

                add(b, "before %" PRIu64 ": job %" PRIu64 ", %zu late", revision,
                    cluster_state_job_begun_before(s, revision),
                    cluster_state_late_jobs(s, revision, UINT64_MAX, late, 64));
        }
}

static void read_keys(Buf *b, const ClusterState *s) {
        enum { BACK_MAX = 256 };

        for (size_t i = asks.n_asked; i > 0 && i + BACK_MAX > asks.n_asked; i--) {
                const uint8_t *id = log_request_id(asks.asked[i - 1].request);
                RequestKey key = {};

                if (id)
                        add(b, "request %zu: known %d, job %" PRIu64, i, cluster_state_find_key(s, id, &key),
                            key.job);
        }
}

char *state_read(const ClusterState *s) {
        size_t n = 0;
        const ListNode *globals = cluster_state_global_units(s, &n);
        Buf b = {};

        read_counts(&b, s);
        read_list(&b, "units", "on all nodes", globals, n);
        cluster_state_foreach_unit(e, s)
                read_unit(&b, s, e);
        for (const Argosy__HostRecord *h = cluster_state_next_host(s, 0); h;
             h = cluster_state_next_host(s, h->host))
                read_host(&b, s, h);
        read_jobs(&b, s);
        read_keys(&b, s);
        return buf_take_string(&b);
}
