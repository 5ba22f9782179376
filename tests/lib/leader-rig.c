// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The leader's surroundings: the log, clocks and turns. Hosts are in leader-rig-host.c, requests of a test
// in leader-rig-requests.c, what must be so after turns in leader-rig-counts.c.
#include "leader-rig-private.h"

#include "batch.h"
#include "buf.h"
#include "ca.h"
#include "feature-level.h"
#include "host-clocks.h"
#include "leader-private.h"
#include "message.h"
#include "secret-box.h"
#include "turn.h"
#include "test.h"
#include "voter-secrets.h"

// ------------------------------------------------------------------------------------------------ the log

// A later unit of that name is another one.
static void give_up_the_destroyed(Rig *g) {
        for (size_t i = 0; i < g->n_hosts; i++)
                map_foreach (slot, &g->hosts[i].virtual.units) {
                        VirtualUnit *u = slot->value;

                        u->given_up |= !cluster_state_find_unit(g->state, u->name);
                }
}

static int on_apply(uint64_t index, const uint8_t *data, size_t len, void *userdata) {
        Rig *g = userdata;
        Argosy__LogBatch *batch = argosy__log_batch__unpack(NULL, len, data);

        assert_non_null(batch);
        assert_int_equal(cluster_state_apply(g->state, batch), 0);
        message_free(batch);
        g->batches++;
        if (!g->unchecked)
                give_up_the_destroyed(g);
        g->entry = data;
        g->entry_len = len;
        g->entry_index = index;
        if (g->on_entry)
                g->on_entry(g);
        g->entry = NULL;
        if (g->leader)
                leader_on_applied(g->leader, index);
        return 0;
}

static int on_restore(const uint8_t *data, size_t len, void *userdata) {
        Rig *g = userdata;
        int r = cluster_state_restore(g->state, data, len);

        if (r == 0 && g->leader)
                leader_on_restored(g->leader);
        return r;
}

static void on_role(StoreRole role, StoreLeader leader, void *userdata) {
        Rig *g = userdata;

        if (role == STORE_LEADER && !g->led)
                g->led_since_us = g->now_us;
        g->led = role == STORE_LEADER;
        g->term = leader.term;
        if (g->leader && !g->recovers)
                (void) leader_set_leading(g->leader, g->led, leader.term);
}

static void on_authority(void *userdata) {
        Rig *g = userdata;

        if (g->leader)
                leader_on_authority(g->leader);
}

static uint64_t authority_until(void *userdata) {
        return store_authority_until(((Rig *) userdata)->store);
}

static void on_fatal(const char *why, void *userdata) {
        fail_msg("%s", why);
}

static const StoreOps store_ops = {.apply = on_apply,
                                   .restore = on_restore,
                                   .role = on_role,
                                   .authority = on_authority,
                                   .fatal = on_fatal};

// -------------------------------------------------------------------------------- the leader's surroundings

static uint64_t now_us(void *userdata) {
        return ((Rig *) userdata)->now_us;
}

// It asks at the beginning of a turn and at its end.
static uint64_t cpu_us(void *userdata) {
        Rig *g = userdata;

        g->cpu_us += g->turn_us;
        return g->measured ? clock_thread_ns() / 1000 : g->cpu_us;
}

static uint64_t wall_us(void *userdata) {
        const Rig *g = userdata;

        return g->wall_us + (uint64_t) g->hosts[0].clock_ahead_us;
}

static int to_host(uint32_t host, const Argosy__ToHost *message, void *userdata) {
        RigHost *h = rig_host(userdata, host);

        if (!h->linked)
                return -ENOTCONN;
        if (h->rig->frame_max && argosy__to_host__get_packed_size(message) > h->rig->frame_max)
                return -EMSGSIZE;
        if (h->rig->on_host_message)
                h->rig->on_host_message(h->rig, host, message);
        h->inbox = realloc(h->inbox, (h->n_inbox + 1) * sizeof(*h->inbox));
        h->inbox[h->n_inbox++] = message_copy(message);
        return 0;
}

