// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Fake hosts: what they take from the leader, do at once, and say.
#include "leader-rig-private.h"

#include "error-response.h"
#include "feature-level.h"
#include "leader-private.h"
#include "message.h"
#include "test.h"
#include "unit-state.h"

// ----------------------------------------------------------------------------------------------- fake hosts

RigHost *rig_host(Rig *g, uint32_t host) {
        assert_in_range(host, 1, g->n_hosts);
        return &g->hosts[host - 1];
}

void rig_host_send(RigHost *h, Argosy__ToVoter__MsgCase what, void *message) {
        Argosy__ToVoter m = ARGOSY__TO_VOTER__INIT;

        m.msg_case = what;
        m.hello = message;
        if (h->rig->on_voter_message)
                h->rig->on_voter_message(h->rig, h->number, &m);
        if (what == ARGOSY__TO_VOTER__MSG_ATTACH) { // which the leader may keep
                Argosy__ToVoter *copy = message_copy(&m);

                assert_non_null(copy);
                leader_on_message(h->rig->leader, h->number, copy);
                message_free(copy);
        } else
                leader_on_message(h->rig->leader, h->number, &m);
}

uint64_t rig_host_clock(const RigHost *h, uint64_t now_us) {
        return h->rig->timed ? now_us / USEC_PER_MSEC + h->number * UINT64_C(1000000) : 0;
}

static void fill_report(const RigHost *h, const RigUnit *u, Argosy__UnitReport *r) {
        argosy__unit_report__init(r);
        r->node = u->order->node;
        r->name = (char *) u->name;
        r->spec = u->order->spec;
        r->revision = u->ready_us ? u->answered : u->order->revision;
        r->stays = u->ready_us ? u->stays : u->order->stay;
        r->load = ARGOSY__LOAD_STATE__LOAD_LOADED;
        r->active = u->active;
        r->sub = u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE ? "running" : "dead";
        r->since_us = u->since_us;
        r->changed_ms = rig_host_clock(h, u->changed_us);
}

static void report(RigHost *h, Argosy__UnitReport *r) {
        Argosy__ToVoter__Reports m = ARGOSY__TO_VOTER__REPORTS__INIT;

        m.reports = &r;
        m.n_reports = 1;
        rig_host_send(h, ARGOSY__TO_VOTER__MSG_REPORTS, &m);
}

void rig_host_report(Rig *g, RigHost *h, RigUnit *u, Argosy__ActiveState active,
                     Argosy__Outcome__Kind kind) {
        Argosy__Outcome outcome = ARGOSY__OUTCOME__INIT;
        Argosy__UnitReport r;

        if (u->active != active) {
                u->since_us = g->wall_us + ++g->n_states;
                u->changed_us = g->now_us;
        }
        u->active = active;
        fill_report(h, u, &r);
        if (kind != ARGOSY__OUTCOME__KIND__NONE) {
                outcome.kind = kind;
                outcome.node = h->node;
                outcome.start_rev = u->start_rev;
                outcome.result = kind == ARGOSY__OUTCOME__KIND__DONE ? "success" : "exit-code";
                r.outcome = &outcome;
                r.result = outcome.result;
        }
        report(h, &r);
}

static RigUnit *unit_of(RigHost *h, const char *name) {
        RigUnit *u = map_find_str(&h->units, name);

        if (u)
                return u;
        u = calloc(1, sizeof(*u));
        strcpy(u->name, name);
        assert_int_equal(map_add_str(&h->units, u->name, u), 0);
        return u;
}

void rig_unit_gone(RigHost *h, RigUnit *u) {
        map_take_str(&h->units, u->name);
        message_free(u->order);
        free(u);
}

static void report_gone(RigHost *h, const char *name, uint32_t node, uint64_t revision) {
        Argosy__UnitReport r = ARGOSY__UNIT_REPORT__INIT;

        r.node = node;
        r.name = (char *) name;
        r.revision = revision;
        r.gone = true;
        report(h, &r);
}

static void report_refused(RigHost *h, const Argosy__UnitOrder *o) {
        Argosy__UnitReport r = ARGOSY__UNIT_REPORT__INIT;

        r.node = o->node;
        r.name = o->name;
        r.revision = o->revision;
        r.refused = true;
        r.error = "/etc/systemd/system has a unit of this name";
        report(h, &r);
}

