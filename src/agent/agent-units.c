// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tables of units and specs: filled from the ledger at the start, then from the leader's orders.
//
// After a restart of argosyd nothing of the specs is in memory; their contents are read back from the unit
// files, checked against the record's hash. A unit whose files are not as recorded is held without a spec:
// the leader is told so, sends the spec again, and the file is written again.
//
// A soft-reboot stops all units but keeps /run, and with it the ledger. So a shutdown leaves a mark beside
// the ledger; who finds it takes what was launched for not launched, as after a reboot.

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "agent-private.h"
#include "fileio.h"
#include "log.h"
#include "str.h"
#include "unit-file.h"
#include "unit-name.h"

// ---- specs

static void spec_inspect(AgentSpec *s, const char *name) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;

        // The leader refuses what cannot be parsed; should one slip through, systemd has the last word on
        // it.
        if (unit_file_parse(name, s->content, s->len, &file, NULL) < 0)
                return;
        s->oneshot = file->oneshot && !file->remain;
        s->spreadable = !file->has_slice && !file->has_weights;
        s->links = file->n_install > 0;
        s->cut_off_stop = file->failing.cut_off_stop;
        s->cut_off_sec = file->failing.cut_off_sec;
}

AgentSpec *agent_spec_find(Agent *a, const Hash *hash) {
        return map_find(&a->specs, hash->bytes, HASH_SIZE);
}

AgentSpec *agent_spec_ref(AgentSpec *s) {
        if (s)
                s->n_refs++;
        return s;
}

void agent_spec_unref(Agent *a, AgentSpec *s) {
        if (!s || --s->n_refs > 0)
                return;
        map_take(&a->specs, s->hash.bytes, HASH_SIZE);
        free(s);
}

// A reference to the spec of that hash, made from `content` if it is new. -EBADMSG: the content has another
// hash.
int agent_spec_get(Agent *a, const Hash *hash, const void *content, size_t len, const char *name,
                   AgentSpec **ret) {
        AgentSpec *s = agent_spec_find(a, hash);
        Hash actual;

        if (s) {
                *ret = agent_spec_ref(s);
                return 0;
        }
        actual = hash_of(content, len);
        if (!hash_equal(&actual, hash))
                return -EBADMSG;
        s = malloc(sizeof(*s) + len);
        if (!s)
                return -ENOMEM;
        *s = (AgentSpec){.hash = *hash, .n_refs = 1, .len = len};
        memcpy(s->content, content, len);
        if (map_add(&a->specs, s->hash.bytes, HASH_SIZE, s) < 0) {
                free(s);
                return -ENOMEM;
        }
        spec_inspect(s, name);
        *ret = s;
        return 0;
}

// ---- units

AgentUnit *agent_unit_find(AgentNode *node, const char *name) {
        SystemdUnit *w = systemd_manager_find(node->systemd, name);

        return w && !w->other ? CONTAINER_OF(w, AgentUnit, watch) : NULL;
}

AgentUnit *agent_unit_next(const AgentNode *node, size_t *iter) {
        SystemdUnit *w = node->systemd ? systemd_manager_next(node->systemd, iter) : NULL;

        while (w && w->other)
                w = systemd_manager_next(node->systemd, iter);
        return w ? CONTAINER_OF(w, AgentUnit, watch) : NULL;
}

int agent_unit_new(AgentNode *node, const char *name, AgentUnit **ret) {
        size_t size = strlen(name) + 1;
        AgentUnit *u = calloc(1, SIZE_WITH_NAME(AgentUnit, size - 1));
        int r;

        if (!u)
                return -ENOMEM;
        u->node = node;
        list_init(&u->dirty);
        list_init(&u->waiting);
        list_init(&u->call);
        list_init(&u->together);
        list_init(&u->report);
        memcpy(u->name, name, size);
        r = systemd_manager_watch(node->systemd, &u->watch, u->name);
        if (r < 0) {
                free(u);
                return r == -EEXIST ? -EINVAL : r;
        }
        node->n_units++;
        *ret = u;
        return 0;
}

void agent_unit_free(AgentUnit *u) {
        Agent *a = u->node->agent;

        systemd_manager_unwatch(u->node->systemd, &u->watch);
        u->node->n_units--;
        agent_cgroup_forget(u);
        list_unlink(&u->dirty);
        list_unlink(&u->waiting);
        list_unlink(&u->call);
        list_unlink(&u->together);
        list_unlink(&u->report);
        agent_spec_unref(a, u->spec);
        agent_spec_unref(a, u->held_spec);
        free(u->error);
        free(u);
}

void agent_unit_mark(AgentUnit *u) {
        if (!list_is_linked(&u->dirty))
                list_append(&u->node->dirty, &u->dirty);
        drain_mark(&u->node->agent->drain);
}

void agent_unit_set_error(AgentUnit *u, const char *format, ...) {
        char text[AGENT_ERROR_MAX];
        va_list ap;

        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        if (u->error && streq(u->error, text))
                return;
        free(u->error);
        u->error = strdup(text); // NULL: then the failure is reported without its reason
        agent_unit_report(u);
}

