// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The hosts of a rig: virtual ones, whose messages go from hand to hand, with what tests may do to them:
// switch them off, make them deaf, have them refuse names, cut their links. What they open of a log is a
// number.
#include "leader-rig-private.h"

#include "leader-private.h"
#include "message.h"
#include "test.h"

RigHost *rig_host(Rig *g, uint32_t host) {
        assert_in_range(host, 1, g->n_hosts);
        return &g->hosts[host - 1];
}

// --------------------------------------------------------------------------------- what a host is driven by

static uint64_t now_us(void *userdata) {
        return ((RigHost *) userdata)->rig->now_us;
}

// No two states of one rig are of the same time.
static uint64_t wall_us(void *userdata) {
        Rig *g = ((RigHost *) userdata)->rig;

        return g->wall_us + ++g->n_states;
}

uint64_t rig_host_clock(const RigHost *h, uint64_t us) {
        return h->rig->timed ? us / USEC_PER_MSEC + h->number * UINT64_C(1000000) : 0;
}

static uint64_t reported_ms(uint64_t at_us, void *userdata) {
        return rig_host_clock(userdata, at_us);
}

static void hand_over(RigHost *h, Argosy__ToVoter *m) {
        Argosy__ToVoter *unpacked = message_copy(m); // what is in it may be taken

        assert_non_null(unpacked);
        if (h->rig->on_voter_message)
                h->rig->on_voter_message(h->rig, h->number, m);
        leader_on_message(h->rig->leader, h->number, unpacked);
        message_free(unpacked);
}

static int send_to_leader(Argosy__ToVoter *m, void *userdata) {
        RigHost *h = userdata;

        if (!h->delayed && h->n_outbox == 0) {
                hand_over(h, m);
                return 0;
        }
        h->attaches |= m->msg_case == ARGOSY__TO_VOTER__MSG_ATTACH;
        h->outbox = realloc(h->outbox, (h->n_outbox + 1) * sizeof(*h->outbox));
        h->outbox[h->n_outbox++] = message_copy(m);
        return 0;
}

void rig_host_clear_outbox(RigHost *h) {
        for (size_t i = 0; i < h->n_outbox; i++)
                message_free(h->outbox[i]);
        h->n_outbox = 0;
        h->attaches = false;
}

// What was on its way comes, in its order. What the leader has sent until it hears of an Attach is about the
// session before.
static size_t end_delay(RigHost *h) {
        Argosy__ToVoter **outbox = h->outbox;
        size_t n = h->n_outbox, n_stale = 0;

        h->outbox = NULL;
        h->n_outbox = 0;
        h->attaches = false;
        for (size_t i = 0; i < n; i++) {
                if (outbox[i]->msg_case == ARGOSY__TO_VOTER__MSG_ATTACH)
                        n_stale = h->n_inbox;
                hand_over(h, outbox[i]);
                message_free(outbox[i]);
        }
        free(outbox);
        return n_stale;
}

void rig_host_send(RigHost *h, Argosy__ToVoter__MsgCase what, void *message) {
        Argosy__ToVoter m = ARGOSY__TO_VOTER__INIT;

        m.msg_case = what;
        m.hello = message;
        (void) send_to_leader(&m, h);
}

static uint64_t clock_us(void *userdata) {
        const RigHost *h = userdata;

        return h->rig->wall_us + (uint64_t) h->clock_ahead_us;
}

static void add_podman(Argosy__ToVoter__Attach *m, RigHost *h) {
        size_t n = 0;

        for (size_t i = 0; i < m->n_labels && n + 1 < ELEMENTSOF(h->with_podman); i++)
                if (strcmp(m->labels[i]->key, "podman") != 0)
                        h->with_podman[n++] = m->labels[i];
        argosy__label__init(&h->podman_label);
        h->podman_label.key = (char *) "podman";
        h->podman_label.value = (char *) h->podman;
        h->with_podman[n++] = &h->podman_label;
        m->labels = h->with_podman;
        m->n_labels = n;
}

static void attaching(Argosy__ToVoter__Attach *m, void *userdata) {
        RigHost *h = userdata;
        const Argosy__HostRecord *record = cluster_state_find_host(h->rig->state, h->number);

        m->name = h->name ? (char *) h->name : record->name;
        m->address = record->address;
        m->address_name = (char *) (h->address_name ?: "");
        m->port = record->port;
        m->labels = h->labels ? &h->labels : record->own_labels;
        m->n_labels = h->labels ? 1 : record->n_own_labels;
        if (h->many_labels) {
                m->labels = h->many_labels;
                m->n_labels = h->n_many_labels;
        }
        if (h->podman)
                add_podman(m, h);
        h->managers[0] = "system";
        h->managers[1] = (char *) h->virtual.manager;
        m->cpu_milli = h->cpu_milli;
        m->memory_mib = h->memory_mib;
        m->managers = h->managers;
        m->n_managers = h->virtual.manager ? 2 : 1;
        if (h->virtual.manager && h->reason) {
                argosy__node_report__init(&h->report);
                h->report.manager = (char *) h->virtual.manager;
                h->report.reason = (char *) h->reason;
                h->reports = &h->report;
                m->nodes = &h->reports;
                m->n_nodes = 1;
        }
}