static void learn(RigHost *h, Argosy__Spec *const *specs, size_t n) {
        for (size_t i = 0; i < n; i++) {
                Hash hash = hash_of(specs[i]->content.data, specs[i]->content.len), *copy;

                assert_memory_equal(hash.bytes, specs[i]->hash.data, HASH_SIZE);
                h->specs_received++;
                if (map_find(&h->contents, hash.bytes, HASH_SIZE))
                        continue;
                copy = malloc(sizeof(hash));
                *copy = hash;
                assert_int_equal(map_add(&h->contents, copy->bytes, HASH_SIZE, copy), 0);
        }
}

static bool is_running(const RigUnit *u) {
        return u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE ||
               u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING;
}

static void assert_runs_nowhere_else(const RigHost *h, const RigUnit *u) {
        const Argosy__UnitRecord *r = rig_record(h->rig, u->name);

        if (r && r->global)
                return;
        for (size_t i = 0; i < h->rig->n_hosts; i++) {
                const RigHost *other = &h->rig->hosts[i];
                const RigUnit *o = map_find_str(&other->units, u->name);

                if (other != h && o && is_running(o) && !o->given_up)
                        fail_msg("host %u starts %s, which runs on host %u", h->number, u->name,
                                 other->number);
        }
}

// Whom the leader calls lost is not waited for.
void rig_give_up_the_lost(Rig *g) {
        for (size_t i = 0; g->led && i < g->n_hosts; i++) {
                const Host *host = host_find(g->leader, g->hosts[i].number);

                if (host && host->recorded && !host_is_lost(host))
                        continue;
                map_foreach (slot, &g->hosts[i].units)
                        ((RigUnit *) slot->value)->given_up = true;
        }
}

static void end_start(RigHost *h, RigUnit *u) {
        bool bad = !h->sound && u->order->spec.len == HASH_SIZE &&
                   memcmp(u->order->spec.data, h->rig->bad.bytes, HASH_SIZE) == 0;

        u->ready_us = 0;
        u->since_us = h->rig->wall_us + ++h->rig->n_states;
        u->changed_us = h->rig->now_us;
        u->answered = u->order->revision;
        u->stays = u->order->stay;
        u->dirty = true;
        u->active = u->stopping ? ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE
                    : bad       ? ARGOSY__ACTIVE_STATE__ACTIVE_FAILED
                                : ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
        u->stopping = false;
}

static void begin_start(RigHost *h, RigUnit *u) {
        assert_runs_nowhere_else(h, u);
        u->given_up = false;
        u->active = ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING;
        u->stopping = false;
        u->ready_us = h->rig->now_us + h->rig->start_ms * USEC_PER_MSEC;
        if (h->rig->start_ms == 0)
                end_start(h, u);
}

static bool is_down(const RigUnit *u) {
        return u->active == ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN ||
               u->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;
}

static void begin_stop(RigHost *h, RigUnit *u) {
        if (u->stopping)
                return;
        u->ready_us = 0;
        if (u->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED) // and stays so: there is nothing to stop
                return;
        if (h->rig->stop_ms == 0 || is_down(u)) {
                u->active = ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;
                return;
        }
        u->active = ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING;
        u->stopping = true;
        u->ready_us = h->rig->now_us + h->rig->stop_ms * USEC_PER_MSEC;
}

void rig_host_end_starts(RigHost *h) {
        map_foreach (slot, &h->units) {
                RigUnit *u = slot->value;

                if (u->ready_us && u->ready_us <= h->rig->now_us)
                        end_start(h, u);
        }
}

static bool has_other_content(const RigUnit *u, const Argosy__UnitOrder *o) {
        return u->order && (u->order->spec.len != o->spec.len ||
                            memcmp(u->order->spec.data, o->spec.data, o->spec.len) != 0);
}

