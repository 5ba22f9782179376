// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What units there are, from the ledger at the start, then from the leader's orders.
//
// After a restart of argosyd nothing of the specs is in memory; their contents are read back from the unit
// files, checked against the record's hash. A unit whose files are not as recorded is held without a spec:
// the leader is told so, sends the spec again, and the file is written again.
//
// A soft-reboot stops all units but keeps /run, and with it the ledger. So a shutdown leaves a mark beside
// the ledger; who finds it takes what was launched for not launched, as after a reboot.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "agent-core.h"
#include "agent-links.h"
#include "agent-nodes.h"
#include "agent-report.h"
#include "agent-session.h"
#include "agent-spec.h"
#include "agent-together.h"
#include "agent-unit.h"
#include "agent-units.h"
#include "buf.h"
#include "fileio.h"
#include "log.h"
#include "str.h"
#include "unit-file.h"
#include "unit-name.h"

// ---- from the ledger

// The content of a held unit from its own file or its template's; NULL if neither has the recorded hash.
static AgentSpec *read_back(AgentNode *node, const LedgerRecord *record) {
        _cleanup_free_ char *template = NULL;
        const char *names[2] = {record->name, NULL};
        AgentSpec *s = agent_spec_find(node->agent, &record->spec);

        if (s)
                return agent_spec_ref(s);
        if (record->from_template)
                names[1] = template = unit_name_template(record->name);
        for (size_t i = 0; i < ELEMENTSOF(names) && names[i]; i++) {
                _cleanup_free_ char *path = str_printf("%s/%s", node->dir_path, names[i]);
                _cleanup_buf_ Buf content = {};

                if (path && file_read(AT_FDCWD, path, UNIT_FILE_MAX, &content) == 0 &&
                    agent_spec_get(node->agent, &record->spec, content.data, content.len, names[i], &s) == 0)
                        return s;
        }
        return NULL;
}

// -ENOMEM; any other failure of its files means that they do not count as ours, and are written again.
static int adopt_files(AgentUnit *u, const LedgerRecord *record) {
        AgentNode *node = u->node;
        AgentSpec *content;
        int r;

        u->half_written = !node->dir; // its helper looks; nothing is read back from there
        if (!node->dir)
                return 0;
        r = unit_dir_adopt(node->dir, record->name, record->from_template, &record->spec, record->slice);
        if (r == -ENOMEM)
                return r;
        content = read_back(node, record);
        u->content_known = content;
        u->file_present = r == 0 && content;
        u->enabled = unit_dir_is_enabled(node->dir, record->name);
        agent_spec_unref(node->agent, content); // the record holds it
        return 0;
}

static int adopt_record(const LedgerRecord *record, void *userdata) {
        AgentNode *node = userdata;
        AgentSpec *spec;
        AgentUnit *u;
        int r;

        r = agent_unit_new(node, record->name, &u);
        if (r < 0)
                return r;
        spec = agent_spec_name(node->agent, &record->spec);
        if (!spec)
                return -ENOMEM;
        agent_unit_hold(u, record, spec);
        r = adopt_files(u, record);
        if (r < 0)
                return r;
        if (node->units_were_stopped && !record->done && !record->failed && !record->unknown) {
                u->held.target = ARGOSY__TARGET__TARGET_INACTIVE; // as after a reboot
                u->held.pending = false;
        }
        u->parsed = record->revision > 0;
        u->unwatched = true;
        slices_add(&node->slices, record->slice);
        return 0;
}

static int tell_records(Ledger *l, void *userdata) {
        AgentNode *node = userdata;
        int r = 0;

        agent_foreach_unit(u, node) if (u->has_held && r >= 0) {
                LedgerRecord record;

                agent_unit_fill_record(u, &record);
                r = ledger_put(l, &record);
        }
        return r;
}

int agent_node_adopt(AgentNode *node, const char *ledger_path) {
        int r;

        node->units_were_stopped = node->shutdown_mark && access(node->shutdown_mark, F_OK) == 0;
        r = ledger_open(ledger_path, adopt_record, tell_records, node, &node->ledger);
        if (r < 0)
                return r;
        agent_foreach_unit(u, node) agent_links_suspect(u);
        if (!node->units_were_stopped)
                return 0;
        r = tell_records(node->ledger, node);
        if (r >= 0)
                r = ledger_flush(node->ledger);
        if (r >= 0 && unlink(node->shutdown_mark) < 0)
                r = -errno;
        return r;
}

// ---- from the leader

// The specs that came with a message, kept until its orders were taken over.
typedef struct Parcel {
        Argosy__Spec **specs;
        size_t n;
} Parcel;