void agent_unit_clear_error(AgentUnit *u) {
        if (!u->error)
                return;
        free(u->error);
        u->error = NULL;
        agent_unit_report(u);
}

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

static int adopt_record(const LedgerRecord *record, void *userdata) {
        AgentNode *node = userdata;
        AgentUnit *u;
        int r;

        r = agent_unit_new(node, record->name, &u);
        if (r < 0)
                return r;
        r = node->dir ? unit_dir_adopt(node->dir, record->name, record->from_template, &record->spec,
                                       record->slice)
                      : 1;
        if (r == -ENOMEM)
                return r; // any other reason: its files do not count as ours, and are written again
        u->has_held = true;
        u->held = *record;
        u->held.name = u->name;
        u->held_spec = node->dir ? read_back(node, record) : NULL;
        u->file_present = r == 0 && u->held_spec;
        u->enabled = node->dir && unit_dir_is_enabled(node->dir, record->name);
        u->half_written = !node->dir; // its helper looks; nothing is read back from there
        if (node->units_were_stopped && !record->done && !record->failed) {
                u->held.target = ARGOSY__TARGET__TARGET_INACTIVE; // as after a reboot
                u->held.pending = false;
        }
        u->answered = record->revision;
        u->parsed = record->revision > 0;
        u->unwatched = true;
        slices_add(&node->slices, record->slice);
        return 0;
}

static int tell_records(Ledger *l, void *userdata) {
        AgentNode *node = userdata;
        int r = 0;

        agent_foreach_unit(u, node) {
                if (u->has_held && r >= 0)
                        r = ledger_put(l, &u->held);
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
static void clamp_held(AgentUnit *u) {
        const PlanWanted *w = &u->wanted;

        if (!u->has_held || w->remove)
                return;
        u->held.start_rev = MIN_OF(u->held.start_rev, w->start_rev);
        u->held.restart_rev = MIN_OF(u->held.restart_rev, w->restart_rev);
        u->held.stop_rev = MIN_OF(u->held.stop_rev, w->stop_rev);
}

static void want(AgentUnit *u, const PlanWanted *wanted, AgentSpec *spec, bool from_template) {
        Agent *a = u->node->agent;

        if (!u->has_wanted || u->wanted.revision != wanted->revision || u->wanted.remove != wanted->remove) {
                // A new request: tried at once, whatever the last one came to.
                u->failures = 0;
                u->looked_again = false;
                u->retry_us = 0;
                u->refused = false;
                if (u->busy == PLAN_NOTHING)
                        agent_unit_clear_error(u);
        }
        agent_spec_unref(a, u->spec);
        u->spec = spec;
        u->wanted = *wanted;
        u->has_wanted = true;
        u->request = a->n_obeyed;
        u->from_template = from_template;
        u->gone = false;
        agent_together_ordered(u);
        clamp_held(u);
        agent_unit_report(u);
        agent_unit_mark(u);
}

static void unwant(AgentUnit *u, uint64_t revision) {
        PlanWanted wanted = {.remove = true, .revision = revision};

        want(u, &wanted, NULL, false);
}

void agent_unit_unwant(AgentUnit *u) {
        unwant(u, u->answered);
}

static PlanWanted decode(const Argosy__UnitOrder *o, const Hash *spec) {
        return (PlanWanted){
                .target = o->target,
                .spec = *spec,
                .revision = o->revision,
                .start_rev = o->start_rev,
                .restart_rev = o->restart_rev,
                .stop_rev = o->stop_rev,
                .outcome = o->outcome && o->outcome->start_rev == o->start_rev ? o->outcome->kind
                                                                               : ARGOSY__OUTCOME__KIND__NONE,
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
                unwant(u, o->revision);
                return 0;
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
        want(u, &wanted, spec, o->from_template);
        return 0;
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
                        unwant(u, u->answered);
                else if (u->busy == PLAN_NOTHING)
                        agent_unit_free(u);
        }
}

static void obey_welcome(Agent *a, const Argosy__ToHost__Welcome *w) {
        Parcel parcel = {w->specs, w->n_specs};

        agent_nodes_number(a, w->nodes, w->n_nodes);
        agent_foreach_node (each, a)
                agent_foreach_unit(other, each) other->in_welcome = false;
        for (size_t i = 0; i < w->n_orders; i++) {
                AgentNode *node = agent_node_find(a, w->orders[i]->node);
                AgentUnit *u;

                obey_orders(a, &w->orders[i], 1, &parcel);
                u = node ? agent_unit_find(node, w->orders[i]->name) : NULL;
                if (u)
                        u->in_welcome = true; // also if the order could not be taken over
        }
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
        } else if (m->msg_case == ARGOSY__TO_HOST__MSG_ORDERS && a->welcomed_seq == a->attach_seq) {
                Parcel parcel = {m->orders->specs, m->orders->n_specs};

                agent_nodes_number(a, m->orders->nodes, m->orders->n_nodes);
                obey_orders(a, m->orders->orders, m->orders->n_orders, &parcel);
        }
        drain_mark(&a->drain);
}