static void obey(RigHost *h, const Argosy__UnitOrder *o) {
        RigUnit *u = map_find_str(&h->units, o->name);
        bool launched = o->target == ARGOSY__TARGET__TARGET_LAUNCHED, again, again_up;

        assert_true(o->node == h->node || (h->manager && o->node == h->manager_node));
        if (o->remove) {
                char name[256];

                strcpy(name, o->name);
                if (u)
                        rig_unit_gone(h, u);
                report_gone(h, name, o->node, o->revision);
                return;
        }
        if (h->refuses) {
                report_refused(h, o);
                return;
        }
        assert_true(!o->stay || h->feature_level >= FEATURE_STAYING);
        if (o->stay && launched) // as it is; what was ordered before stays ordered
                return;
        // The content must be known: from this session, or because the unit has it installed.
        if (!map_find(&h->contents, o->spec.data, o->spec.len) &&
            !(u && u->order->spec.len == o->spec.len &&
              memcmp(u->order->spec.data, o->spec.data, o->spec.len) == 0))
                fail_msg("host %u was ordered to hold %s without its content", h->number, o->name);
        u = unit_of(h, o->name);
        again = launched && u->active != ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN &&
                u->active != ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE &&
                (has_other_content(u, o) || o->restart_rev > u->restart_rev);
        again_up = u->order && u->order->target != ARGOSY__TARGET__TARGET_LAUNCHED;
        if (!launched && u->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED && has_other_content(u, o))
                u->active = ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE; // what failed is not what is there
        assert_true(!u->order || o->revision >= u->order->revision || o->stay ||
                    o->revision == UNIT_REVISION_STAY);
        message_free(u->order);
        u->order = message_copy(o);
        if (again) {
                u->restarts++;
                begin_start(h, u);
        } else if (launched && !o->outcome && (o->start_rev > u->start_rev || again_up) &&
                   u->active != ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE) {
                u->starts++;
                begin_start(h, u);
        } else if (!launched || u->active == ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN)
                begin_stop(h, u);
        u->start_rev = o->start_rev;
        u->restart_rev = o->restart_rev;
        if (!u->ready_us) {
                u->answered = o->revision;
                u->stays = o->stay;
        }
        u->dirty = true;
}

static bool is_fenced(RigHost *h, uint64_t term, uint64_t index) {
        if (term < h->term || (term == h->term && index < h->index))
                return true;
        h->term = term;
        h->index = index;
        return false;
}

static void learn_nodes(RigHost *h, Argosy__NodeRecord *const *nodes, size_t n) {
        for (size_t i = 0; i < n; i++) {
                if (!h->manager || !streq(nodes[i]->manager, h->manager))
                        continue;
                h->reason_due = h->manager_node != nodes[i]->node;
                h->manager_node = nodes[i]->node;
        }
}

// The Welcome, or a part of it.
static void on_wanted(RigHost *h, Argosy__UnitOrder *const *orders, size_t n) {
        if (h->parts == 0)
                map_foreach (slot, &h->units)
                        ((RigUnit *) slot->value)->named = false;
        for (size_t i = 0; i < n; i++) {
                RigUnit *u;

                obey(h, orders[i]);
                u = map_find_str(&h->units, orders[i]->name);
                if (u)
                        u->named = true;
        }
}

static void on_welcome_part(RigHost *h, const Argosy__ToHost__WelcomePart *p) {
        if (p->seq != h->seq)
                return;
        assert_in_range(h->feature_level, FEATURE_WELCOME_PARTS, UINT32_MAX);
        assert_false(is_fenced(h, p->term, p->index));
        learn(h, p->specs, p->n_specs);
        learn_nodes(h, p->nodes, p->n_nodes);
        on_wanted(h, p->orders, p->n_orders);
        h->parts++;
        h->all_parts++;
}

static void on_welcome(RigHost *h, const Argosy__ToHost__Welcome *w) {
        if (w->seq != h->seq)
                return;
        assert_false(is_fenced(h, w->term, w->index));
        assert_int_equal(w->parts, h->parts);
        h->welcomed = true;
        h->welcomes++;
        learn(h, w->specs, w->n_specs);
        learn_nodes(h, w->nodes, w->n_nodes);
        on_wanted(h, w->orders, w->n_orders);
        h->parts = 0;
        map_foreach (slot, &h->units) {
                RigUnit *u = slot->value;
                uint32_t node;
                char name[256];

                if (u->named)
                        continue;
                strcpy(name, u->name);
                node = u->order->node;
                rig_unit_gone(h, u);
                report_gone(h, name, node, 0);
        }
}

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