void rig_host_clear_inbox(RigHost *h) {
        for (size_t i = 0; i < h->n_inbox; i++)
                message_free(h->inbox[i]);
        h->n_inbox = 0;
}

static void drop_host(uint32_t host, void *userdata) {
        rig_host(userdata, host)->linked = false; // the leader hears of it in rig_settle()
}

static bool host_is_full(uint32_t host, void *userdata) {
        return rig_host(userdata, host)->full;
}

void rig_host_drain(Rig *g, uint32_t host) {
        rig_host(g, host)->full = false;
        leader_on_host_drained(g->leader, host);
        rig_settle(g);
}

static const struct VoterSecrets *secrets_of(void *userdata) {
        static const VoterSecrets none;

        return ((Rig *) userdata)->secrets ?: &none;
}

static int member_add(uint32_t raft_id, StoreMemberDone done, void *data, void *userdata) {
        Rig *g = userdata;

        g->members[g->n_members++] = (StoreMember){.raft_id = raft_id, .voter = true};
        g->member_done = done;
        g->member_data = data;
        return 0;
}

static int member_remove(uint32_t raft_id, StoreMemberDone done, void *data, void *userdata) {
        Rig *g = userdata;

        for (size_t i = 0; i < g->n_members; i++)
                if (g->members[i].raft_id == raft_id)
                        g->members[i] = g->members[--g->n_members];
        g->member_done = done;
        g->member_data = data;
        return 0;
}

static int transfer(uint32_t raft_id, StoreMemberDone done, void *data, void *userdata) {
        ((Rig *) userdata)->transferred++;
        return -EBUSY;
}

static struct RigHeld *hold(Rig *g, StoreDone done, void *done_data) {
        struct RigHeld *held = &g->held[g->n_held++];

        assert_true(g->n_held <= ELEMENTSOF(g->held));
        *held = (struct RigHeld){.done = done, .data = done_data};
        return held;
}

void rig_release(Rig *g) {
        for (size_t i = 0; i < g->n_held; i++) {
                struct RigHeld *held = &g->held[i];
                int r = held->barrier ? store_barrier(g->store, held->done, held->data)
                                      : store_submit(g->store, held->batch.data, held->batch.len, held->done,
                                                     held->data);

                assert_int_equal(r, 0);
                buf_done(&held->batch);
        }
        g->n_held = 0;
}

static int submit(const void *data, size_t len, StoreDone done, void *done_data, void *userdata) {
        Rig *g = userdata;

        if (g->batch_max && len > g->batch_max)
                return -E2BIG;
        if (g->on_submit)
                g->on_submit(g);
        if (g->slow)
                return buf_append(&hold(g, done, done_data)->batch, data, len);
        return store_submit(((Rig *) userdata)->store, data, len, done, done_data);
}

static int barrier(StoreDone done, void *done_data, void *userdata) {
        Rig *g = userdata;

        if (g->slow) {
                hold(g, done, done_data)->barrier = true;
                return 0;
        }
        return store_barrier(((Rig *) userdata)->store, done, done_data);
}

// Whether the host that runs this member is up. One that no host opened answers always.
static bool rig_votes(const Rig *g, uint32_t raft_id) {
        for (size_t i = 0; i < g->n_hosts; i++)
                if (g->hosts[i].raft_id == raft_id)
                        return g->hosts[i].up;
        return true;
}

static void stats(StoreStats *ret, void *userdata) {
        Rig *g = userdata;

        store_stats(g->store, ret);
        ret->n_members = g->n_members;
        memcpy(ret->members, g->members, sizeof(g->members));
        for (size_t i = 0; i < g->n_members; i++) {
                StoreMember *m = &ret->members[i];

                m->answers = rig_votes(g, m->raft_id) && m->raft_id != g->members_silent;
                m->caught_up = m->answers && !g->lags;
                m->silent_ms = m->answers ? 0 : UINT64_MAX;
        }
}

// Hosts look for themselves whether it leads.
static void leads(void *userdata) {
}