static const char *image(const char *name, const char **ret_why, bool *ret_here, void *userdata) {
        static char digest[7 + HASH_HEX_SIZE];
        const RigHost *h = userdata;
        Hash hash = hash_of(name, strlen(name));

        if (h->rig->registry)
                return h->rig->registry(h->rig, h->number, name, ret_why, ret_here);
        strcpy(digest, "sha256:");
        hash_hex(&hash, HASH_SIZE, digest + strlen(digest));
        return digest;
}

static const char *pull(const char *name, void *userdata) {
        const RigHost *h = userdata;

        return h->rig->pull ? h->rig->pull(h->rig, h->number, name) : NULL;
}

static const char *foreign(const char *name, void *userdata) {
        const RigHost *h = userdata;
        bool refuses = h->refuses;

        for (size_t i = 0; !refuses && h->others && h->others[i]; i++)
                refuses = streq(h->others[i], name);
        return refuses ? "/etc/systemd/system has a unit of this name" : NULL;
}

static bool is_running(const VirtualUnit *u) {
        return u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE ||
               u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING;
}

// The order was given when it was to run everywhere, whatever the log has said since.
static bool is_ordered_everywhere(const RigHost *h, const VirtualUnit *u) {
        SpecEntry *spec = cluster_state_find_spec(h->rig->state, &u->order.spec);
        const UnitFile *file;

        return spec && spec_entry_file(spec, &file) == 0 && file->global;
}

// It began there since the log wanted it everywhere. This host takes an order of before only now, and goes
// on to that one.
static bool came_by_a_newer_order(const RigHost *other, const VirtualUnit *o, const VirtualUnit *u) {
        return o->order.revision > u->order.revision && is_ordered_everywhere(other, o);
}

static void assert_runs_nowhere_else(const RigHost *h, const VirtualUnit *u) {
        const Argosy__UnitRecord *r = rig_record(h->rig, u->name);

        if (h->rig->unchecked || (r && r->global) || is_ordered_everywhere(h, u))
                return;
        for (size_t i = 0; i < h->rig->n_hosts; i++) {
                const RigHost *other = &h->rig->hosts[i];
                const VirtualUnit *o = virtual_host_find(&other->virtual, u->name);

                if (other != h && o && is_running(o) && !o->given_up && !other->lies && !h->lies &&
                    !came_by_a_newer_order(other, o, u))
                        fail_msg("host %u starts %s, which runs on host %u", h->number, u->name,
                                 other->number);
        }
}

static uint64_t takes_us(VirtualUnit *u, bool stop, void *userdata) {
        RigHost *h = userdata;

        if (stop)
                return h->rig->stop_ms * USEC_PER_MSEC;
        assert_runs_nowhere_else(h, u);
        u->given_up = false;
        return h->rig->start_ms * USEC_PER_MSEC;
}

static bool fails(const VirtualUnit *u, void *userdata) {
        const RigHost *h = userdata;

        if (h->sound)
                return false;
        return hash_equal(&u->order.spec, &h->rig->bad) ||
               (h->rig->is_bad && h->rig->is_bad(&u->order.spec));
}

static bool ends(const VirtualUnit *u, void *userdata) {
        const RigHost *h = userdata;

        return h->rig->is_oneshot && h->rig->is_oneshot(&u->order.spec);
}

static void violation(const char *why, void *userdata) {
        const RigHost *h = userdata;

        if (!h->lies)
                fail_msg("host %u: %s", h->number, why);
}

static const VirtualHostOps virtual_ops = {
        .now_us = now_us,
        .wall_us = wall_us,
        .clock_us = clock_us,
        .reported_ms = reported_ms,
        .send = send_to_leader,
        .attaching = attaching,
        .foreign = foreign,
        .image = image,
        .pull = pull,
        .takes_us = takes_us,
        .fails = fails,
        .ends = ends,
        .violation = violation,
};

void rig_add_host(Rig *g, bool up, uint32_t feature_level) {
        RigHost *h = &g->hosts[g->n_hosts++];

        *h = (RigHost){.rig = g, .number = (uint32_t) g->n_hosts, .up = up, .feature_level = feature_level};
        virtual_host_init(&h->virtual, &virtual_ops, h);
        h->virtual.node = h->number;
}