static void on_call(RigHost *h, const Argosy__ToHost__Call *call) {
        Argosy__ToVoter__CallReply reply = ARGOSY__TO_VOTER__CALL_REPLY__INIT;
        Argosy__Response response = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Journal journal = ARGOSY__RESPONSE__JOURNAL__INIT;
        Argosy__Response__Status status = ARGOSY__RESPONSE__STATUS__INIT;
        Argosy__Response__Usage usage = ARGOSY__RESPONSE__USAGE__INIT;
        char *line = "a line";

        h->calls++;
        h->last_call = call->id;
        reply.id = call->id;
        reply.response = &response;
        if (call->request->what_case == ARGOSY__REQUEST__WHAT_STATUS) {
                response.final = true;
                response.what_case = ARGOSY__RESPONSE__WHAT_STATUS_REPLY;
                response.status_reply = &status;
        } else if (call->request->what_case == ARGOSY__REQUEST__WHAT_TOP) {
                response.final = call->request->top->interval_ms == 0;
                response.what_case = ARGOSY__RESPONSE__WHAT_USAGE;
                response.usage = &usage;
                usage.node = "what it calls itself";
                usage.last = true;
        } else if (call->request->what_case != ARGOSY__REQUEST__WHAT_JOURNAL) {
                response = error_response(EOPNOTSUPP, "the hosts of the tests do not know that question");
        } else {
                h->window = call->request->journal->window;
                response.final = !call->request->journal->follow;
                response.what_case = ARGOSY__RESPONSE__WHAT_JOURNAL;
                response.journal = &journal;
                journal.lines = &line;
                journal.n_lines = 1;
        }
        rig_host_send(h, ARGOSY__TO_VOTER__MSG_CALL_REPLY, &reply);
}

static void on_to_host(RigHost *h, const Argosy__ToHost *m) {
        switch (m->msg_case) {
        case ARGOSY__TO_HOST__MSG_WELCOME:
                on_welcome(h, m->welcome);
                break;
        case ARGOSY__TO_HOST__MSG_WELCOME_PART:
                on_welcome_part(h, m->welcome_part);
                break;
        case ARGOSY__TO_HOST__MSG_ORDERS:
                assert_true(h->welcomed);
                assert_false(is_fenced(h, m->orders->term, m->orders->index));
                learn(h, m->orders->specs, m->orders->n_specs);
                learn_nodes(h, m->orders->nodes, m->orders->n_nodes);
                for (size_t i = 0; i < m->orders->n_orders; i++)
                        obey(h, m->orders->orders[i]);
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
        case ARGOSY__TO_HOST__MSG_BEAT_ACK:
                h->acks++;
                h->last_ack = m->beat_ack->seq;
                break;
        case ARGOSY__TO_HOST__MSG_CALL:
                on_call(h, m->call);
                break;
        case ARGOSY__TO_HOST__MSG_CALL_TAKEN:
                assert_int_equal(m->call_taken->id, h->last_call);
                h->taken = m->call_taken->mark;
                h->n_taken++;
                break;
        default:
                break;
        }
}

static void attach(RigHost *h) {
        Argosy__ToVoter__Hello hello = ARGOSY__TO_VOTER__HELLO__INIT;
        Argosy__ToVoter__Attach m = ARGOSY__TO_VOTER__ATTACH__INIT;
        Argosy__UnitReport *reports = calloc(h->units.count + 1, sizeof(*reports));
        Argosy__UnitReport **held = calloc(h->units.count + 1, sizeof(*held));
        const Argosy__HostRecord *record = cluster_state_find_host(h->rig->state, h->number);
        Argosy__Outcome *outcomes = calloc(h->units.count + 1, sizeof(*outcomes));
        char *managers[] = {"system", (char *) h->manager};
        Argosy__NodeReport node = ARGOSY__NODE_REPORT__INIT, *node_reports = &node;

        if (!h->linked) {
                h->linked = true;
                hello.raft_id = h->opened;
                hello.feature_level = h->feature_level;
                leader_on_host_link(h->rig->leader, h->number, &hello);
        }
        map_done_with(&h->contents, free);
        map_foreach (slot, &h->units) {
                const RigUnit *u = slot->value;
                Argosy__Outcome *o = &outcomes[m.n_held];

                held[m.n_held] = &reports[m.n_held];
                argosy__outcome__init(o);
                o->kind = u->outcome;
                o->node = h->node;
                o->start_rev = u->start_rev;
                fill_report(h, u, held[m.n_held]);
                if (o->kind != ARGOSY__OUTCOME__KIND__NONE)
                        held[m.n_held]->outcome = o;
                m.n_held++;
        }
        m.held = held;
        m.seq = ++h->seq;
        m.name = record->name;
        m.address = record->address;
        m.address_name = (char *) (h->address_name ?: "");
        m.port = record->port;
        m.labels = h->labels ? &h->labels : record->own_labels;
        m.n_labels = h->labels ? 1 : record->n_own_labels;
        if (h->many_labels) {
                m.labels = h->many_labels;
                m.n_labels = h->n_many_labels;
        }
        m.managers = managers;
        m.n_managers = h->manager ? 2 : 1;
        if (h->manager && h->reason) {
                node.manager = (char *) h->manager;
                node.reason = (char *) h->reason;
                m.nodes = &node_reports;
                m.n_nodes = 1;
        }
        h->attached = true;
        h->welcomed = false;
        h->parts = 0;
        rig_host_send(h, ARGOSY__TO_VOTER__MSG_ATTACH, &m);
        free(held);
        free(outcomes);
        free(reports);
}