static const LeaderOps leader_ops = {
        .to_host = to_host,
        .host_is_full = host_is_full,
        .drop_host = drop_host,
        .secrets = secrets_of,
        .member_add = member_add,
        .member_remove = member_remove,
        .transfer = transfer,
        .submit = submit,
        .barrier = barrier,
        .stats = stats,
        .authority_until = authority_until,
        .leads = leads,
};

static size_t n_in_pool(const Leader *l) {
        return l->searching + l->n_retired;
}

bool rig_loop_is_busy(Rig *g) {
        size_t n_held = g->pool_held ? n_in_pool(g->leader) : 0;

        return g->leader->drain.marked || g->leader->n_outside > n_held;
}

void rig_loop_turn(Rig *g) {
        uv_run(&g->loop, n_in_pool(g->leader) > 0 && !g->pool_held ? UV_RUN_ONCE : UV_RUN_NOWAIT);
}

bool rig_turn(Rig *g) {
        StoreMemberDone done = TAKE_PTR(g->member_done);
        bool busy = done;

        if (done)
                done(0, g->member_data);
        rig_give_up_the_lost(g);
        if (g->on_turn_begin)
                g->on_turn_begin(g);
        rig_loop_turn(g);
        rig_give_up_the_lost(g);
        for (size_t i = 0; i < g->n_hosts; i++)
                busy |= rig_host_turn(&g->hosts[i]);
        if (g->on_turn)
                g->on_turn(g);
        g->inspects = true;
        if (g->leader->leading && !g->unchecked)
                rig_assert_hosts(g->leader);
        g->inspects = false;
        return busy || rig_loop_is_busy(g);
}

void rig_turns(Rig *g, unsigned n) {
        while (n-- > 0)
                (void) rig_turn(g);
}

void rig_hurry(Rig *g) {
        g->slow = false;
        rig_release(g);
}

// Whether another turn has nothing to do. With `all_due` each step is called. The leader's timer goes by the
// loop's own clock: it may run out in that turn, before it or, with libuv 1.45 and newer, behind it.
static bool is_idle_in_turn(Rig *g, bool all_due) {
        uint64_t timer_due_us = g->leader->timer_due_us;

        g->leader->all_due = all_due;
        leader_mark(g->leader);
        rig_loop_turn(g);
        g->leader->all_due = false;
        return !rig_loop_is_busy(g) || (timer_due_us > 0 && g->leader->timer_due_us == 0);
}

// The tables of steps say all of when each has work. What looks in each turn, as a rotation of keys, does so
// in either of these two.
static void assert_no_step_is_missed(Rig *g) {
        if (is_idle_in_turn(g, false))
                assert_true(is_idle_in_turn(g, true));
}

void rig_settle(Rig *g) {
        for (unsigned quiet = 0, turns = 0; quiet < 3; turns++) {
                assert_true(turns < 20000);
                quiet = rig_turn(g) ? 0 : quiet + 1;
        }
        g->inspects = true;
        if (g->led && !g->unchecked) {
                rig_assert_counts(g);
                if (g->steps_checked)
                        assert_no_step_is_missed(g);
        }
        g->inspects = false;
}

void rig_host_off_for(Rig *g, uint32_t host, unsigned ms) {
        rig_host_off(g, host);
        rig_pass_ms(g, ms);
}

void rig_set_lazy(Rig *g, bool lazy) {
        for (size_t i = 0; i < g->n_hosts; i++)
                g->hosts[i].lazy = lazy;
        if (!lazy)
                rig_settle(g);
}

void rig_set_deaf(Rig *g, bool deaf) {
        for (size_t i = 0; i < g->n_hosts; i++)
                g->hosts[i].deaf = deaf;
        if (!deaf)
                rig_settle(g);
}

void rig_set_wall(Rig *g, uint64_t wall_us) {
        g->wall_us = wall_us;
        for (size_t i = 0; i < g->n_hosts; i++) {
                Host *h = host_find(g->leader, g->hosts[i].number);

                if (h && h->attached)
                        host_clock_say(g->leader, h, wall_us + (uint64_t) g->hosts[i].clock_ahead_us, false);
        }
}