// Whom the leader calls lost is not waited for.
void rig_give_up_the_lost(Rig *g) {
        for (size_t i = 0; g->led && !g->unchecked && i < g->n_hosts; i++) {
                const Host *host = host_find(g->leader, g->hosts[i].number);

                if (host && host->recorded && !host_is_lost(host))
                        continue;
                map_foreach (slot, &g->hosts[i].virtual.units)
                        ((VirtualUnit *) slot->value)->given_up = true;
        }
}

// -------------------------------------------------------------------------------------------- what it hears

void rig_host_open_log(Rig *g, uint32_t host) {
        Argosy__ToVoter__StoreOpened opened = ARGOSY__TO_VOTER__STORE_OPENED__INIT;
        RigHost *h = rig_host(g, host);

        h->opened = h->raft_id = h->asked_open;
        opened.raft_id = h->asked_open;
        rig_host_send(h, ARGOSY__TO_VOTER__MSG_STORE_OPENED, &opened);
}

static void on_open(RigHost *h, const Argosy__ToHost__StoreOpen *open) {
        h->opens++;
        h->asked_open = open->raft_id;
        if (!h->disk_hangs)
                rig_host_open_log(h->rig, h->number);
}

// Of a container's file, before it is stored.
static bool is_check(const Argosy__ToHost__Call *call) {
        return call->request && call->request->what_case == ARGOSY__REQUEST__WHAT_VERIFY &&
               call->request->verify->within_ms > 0;
}

static void on_call(RigHost *h, const Argosy__ToHost *m) {
        const Argosy__Request *q = m->call->request;

        h->calls++;
        h->last_call = m->call->id;
        if (q && q->what_case == ARGOSY__REQUEST__WHAT_JOURNAL)
                h->window = q->journal->window;
        if ((!m->call->names && !*m->call->image && !is_check(m->call)) || !h->mute)
                virtual_host_on_message(&h->virtual, m);
}

// `before_attach`: it was sent before the leader heard of the session that goes on now.
static void on_to_host(RigHost *h, const Argosy__ToHost *m, bool before_attach) {
        switch (m->msg_case) {
        case ARGOSY__TO_HOST__MSG_ORDERS:
                if (before_attach) // as an agent does: they count for a session that is over
                        break;
                assert_true(h->virtual.welcomed || h->lies);
                virtual_host_on_message(&h->virtual, m);
                break;
        case ARGOSY__TO_HOST__MSG_STORE_OPEN:
                on_open(h, m->store_open);
                break;
        case ARGOSY__TO_HOST__MSG_STORE_CLOSE:
                h->closed = true;
                h->opened = 0;
                break;
        case ARGOSY__TO_HOST__MSG_REMOVED:
                h->removed = true;
                h->up = false;
                break;
        case ARGOSY__TO_HOST__MSG_RENEWED:
                buf_done(&h->renewed);
                assert_int_equal(buf_append(&h->renewed, m->renewed->cert.data, m->renewed->cert.len), 0);
                break;
        case ARGOSY__TO_HOST__MSG_CALL:
                on_call(h, m);
                break;
        case ARGOSY__TO_HOST__MSG_FILE_PIECE:
                if (!h->fetch_hangs)
                        virtual_host_on_message(&h->virtual, m);
                break;
        case ARGOSY__TO_HOST__MSG_CALL_TAKEN:
                assert_true(m->call_taken->id == h->last_call || h->lies);
                h->taken = m->call_taken->mark;
                h->n_taken++;
                break;
        default:
                virtual_host_on_message(&h->virtual, m);
        }
}

static void attach(RigHost *h) {
        Argosy__ToVoter__Hello hello = ARGOSY__TO_VOTER__HELLO__INIT;

        if (!h->linked) {
                h->linked = true;
                hello.raft_id = h->opened;
                hello.feature_level = h->feature_level;
                leader_on_host_link(h->rig->leader, h->number, &hello);
        }
        h->attached = true;
        h->attached_us = h->rig->now_us;
        virtual_host_attach(&h->virtual);
}

static void send_reason(RigHost *h) {
        Argosy__ToVoter__NodeReports m = ARGOSY__TO_VOTER__NODE_REPORTS__INIT;
        Argosy__NodeReport node = ARGOSY__NODE_REPORT__INIT, *reports = &node;

        node.manager = (char *) h->virtual.manager;
        if (h->reason)
                node.reason = (char *) h->reason;
        m.nodes = &reports;
        m.n_nodes = 1;
        h->virtual.manager_news = false;
        rig_host_send(h, ARGOSY__TO_VOTER__MSG_NODE_REPORTS, &m);
}

static void unlink_host(RigHost *h) {
        h->linked = h->was_linked = false;
        h->attached = h->virtual.welcomed = false;
        rig_host_clear_outbox(h);
}

