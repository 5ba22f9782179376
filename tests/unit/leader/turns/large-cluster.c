// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See large-cluster.h. Records are put into the log as they are, with a node each; what follows from that
// (orders, starts, reports) is as always.
#include "large-cluster.h"

#include "batch.h"
#include "ca.h"
#include "clock.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "printed.h"
#include "str.h"
#include "test.h"
#include "voter-secrets.h"

enum {
        RECORDS = 2000,       // in one entry
        HOSTS_PER_TURN = 200, // that have something to say
        STEP_MS = 50,
        SETTLED = 3, // turns in which nothing happened
};

LargeCluster large;
static Ca ca;
static VoterSecrets secrets;
static size_t next_host;

// ---- turns

static bool is_busy(const RigHost *h) {
        if (h->was_linked && !h->linked)
                return true;
        return h->up && !h->deaf &&
               (h->n_inbox > 0 || (!h->attached && h->rig->leader->leading) ||
                !list_is_empty(&h->virtual.changed) || !list_is_empty(&h->virtual.final_reports));
}

static bool turn_hosts(Rig *g) {
        unsigned n = 0;

        for (size_t i = 0; i < g->n_hosts && n < HOSTS_PER_TURN; i++) {
                RigHost *h = &g->hosts[next_host++ % g->n_hosts];

                if (is_busy(h)) {
                        (void) rig_host_turn(h);
                        n++;
                }
        }
        return n > 0;
}

void large_cluster_turns(unsigned most) {
        Rig *g = &large.rig;

        for (unsigned quiet = 0; quiet < SETTLED && most > 0; most--) {
                StoreMemberDone done = TAKE_PTR(g->member_done);
                bool busy = done;

                if (done)
                        done(0, g->member_data);
                rig_loop_turn(g);
                busy |= turn_hosts(g);
                busy |= rig_loop_is_busy(g);
                quiet = busy ? 0 : quiet + 1;
        }
}

void large_cluster_pass_ms(unsigned ms) {
        static unsigned step;
        Rig *g = &large.rig;

        for (; ms > 0; ms -= MIN_OF((unsigned) STEP_MS, ms)) {
                g->now_us += STEP_MS * USEC_PER_MSEC;
                step++;
                for (size_t i = step % (RIG_BEAT_MS / STEP_MS); i < g->n_hosts; i += RIG_BEAT_MS / STEP_MS) {
                        RigHost *h = &g->hosts[i];

                        if (h->up && h->attached && h->linked)
                                virtual_host_beat(&h->virtual, !h->deaf);
                }
                leader_on_time(g->leader);
                large_cluster_turns(20);
        }
}

void large_cluster_elect(void) {
        Rig *g = &large.rig;

        store_memory_lead(g->store, true);
        while (!g->led)
                rig_loop_turn(g);
        large_cluster_turns(UINT_MAX);
}

// ---- what is in it

static void put_role(Batch *b, const char *name) {
        Argosy__RoleRecord *role = BATCH_NEW(b, Argosy__RoleRecord, argosy__role_record__init);

        role->name = batch_own(b, strdup(name));
        role->weight = 1;
        batch_op(b, ARGOSY__LOG_OP__OP_ROLE)->role = role;
}

static void put_template(Batch *b, const char *name, const char *content) {
        Hash hash = batch_spec(b, content);

        (void) batch_unit_only(b, name, &hash, (UnitPut){.target = INACTIVE});
}

// Instances from `first` on, one after the other on all hosts.
static void put_instances(const char *prefix, const char *content, const char *set, size_t n) {
        Hash hash = hash_of(content, strlen(content));

        for (size_t i = 0; i < n;) {
                _cleanup_(batch_done) Batch b = {};

                for (unsigned k = 0; k < RECORDS && i < n; k++, i++) {
                        Argosy__UnitRecord *u = batch_unit_only(
                                &b, printed("%s@%zu.service", prefix, i + 1), &hash,
                                (UnitPut){.target = LAUNCHED, .node = 1 + i % large.n_hosts, .start = true});
                        u->from_template = true;
                        u->set = set ? batch_own(&b, strdup(set)) : u->set;
                }
                rig_propose(&large.rig, &b);
                large_cluster_turns(UINT_MAX);
        }
}

static void name_them(char **names, size_t n, const char *prefix) {
        for (size_t i = 0; i < n; i++)
                assert_non_null(names[i] = str_printf("%s@%zu.service", prefix, i + 1));
}

static void label_hosts(void) {
        for (size_t i = 0; i < large.n_hosts; i++) {
                RigHost *h = &large.rig.hosts[i];

                h->label = (Argosy__Label) MESSAGE_OF(label, .key = (char *) "zone", .value = (char *) "a");
                h->labels = &h->label;
                h->podman = "5.4";
                h->attached = false;
        }
        large_cluster_turns(UINT_MAX);
}

static void assert_all_is_up(void) {
        size_t n = 0;

        for (size_t i = 0; i < large.n_hosts; i++)
                n += large.rig.hosts[i].virtual.n_active;
        assert_int_equal(n, large.n_units + SET_UNITS + large.n_hosts);
        assert_int_equal(large.rig.leader->n_pending, 0);
}

void large_cluster_make(unsigned n_hosts, unsigned n_units) {
        _cleanup_(batch_done) Batch b = {};

        large.n_hosts = n_hosts;
        large.n_units = n_units;
        rig_start_many(&large.rig, n_hosts);
        assert_int_equal(ca_create(&ca), 0);
        rig_give_ca(&large.rig, &ca, &secrets);
        rig_give_secrets_key(&large.rig, &secrets, 1);
        label_hosts();
        name_them(large.big, NAMES_MAX, "big");
        name_them(large.part, SET_UNITS, "part");
        name_them(large.fresh, NAMES_MAX, "new");
        put_role(&b, "crew");
        put_template(&b, "big@.service", BIG);
        put_template(&b, "part@.service", SLEEPS);
        Hash hash = batch_spec(&b, SLEEPS "[X-Argosy]\nGlobal=yes\n");
        (void) batch_unit_only(&b, "all.service", &hash,
                               (UnitPut){.target = LAUNCHED, .global = true, .start = true});
        rig_propose(&large.rig, &b);
        large_cluster_turns(UINT_MAX);
        put_instances("big", BIG, NULL, n_units);
        put_instances("part", SLEEPS, "folder", SET_UNITS);
        assert_all_is_up();
}