void rig_age(Rig *g, uint64_t us) {
        g->leader->log_from_us -= us;
        rig_set_wall(g, g->wall_us + us);
}

void rig_pass_ms(Rig *g, unsigned ms) {
        for (unsigned step = MAX_OF(g->beat_ms / 4, 1u); ms > 0; ms -= MIN_OF(step, ms)) {
                g->now_us += MIN_OF(step, ms) * USEC_PER_MSEC;
                g->wall_us += MIN_OF(step, ms) * USEC_PER_MSEC;
                for (size_t i = 0; i < g->n_hosts; i++) {
                        RigHost *h = &g->hosts[i];

                        if (h->up)
                                virtual_host_end_due(&h->virtual);
                        if (h->up && h->attached && h->linked)
                                virtual_host_beat(&h->virtual, !h->deaf);
                }
                leader_on_time(g->leader);
                rig_settle(g);
        }
}

void rig_depose(Rig *g) {
        store_memory_lead(g->store, false);
        while (g->led)
                uv_run(&g->loop, UV_RUN_NOWAIT);
        for (size_t i = 0; i < g->n_hosts; i++) {
                rig_host_clear_inbox(&g->hosts[i]);
                rig_host_clear_outbox(&g->hosts[i]);
                g->hosts[i].attached = g->hosts[i].virtual.welcomed = false;
        }
}

static void ignore_outcome(StoreOutcome outcome, uint64_t index, void *userdata) {
}

static void put_without_word(Rig *g, const Buf *packed) {
        unsigned before = g->batches;

        assert_int_equal(store_submit(g->store, packed->data, packed->len, ignore_outcome, g), 0);
        while (g->batches == before)
                uv_run(&g->loop, UV_RUN_NOWAIT);
}

static void end_unknown(struct RigHeld *held, size_t n) {
        for (size_t i = 0; i < n; i++) {
                held[i].done(STORE_UNKNOWN, 0, held[i].data);
                buf_done(&held[i].batch);
        }
}

void rig_depose_unknown(Rig *g, bool kept) {
        struct RigHeld held[ELEMENTSOF(g->held)];
        size_t n = g->n_held;

        memcpy(held, g->held, sizeof(held));
        g->n_held = 0;
        g->slow = true; // it gives the log no more, while it hears of the entry
        for (size_t i = 0; i < n; i++)
                if (kept && !held[i].barrier)
                        put_without_word(g, &held[i].batch);
        rig_depose(g);
        g->slow = false;
        end_unknown(held, n);
        n = g->n_held; // before it heard that it leads no more
        memcpy(held, g->held, sizeof(held));
        g->n_held = 0;
        end_unknown(held, n);
}

void rig_elect(Rig *g) {
        store_memory_lead(g->store, true);
        while (!g->led)
                uv_run(&g->loop, UV_RUN_NOWAIT);
        rig_settle(g);
}

void rig_elect_anew(Rig *g) {
        rig_depose(g);
        rig_elect(g);
}

// ------------------------------------------------------------------------------------------ and all settles

void rig_hurry_and_settle(Rig *g) {
        rig_hurry(g);
        rig_settle(g);
}

void rig_host_report_and_settle(Rig *g, RigHost *h, VirtualUnit *u, Argosy__ActiveState active,
                                Argosy__Outcome__Kind outcome) {
        rig_host_report(g, h, u, active, outcome);
        rig_settle(g);
}

// ------------------------------------------------------------------------------------------------ life

void rig_propose(Rig *g, Batch *b) {
        Buf packed = {};

        assert_non_null(buf_reserve(&packed, argosy__log_batch__get_packed_size(&b->log)));
        packed.len = argosy__log_batch__pack(&b->log, packed.data);
        put_without_word(g, &packed);
        buf_done(&packed);
}