// Whether it said something.
static bool send_reports(RigHost *h) {
        bool busy = !list_is_empty(&h->virtual.final_reports) ||
                    (!h->lazy && !list_is_empty(&h->virtual.changed));

        if (h->virtual.manager_news)
                send_reason(h);
        if (h->lazy)
                virtual_host_send_final_reports(&h->virtual);
        else
                virtual_host_send_reports(&h->virtual);
        return busy;
}

bool rig_host_turn(RigHost *h) {
        Argosy__ToHost **inbox;
        bool busy = h->n_inbox > 0;
        size_t n, n_before_attach = 0;

        if (h->was_linked && !h->linked) {
                unlink_host(h);
                for (size_t i = 0; i < h->n_inbox;
                     i++) // the last words before the end of a link get through
                        if (h->up && h->inbox[i]->msg_case == ARGOSY__TO_HOST__MSG_REMOVED)
                                on_to_host(h, h->inbox[i], false);
                rig_host_clear_inbox(h);
                leader_on_host_link(h->rig->leader, h->number, NULL);
                return true;
        }
        if (!h->up || h->deaf)
                return false;
        if (!h->delayed && h->n_outbox > 0) {
                n_before_attach = end_delay(h);
                busy = true;
        }
        if (!h->attached && h->rig->leader->leading && cluster_state_find_host(h->rig->state, h->number)) {
                n_before_attach = h->n_inbox;
                attach(h);
                busy = true;
        }
        h->was_linked = h->linked;
        inbox = h->inbox;
        n = h->n_inbox;
        h->inbox = NULL;
        h->n_inbox = 0;
        for (size_t i = 0; i < n; i++) {
                on_to_host(h, inbox[i], h->attaches || i < n_before_attach);
                message_free(inbox[i]);
        }
        free(inbox);
        return send_reports(h) || busy;
}

// ----------------------------------------------------------------------------------- what tests do to hosts

void rig_host_report(Rig *g, RigHost *h, VirtualUnit *u, Argosy__ActiveState active,
                     Argosy__Outcome__Kind outcome) {
        if (h->deaf)
                virtual_host_end(&h->virtual, u, active, outcome); // told when it listens again
        else
                virtual_host_report(&h->virtual, u, active, outcome);
}

void rig_host_off(Rig *g, uint32_t host) {
        RigHost *h = rig_host(g, host);

        h->up = false; // no goodbye, and the link hangs
}

void rig_host_on(Rig *g, uint32_t host, bool forget) {
        RigHost *h = rig_host(g, host);
        bool was_linked = h->linked;

        if (forget)
                virtual_host_forget(&h->virtual);
        unlink_host(h);
        if (was_linked) {
                rig_host_clear_inbox(h);
                leader_on_host_link(g->leader, host, NULL);
        }
        h->up = true;
        rig_settle(g);
}

void rig_host_goodbye(Rig *g, uint32_t host) {
        RigHost *h = rig_host(g, host);

        virtual_host_goodbye(&h->virtual, true);
        h->up = false;
}

void rig_host_last_word(Rig *g, uint32_t host) {
        RigHost *h = rig_host(g, host);

        virtual_host_forget(&h->virtual);
        virtual_host_goodbye(&h->virtual, false);
        h->up = false;
}

void rig_host_lie(Rig *g, uint32_t host, Argosy__ToVoter *m) {
        RigHost *h = rig_host(g, host);

        h->lies = true;
        hand_over(h, m);
        message_free(m);
}

void rig_host_set_manager(Rig *g, uint32_t host, const char *manager) {
        RigHost *h = rig_host(g, host);

        h->virtual.manager = manager;
        h->virtual.manager_node = 0;
        h->attached = false;
        rig_settle(g);
}

void rig_host_send_reason(Rig *g, uint32_t host, const char *reason) {
        RigHost *h = rig_host(g, host);

        h->reason = reason;
        send_reason(h);
        rig_settle(g);
}

void rig_host_set_labels(Rig *g, uint32_t host, const char *key, const char *value) {
        RigHost *h = rig_host(g, host);

        argosy__label__init(&h->label);
        h->label.key = (char *) key;
        h->label.value = (char *) value;
        h->labels = &h->label;
        h->attached = false;
        rig_settle(g);
}

VirtualUnit *rig_unit_on(Rig *g, uint32_t host, const char *name) {
        return virtual_host_find(&rig_host(g, host)->virtual, name);
}

unsigned rig_count_running(Rig *g, const char *name) {
        unsigned n = 0;

        for (uint32_t i = 1; i <= g->n_hosts; i++) {
                const VirtualUnit *u = rig_unit_on(g, i, name);

                n += g->hosts[i - 1].up && u && u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
        }
        return n;
}