static int spec_from_parcel(Agent *a, const Parcel *parcel, const Hash *hash, const char *name,
                            AgentSpec **ret) {
        *ret = agent_spec_ref(agent_spec_find(a, hash));
        if (*ret)
                return 0;
        for (size_t i = 0; i < parcel->n; i++) {
                const Argosy__Spec *s = parcel->specs[i];

                if (s->hash.len == HASH_SIZE && memcmp(s->hash.data, hash->bytes, HASH_SIZE) == 0)
                        return agent_spec_get(a, hash, s->content.data, s->content.len, name, ret);
        }
        return -ENOENT;
}

// After `cluster recover` the counter may have gone back: a number in the record that the order does not
// know was never given.
static void clamp_held(AgentUnit *u, const PlanWanted *w) {
        if (!u->has_held || w->remove)
                return;
        u->held.start_rev = MIN_OF(u->held.start_rev, w->start_rev);
        u->held.restart_rev = MIN_OF(u->held.restart_rev, w->restart_rev);
        u->held.stop_rev = MIN_OF(u->held.stop_rev, w->stop_rev);
}

// A new request: tried at once, whatever the last one came to.
static void begin_anew(AgentUnit *u) {
        AgentUnitWork *work = u->work;

        work->failures = 0;
        work->retry_us = 0;
        u->looked_again = u->pin_failed = u->refused = false;
        if (work->busy == PLAN_NOTHING)
                agent_unit_clear_error(u);
}

// Owns `spec` if it succeeds.
static int want(AgentUnit *u, const PlanWanted *wanted, AgentSpec *spec, bool from_template) {
        AgentUnitWork *work = agent_unit_work(u);
        Agent *a = u->node->agent;

        if (!work)
                return -ENOMEM;
        if (!u->has_wanted || work->wanted.revision != wanted->revision ||
            work->wanted.remove != wanted->remove)
                begin_anew(u);
        agent_spec_unref(a, work->spec);
        work->spec = spec;
        work->wanted = *wanted;
        work->request = a->n_obeyed;
        work->from_template = from_template;
        u->has_wanted = true;
        u->gone = false;
        agent_together_ordered(u);
        clamp_held(u, wanted);
        agent_unit_report(u);
        agent_unit_mark(u);
        return 0;
}

static int unwant(AgentUnit *u, uint64_t revision) {
        PlanWanted wanted = {.remove = true, .revision = revision};

        return want(u, &wanted, NULL, false);
}

int agent_unit_unwant(AgentUnit *u) {
        if (u->has_wanted && agent_unit_doing(u)->wanted.remove)
                return 0;
        return unwant(u, agent_unit_answered(u));
}

// The whole set of orders comes with each session, and most of it is what is held: then there is nothing to
// be done but to look whether that is still so.
static bool is_held_already(AgentUnit *u, const PlanWanted *w, bool from_template) {
        const AgentHeld *h = &u->held;

        if (u->work || !u->has_held || !u->file_present || u->half_written)
                return false;
        if (w->target != (Argosy__Target) h->target || w->revision != h->revision ||
            w->start_rev != h->start_rev || w->restart_rev != h->restart_rev || w->stop_rev != h->stop_rev ||
            from_template != h->from_template || !hash_equal(&w->spec, &h->spec->hash))
                return false;
        u->has_wanted = true;
        u->wanted_outcome = (uint8_t) w->outcome;
        u->refused = u->gone = false;
        agent_unit_report(u);
        agent_unit_mark(u);
        return true;
}

// One that only a later version knows is over all the same.
static Argosy__Outcome__Kind decode_outcome(const Argosy__UnitOrder *o) {
        if (!o->outcome || o->outcome->start_rev != o->start_rev)
                return ARGOSY__OUTCOME__KIND__NONE;
        return o->outcome->kind < ARGOSY__OUTCOME__KIND__UNKNOWN ? o->outcome->kind
                                                                 : ARGOSY__OUTCOME__KIND__UNKNOWN;
}

static PlanWanted decode(const Argosy__UnitOrder *o, const Hash *spec) {
        return (PlanWanted){
                .target = o->target,
                .spec = *spec,
                .revision = o->revision,
                .start_rev = o->start_rev,
                .restart_rev = o->restart_rev,
                .stop_rev = o->stop_rev,
                .outcome = decode_outcome(o),
        };
}

static bool is_runnable_name(const char *name) {
        UnitNameKind kind = unit_name_kind(name, NULL);

        return (kind == UNIT_NAME_PLAIN || kind == UNIT_NAME_INSTANCE) && !unit_name_is_reserved(name);
}