static void put_host(Rig *g, Batch *b, uint32_t feature_level) {
        Argosy__HostRecord *record;
        char name[32];

        snprintf(name, sizeof(name), "n%zu", g->n_hosts + 1);
        record = batch_host(b, 0, name, 1);
        record->port = 7070;
        if (g->n_hosts == 0) {
                record->role = ARGOSY__HOST_ROLE__ROLE_VOTER;
                record->raft_id = 1;
        }
        rig_add_host(g, true, feature_level);
}

static void propose_hosts(Rig *g, size_t n, uint32_t feature_level) {
        enum { PER_ENTRY = 1000 };

        while (g->n_hosts < n) {
                _cleanup_(batch_done) Batch b = {};

                for (unsigned i = 0; i < PER_ENTRY && g->n_hosts < n; i++)
                        put_host(g, &b, feature_level);
                rig_propose(g, &b);
        }
}

void rig_start_with(Rig *g, RigSetup setup) {
        unsigned lease_ms = setup.lease_ms ?: RIG_LEASE_MS;
        uint32_t feature_level = setup.feature_level ?: FEATURE_LEVEL;
        LeaderConfig config = {.loop = &g->loop,
                               .self = 1,
                               .lease_ms = lease_ms,
                               .mass_loss_percent = setup.mass_loss_percent ?: 100,
                               .limits = setup.limits,
                               .events_bytes = setup.events_bytes,
                               .beat_ms = lease_ms / 4,
                               .now_us = now_us,
                               .cpu_us = cpu_us,
                               .wall_us = wall_us};
        _cleanup_(batch_done) Batch b = {};
        Argosy__LogOp *op;

        *g = (Rig){.now_us = 1000 * USEC_PER_SEC,
                   .cpu_us = 1,
                   .wall_us = 1700000000 * USEC_PER_SEC,
                   .unchecked = setup.unchecked};
        g->lease_ms = lease_ms;
        g->beat_ms = lease_ms / 4;
        g->hosts = calloc(RIG_HOSTS_MAX, sizeof(*g->hosts));
        assert_non_null(g->hosts);
        assert_int_equal(uv_loop_init(&g->loop), 0);
        g->state = cluster_state_new();
        config.state = g->state;
        config.accounts = g->accounts = accounts_new(&account_limits);
        assert_non_null(g->accounts);
        assert_int_equal(store_open_memory(&g->loop, &store_ops, g, &g->store), 0);
        while (!g->led)
                uv_run(&g->loop, UV_RUN_NOWAIT);
        op = batch_op(&b, ARGOSY__LOG_OP__OP_CLUSTER);
        op->cluster = BATCH_NEW(&b, Argosy__ClusterRecord, argosy__cluster_record__init);
        op->cluster->generation = 1;
        op->cluster->voters_wanted = 3;
        op->cluster->lease_ms = lease_ms;
        op->cluster->feature_level = feature_level;
        rig_propose(g, &b);
        propose_hosts(g, setup.n_hosts, feature_level);
        g->hosts[0].opened = 1;
        g->members[g->n_members++] = (StoreMember){.raft_id = 1, .voter = true};
        assert_int_equal(leader_new(&config, &leader_ops, g, &g->leader), 0);
        (void) leader_set_leading(g->leader, true, 1);
        rig_settle(g);
}

void rig_start_at(Rig *g, size_t n_hosts, uint32_t feature_level) {
        rig_start_with(g, (RigSetup){.n_hosts = n_hosts, .feature_level = feature_level});
}

void rig_start(Rig *g, size_t n_hosts) {
        rig_start_with(g, (RigSetup){.n_hosts = n_hosts});
        g->steps_checked = true;
}

void rig_start_many(Rig *g, size_t n_hosts) {
        rig_start_with(g, (RigSetup){.n_hosts = n_hosts, .unchecked = true});
}