static void send_reason(RigHost *h) {
        Argosy__ToVoter__NodeReports m = ARGOSY__TO_VOTER__NODE_REPORTS__INIT;
        Argosy__NodeReport node = ARGOSY__NODE_REPORT__INIT, *reports = &node;

        node.manager = (char *) h->manager;
        if (h->reason)
                node.reason = (char *) h->reason;
        m.nodes = &reports;
        m.n_nodes = 1;
        h->reason_due = false;
        rig_host_send(h, ARGOSY__TO_VOTER__MSG_NODE_REPORTS, &m);
}

bool rig_host_turn(RigHost *h) {
        Argosy__ToHost **inbox;
        bool busy = h->n_inbox > 0;
        size_t n;

        if (h->was_linked && !h->linked) {
                h->was_linked = false;
                h->attached = h->welcomed = false;
                for (size_t i = 0; i < h->n_inbox;
                     i++) // the last words before the end of a link get through
                        if (h->up && h->inbox[i]->msg_case == ARGOSY__TO_HOST__MSG_REMOVED)
                                on_to_host(h, h->inbox[i]);
                rig_host_clear_inbox(h);
                leader_on_host_link(h->rig->leader, h->number, NULL);
                return true;
        }
        if (!h->up || h->deaf)
                return false;
        if (!h->attached && h->rig->leader->leading && cluster_state_find_host(h->rig->state, h->number)) {
                attach(h);
                busy = true;
        }
        h->was_linked = h->linked;
        inbox = h->inbox;
        n = h->n_inbox;
        h->inbox = NULL;
        h->n_inbox = 0;
        for (size_t i = 0; i < n; i++) {
                on_to_host(h, inbox[i]);
                message_free(inbox[i]);
        }
        free(inbox);
        if (h->reason_due)
                send_reason(h);
        map_foreach (slot, &h->units) {
                RigUnit *u = slot->value;
                Argosy__UnitReport r;

                if (!u->dirty || h->lazy)
                        continue;
                u->dirty = false;
                fill_report(h, u, &r);
                report(h, &r);
                busy = true;
        }
        return busy;
}

void rig_host_off(Rig *g, uint32_t host) {
        RigHost *h = rig_host(g, host);

        h->up = false; // no goodbye, and the link hangs
}

void rig_host_on(Rig *g, uint32_t host, bool forget) {
        RigHost *h = rig_host(g, host);

        if (forget)
                map_foreach (slot, &h->units)
                        rig_unit_gone(h, slot->value);
        if (h->linked) {
                h->linked = false;
                h->was_linked = false;
                rig_host_clear_inbox(h);
                leader_on_host_link(g->leader, host, NULL);
        }
        h->up = true;
        h->attached = h->welcomed = h->was_linked = false;
        rig_settle(g);
}

void rig_host_goodbye(Rig *g, uint32_t host) {
        RigHost *h = rig_host(g, host);
        Argosy__ToVoter__Goodbye goodbye = ARGOSY__TO_VOTER__GOODBYE__INIT;

        goodbye.why = ARGOSY__TO_VOTER__GOODBYE__WHY__SHUTDOWN;
        goodbye.stopping = true;
        rig_host_send(h, ARGOSY__TO_VOTER__MSG_GOODBYE, &goodbye);
        h->up = false;
}

void rig_host_set_manager(Rig *g, uint32_t host, const char *manager) {
        RigHost *h = rig_host(g, host);

        h->manager = manager;
        h->manager_node = 0;
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

RigUnit *rig_unit_on(Rig *g, uint32_t host, const char *name) {
        return map_find_str(&rig_host(g, host)->units, name);
}

unsigned rig_count_running(Rig *g, const char *name) {
        unsigned n = 0;

        for (uint32_t i = 1; i <= g->n_hosts; i++) {
                const RigUnit *u = rig_unit_on(g, i, name);

                n += g->hosts[i - 1].up && u && u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
        }
        return n;
}