// 0; -ENOENT: its spec was never sent; -EINVAL: not an order that this host can carry out.
static int obey_order(Agent *a, const Argosy__UnitOrder *o, const Parcel *parcel) {
        AgentNode *node = agent_node_find(a, o->node);
        AgentSpec *spec = NULL;
        PlanWanted wanted;
        AgentUnit *u;
        Hash hash;
        int r;

        bool remove = o->remove || o->target == ARGOSY__TARGET__TARGET_INACTIVE;

        if (node && node->detaching)
                return 0; // all of it is going, whatever a leader that does not know it yet wants
        if (!node || (!remove && !hash_from_bytes(o->spec.data, o->spec.len, &hash)))
                return -EINVAL;
        u = agent_unit_find(node, o->name);
        if (remove) {
                if (!u) {
                        r = agent_unit_new(node, o->name, &u); // unknown here: still answered with `gone`
                        if (r < 0)
                                return r;
                }
                return unwant(u, o->revision);
        }
        if (!is_runnable_name(o->name))
                return -EINVAL;
        r = spec_from_parcel(a, parcel, &hash, o->name, &spec);
        if (r < 0)
                return r;
        if (!u) {
                r = agent_unit_new(node, o->name, &u);
                if (r < 0) {
                        agent_spec_unref(a, spec);
                        return r;
                }
        }
        wanted = decode(o, &hash);
        if (is_held_already(u, &wanted, o->from_template)) {
                agent_spec_unref(a, spec);
                return 0;
        }
        r = want(u, &wanted, spec, o->from_template);
        if (r < 0)
                agent_spec_unref(a, spec);
        return r;
}

static void obey_orders(Agent *a, Argosy__UnitOrder **orders, size_t n, const Parcel *parcel) {
        for (size_t i = 0; i < n; i++) {
                int r = obey_order(a, orders[i], parcel);

                if (r >= 0)
                        continue;
                log_unit(LOG_WARNING, orders[i]->name, "Cannot take the order for %s over: %s",
                         orders[i]->name, r == -ENOENT ? "its content was not sent" : strerror(-r));
                if (r != -EINVAL)
                        a->attach_wanted = true; // the Welcome has everything again
        }
}

// What was held or wanted and is not in the whole wanted set any more.
static void unwant_the_rest(AgentNode *node) {
        agent_foreach_unit(u, node) {
                if (u->in_welcome)
                        continue;
                if (u->has_held)
                        (void) agent_unit_unwant(u); // out of memory: the next Welcome comes to it again
                else if (agent_unit_doing(u)->busy == PLAN_NOTHING)
                        agent_unit_free(u);
        }
}

// What the Welcome, or a part of it, names is there to stay.
static void obey_wanted(Agent *a, Argosy__UnitOrder **orders, size_t n, const Parcel *parcel) {
        if (a->welcome_parts == 0)
                agent_foreach_node (each, a)
                        agent_foreach_unit(u, each) u->in_welcome = false;
        for (size_t i = 0; i < n; i++) {
                AgentNode *node = agent_node_find(a, orders[i]->node);
                AgentUnit *u;

                obey_orders(a, &orders[i], 1, parcel);
                u = node ? agent_unit_find(node, orders[i]->name) : NULL;
                if (u)
                        u->in_welcome = true; // also if the order could not be taken over
        }
}

static void obey_welcome_part(Agent *a, const Argosy__ToHost__WelcomePart *p) {
        Parcel parcel = {p->specs, p->n_specs};

        agent_nodes_number(a, p->nodes, p->n_nodes);
        obey_wanted(a, p->orders, p->n_orders, &parcel);
        a->welcome_parts++;
        agent_session_on_part(a);
}

static void obey_welcome(Agent *a, const Argosy__ToHost__Welcome *w) {
        Parcel parcel = {w->specs, w->n_specs};

        if (w->parts != a->welcome_parts) { // this is not the whole: nothing may be removed by it
                log_warning("Of a Welcome in %u parts %u have come; asking for all of it again.", w->parts,
                            a->welcome_parts);
                a->attach_wanted = true;
                return;
        }
        agent_nodes_number(a, w->nodes, w->n_nodes);
        obey_wanted(a, w->orders, w->n_orders, &parcel);
        agent_foreach_node (each, a)
                if (each->number != 0) // else the leader does not know it yet
                        unwant_the_rest(each);
        agent_session_welcome(a, w);
}

// What was ordered before an Attach and is not carried out yet counts no more: the leader takes what the
// Attach says for all that is here, and may have the unit started elsewhere.
void agent_obey(Agent *a, const Argosy__ToHost *m) {
        if (a->clearing)
                return;
        a->n_obeyed++;
        if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME) {
                if (m->welcome->seq == a->attach_seq)
                        obey_welcome(a, m->welcome);
        } else if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME_PART) {
                if (m->welcome_part->seq == a->attach_seq)
                        obey_welcome_part(a, m->welcome_part);
        } else if (m->msg_case == ARGOSY__TO_HOST__MSG_ORDERS && a->welcomed_seq == a->attach_seq) {
                Parcel parcel = {m->orders->specs, m->orders->n_specs};

                agent_nodes_number(a, m->orders->nodes, m->orders->n_nodes);
                obey_orders(a, m->orders->orders, m->orders->n_orders, &parcel);
        }
        drain_mark(&a->drain);
}