void rig_give_ca(Rig *g, const Ca *ca, VoterSecrets *secrets) {
        _cleanup_(batch_done) Batch b = {};
        Argosy__VoterSecretRecord key = ARGOSY__VOTER_SECRET_RECORD__INIT, *keys = &key;
        Argosy__CaRecord record = ARGOSY__CA_RECORD__INIT;
        Argosy__ClusterRecord next = *cluster_state_cluster(g->state);
        uint32_t kept_by[STORE_MEMBERS_MAX];

        assert_int_equal(voter_secrets_put(secrets, VOTER_SECRET_CA, 1, ca->key.data, ca->key.len), 0);
        g->secrets = secrets;
        record.cert = (ProtobufCBinaryData){ca->cert.len, ca->cert.data};
        record.number = key.number = 1;
        key.name = (char *) VOTER_SECRET_CA;
        key.fingerprint = (ProtobufCBinaryData){HASH_SIZE, secrets->list[secrets->n - 1].fingerprint.bytes};
        for (size_t i = 0; i < g->n_members; i++)
                kept_by[key.n_kept_by++] = g->members[i].raft_id;
        key.kept_by = kept_by;
        next.ca = &record;
        next.voter_secrets = &keys;
        next.n_voter_secrets = 1;
        batch_op(&b, ARGOSY__LOG_OP__OP_CLUSTER)->cluster = &next;
        rig_propose(g, &b);
        rig_settle(g);
}

void rig_give_secrets_key(Rig *g, VoterSecrets *secrets, uint32_t number) {
        _cleanup_(batch_done) Batch b = {};
        Argosy__ClusterRecord next = *cluster_state_cluster(g->state);
        Argosy__VoterSecretRecord key = ARGOSY__VOTER_SECRET_RECORD__INIT, *keys[VOTER_SECRETS_MAX];
        uint32_t kept_by[STORE_MEMBERS_MAX];
        uint8_t value[SECRET_KEY_SIZE];

        memset(value, (int) number, sizeof(value));
        assert_int_equal(voter_secrets_put(secrets, VOTER_SECRET_SECRETS, number, value, sizeof(value)), 0);
        g->secrets = secrets;
        key.name = (char *) VOTER_SECRET_SECRETS;
        key.number = number;
        key.fingerprint = (ProtobufCBinaryData){HASH_SIZE, secrets->list[secrets->n - 1].fingerprint.bytes};
        for (size_t i = 0; i < g->n_members; i++)
                kept_by[key.n_kept_by++] = g->members[i].raft_id;
        key.kept_by = kept_by;
        if (next.n_voter_secrets > 0)
                memcpy(keys, next.voter_secrets, next.n_voter_secrets * sizeof(*keys));
        keys[next.n_voter_secrets++] = &key;
        next.voter_secrets = keys;
        batch_op(&b, ARGOSY__LOG_OP__OP_CLUSTER)->cluster = &next;
        rig_propose(g, &b);
        rig_settle(g);
}

static void on_leader_closed(void *userdata) {
        ((Rig *) userdata)->leader = NULL;
}

static void on_store_closed(void *userdata) {
        ((Rig *) userdata)->store = NULL;
}

void rig_stop(Rig *g) {
        rig_settle(g);
        store_close(g->store, on_store_closed, g);
        while (g->store)
                uv_run(&g->loop, UV_RUN_ONCE);
        leader_close(g->leader, on_leader_closed, g);
        if (g->on_closing)
                g->on_closing(g);
        while (g->leader)
                uv_run(&g->loop, UV_RUN_ONCE);
        rig_free_answers();
        for (size_t i = 0; i < g->n_hosts; i++) {
                RigHost *h = &g->hosts[i];

                virtual_host_done(&h->virtual);
                buf_done(&h->renewed);
                rig_host_clear_inbox(h);
                rig_host_clear_outbox(h);
                free(h->inbox);
                free(h->outbox);
        }
        free(g->hosts);
        g->hosts = NULL;
        g->n_hosts = 0;
        cluster_state_free(g->state);
        assert_int_equal(uv_loop_close(&g->loop), 0);
        accounts_free(g->accounts); // which sees that nobody has anything any more
}
