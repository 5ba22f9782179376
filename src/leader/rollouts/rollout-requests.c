// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests about rollouts: begin one, abort it, wait for its end; and the words that say how one is.
//
//      rollout_controller_plan() -> Plan: content, units, checks -> records in the batch
//          -> on_committed() -> a response
//      rollout_wait_judge(): progress, or the end, for one that waits (queries/waits.c)
//
// One rollout per name is under way at a time; the same request id answers with the first one. Refusals are
// responses; -EBUSY: try again in the next batch; -ENOMEM.

#include <errno.h>
#include <stdarg.h>

#include "affinity.h"
#include "batch-builder.h"
#include "batch-content.h"
#include "carried-files.h"
#include "cluster-state-limits.h"
#include "disruption-budget.h"
#include "ordering.h"
#include "quadlet.h"
#include "registry.h"
#include "replace-cycles.h"
#include "request-replaces.h"
#include "response.h"
#include "rollout-controller.h"
#include "rollout-networks.h"
#include "rollout-private.h"
#include "rollout-survey.h"
#include "scheduler-roles.h"
#include "str.h"
#include "tables.h"
#include "pending-requests.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-install.h"
#include "unit-name.h"
#include "unit-on-node.h"
#include "unit-parts.h"

enum { HEALTH_US_MAX = 3600 * 1000000U };

// ------------------------------------------------------------------------------------------------ requests

static Argosy__Response *response_about(const char *name, uint64_t revision, const char *message) {
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_CHANGE);
        Argosy__Response__UnitResult *result;

        if (!r)
                return NULL;
        result = unit_result_new(name);
        if (FIELD_APPEND(r->change->units, r->change->n_units, result) < 0 ||
            field_set(&result->message, message) < 0)
                return NULL;
        result->revision = revision;
        return TAKE_PTR(r);
}

// The record is newer than the state by which it was planned; else the log did not accept it.
static void on_committed(Leader *l, PendingRequest *t) {
        Argosy__Response__UnitResult *result = t->response->change->units[0];
        const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, result->name);

        if (r && r->revision > result->revision)
                result->revision = r->revision;
        else {
                Argosy__Response *failed = response_error(EIO, "%s: the log did not take it", result->name);

                (void) request_prepare(t, failed);
        }
}

static int into_batch(PendingRequest *t, const Argosy__Request__Rollout *m) {
        // an abort does not change the rollout's revision (see on_committed())
        uint64_t revision = m->abort ? 0 : cluster_state_revision(t->leader->state);

        request_when_committed(t, on_committed, false);
        return request_prepare(t, response_about(m->name, revision, NULL));
}

static int plan_abort(Leader *l, PendingRequest *t, BatchBuilder *b, const Argosy__Request__Rollout *m,
                      const Argosy__RolloutRecord *r) {
        int k;

        if (!rollout_is_under_way(r))
                return request_refuse(t, ENOENT, "nothing is under way for %s", m->name);
        if (rollout_is_returning(r)) {
                request_settle(t, response_about(r->name, r->revision, "it goes back already"));
                return 0;
        }
        k = rollout_turn_back(l, b, r, "its owner gave it up");
        return k < 0 ? k : into_batch(t, m);
}

// What is known while a rollout is planned.
typedef struct Plan {
        const Argosy__Request__Rollout *request;
        const char *name;
        bool template;
        const UnitEntry *entry;  // of the name itself, or NULL
        const UnitFile *file;    // the new content
        Hash hash;               // and its hash
        const SpecEntry *before; // the most frequent content among units with another one; NULL: none
        size_t n_units;
        size_t n_different; // units with another content, without the template's own record
        const char *failed; // the first unit with the new content that has failed or is down; NULL: none
        const char *failure;
} Plan;

// 0, or -EINVAL and *ret_why.
static int check_affinity(Leader *l, const char *name, const UnitOptions *options, char **ret_why) {
        char way[ROLLOUT_REASON_SIZE];
        unsigned line = 1;
        int r = affinity_check(name, options, affinity_of_records, l->state, way, sizeof(way), &line);

        if (r != -ELOOP && r != -E2BIG)
                return r;
        *ret_why = str_printf("%s:%u: units that are to be where each other is: %s", name, line,
                              r == -ELOOP ? way : "more than can be followed");
        return *ret_why ? -EINVAL : -ENOMEM;
}

static int check_replaces(Leader *l, const char *name, const UnitOptions *options, char **ret_why) {
        ReplaceCycles all = {};
        int r = replace_cycles_add_replaced(l->state, options, &all);

        r = r < 0 ? r : replace_cycles_check(&all, name, name, options, ret_why);
        replace_cycles_done(&all);
        return r;
}

// All secrets of a unit that is to run must exist, or its start would fail.
static int check_secret(const Leader *l, const char *name, const char *key, const char *secret,
                        unsigned line, char **ret_why) {
        if (cluster_state_find_secret(l->state, secret))
                return 0;
        *ret_why = str_printf("%s:%u: %s=%s: there is no such secret; `argosyctl secret set %s` makes it",
                              name, line, key, secret, secret);
        return *ret_why ? -EINVAL : -ENOMEM;
}

static int check_secrets(const Leader *l, const char *name, const UnitFile *file,
                         const UnitOptions *options, char **ret_why) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        int r = 0;

        if (!e || e->record->target == ARGOSY__TARGET__TARGET_INACTIVE)
                return 0;
        for (size_t i = 0; i < options->n_secrets && r == 0; i++)
                r = check_secret(l, name, "Secret", options->secrets[i].name, options->secrets[i].line,
                                 ret_why);
        return r == 0 && file->registry_auth ? check_secret(l, name, "RegistryAuth", file->registry_auth,
                                                            file->registry_auth_line, ret_why)
                                             : r;
}

// Whether the unit could have the new content at all. 0, CHECK_REFUSED, or a negative errno.
static int check_unit(PendingRequest *t, const Plan *p, const char *name) {
        _cleanup_free_ char *why = NULL;
        UnitOptions *options = NULL;
        UnitInstall install;
        int r;

        r = unit_install_expand(p->file, name, name, &install, &why);
        if (r == 0) {
                unit_install_done(&install);
                r = unit_file_expand(p->file, name, name, &options, &why);
                if (r == 0 && options->same_node)
                        r = check_affinity(t->leader, name, options, &why);
                if (r == 0 && options->role && !streq(options->role, ROLE_DEFAULT) &&
                    !cluster_state_find_role(t->leader->state, options->role)) {
                        why = str_printf("%s:%u: Role=%s: there is no such role", name, options->role_line,
                                         options->role);
                        r = why ? -EINVAL : -ENOMEM;
                }
                if (r == 0)
                        r = ordering_check(t->leader, name, name, options, &why);
                if (r == 0 && options->replaces)
                        r = check_replaces(t->leader, name, options, &why);
                if (r == 0)
                        r = check_secrets(t->leader, name, p->file, options, &why);
                unit_options_unref(options);
        }
        if (r != -EINVAL)
                return r;
        if (p->request->file &&
            unit_parts_place(name, p->request->file->content.data, p->request->file->content.len, &why) < 0)
                return -ENOMEM;
        request_refuse(t, EINVAL, "%s", why ?: "the file is not valid");
        return CHECK_REFUSED;
}

// Whether it is down as its file says: skipped by a condition, which a restart would not change, needed by
// no unit, or ended well.
static bool is_down_as_its_file_says(const UnitOnNode *s) {
        return unit_on_node_is_skipped(s) || s->down == ARGOSY__DOWN_CAUSE__DOWN_UNNEEDED ||
               s->down == ARGOSY__DOWN_CAUSE__DOWN_ENDED;
}

// Why a unit that is to be up is not well; NULL: it is well, or it is not to be up.
static const char *failure_of(const Leader *l, const Unit *u, const UnitEntry *e) {
        if (e->record->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                return NULL;
        list_foreach (i, &u->on_nodes) {
                const UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);
                const char *why;

                if ((!e->record->global && s->node != u->node) || is_down_as_its_file_says(s))
                        continue;
                why = unit_on_node_failure_since_start(l, s, e);
                if (why)
                        return why;
        }
        return NULL;
}

static void note_failed(const Leader *l, Plan *p, const Unit *u, const UnitEntry *e) {
        p->failure = u && !p->failed ? failure_of(l, u, e) : p->failure;
        if (!p->failed && p->failure)
                p->failed = u->name;
}

typedef struct Look {
        PendingRequest *pending;
        const Plan *plan;
} Look;

static int look_at(const Unit *u, SurveyedUnit *ret, void *userdata) {
        const Look *look = userdata;
        const Plan *p = look->plan;
        const UnitEntry *e = cluster_state_find_unit(look->pending->leader->state, u->name);
        int r = 0;

        if (!e || !e->record->from_template)
                return 0;
        if (p->file)
                r = check_unit(look->pending, p, e->record->name);
        ret->counts = true;
        ret->hash = &e->spec->hash;
        ret->same = hash_equal(&e->spec->hash, &p->hash);
        ret->not_well = ret->same && failure_of(look->pending->leader, u, e);
        return r;
}

// 0; -EBUSY: more units than one turn takes; CHECK_REFUSED; or a negative errno. If no unit has another
// content, the template's own record gives `before`.
static int tally_units(Leader *l, PendingRequest *t, Plan *p) {
        DisruptionBudget *g = p->template ? disruption_budget_find(l, p->name) : NULL;
        Look look = {t, p};
        Surveyed s = {};
        int r = g ? rollout_survey(l, g, p->request->id.data, look_at, &look, &s) : 0;

        if (r != 0)
                return r;
        p->n_units = s.n_units;
        p->n_different = s.n_different;
        p->before = s.n_different > 0 ? cluster_state_find_spec(l->state, &s.before) : NULL;
        if (p->entry && !hash_equal(&p->entry->spec->hash, &p->hash)) {
                p->n_different += !p->template;
                p->before = p->before ?: p->entry->spec;
        } else if (p->entry)
                note_failed(l, p, unit_find(l, p->name), p->entry);
        if (s.not_well)
                note_failed(l, p, s.not_well, cluster_state_find_unit(l->state, s.not_well->name));
        return 0;
}

// The request's file, or the template's content. 0, CHECK_REFUSED, or a negative errno. *ret_parsed: the
// caller's.
static int find_content(PendingRequest *t, Plan *p, UnitFile **ret_parsed) {
        const Argosy__NamedFile *f = p->request->file;
        _cleanup_free_ char *why = NULL;
        int r;

        *ret_parsed = NULL;
        if (!f) {
                if (!p->entry || !p->template) {
                        request_refuse(t, ENOENT,
                                      p->request->pull && disruption_budget_find(t->leader, p->name)
                                              ? "%s: its units have several files; name the one to update to"
                                              : "%s: there is no file of that name",
                                      p->name);
                        return CHECK_REFUSED;
                }
                p->hash = p->entry->spec->hash;
                return spec_entry_file(p->entry->spec, &p->file);
        }
        r = unit_file_parse(*f->path ? f->path : f->name, f->content.data, f->content.len, ret_parsed, &why);
        if (r >= 0)
                r = unit_file_check_sections(*f->path ? f->path : f->name, f->content.data, f->content.len,
                                             &why);
        if (r >= 0)
                r = carried_files_check(*f->path ? f->path : f->name, f->name, f->content.data,
                                        f->content.len, *ret_parsed, &why);
        if (r == -EINVAL) {
                request_refuse(t, EINVAL, "%s", why ?: "the file is not valid");
                return CHECK_REFUSED;
        }
        if (r >= 0)
                r = unit_file_check_name(*ret_parsed, p->name, &why);
        if (r == -EINVAL) {
                request_refuse(t, EINVAL, "%s: %s", p->name, why ?: "its files cannot be");
                return CHECK_REFUSED;
        }
        p->file = *ret_parsed;
        p->hash = hash_of(f->content.data, f->content.len);
        return r;
}

// 0 or CHECK_REFUSED.
static int check_global(PendingRequest *t, const Plan *p) {
        bool global = !p->template && p->entry->record->global;

        if (p->file->global == global)
                return 0;
        request_refuse(t, EINVAL,
                      p->template
                              ? "instances that run on every node are updated one by one: name the instance"
                              : "Global= differs from what %s has; use `start --replace`",
                      p->name);
        return CHECK_REFUSED;
}

// A volume that is on a node already, or a network that somebody else changes. 0, CHECK_REFUSED or -ENOMEM.
static int check_beside(PendingRequest *t, const Plan *p) {
        const Argosy__NamedFile *f = p->request->file;
        const void *next = f ? f->content.data : p->entry ? p->entry->spec->content : NULL;
        size_t len = f ? f->content.len : p->entry ? p->entry->spec->len : 0;
        _cleanup_free_ char *why = NULL;
        const char *other = NULL;
        int r = 0;

        if (p->before)
                r = quadlet_beside_check_next(p->before->content, p->before->len, next, len, &why);
        if (r == -EINVAL) {
                request_refuse(t, EINVAL, "%s: %s", p->name, why);
                return CHECK_REFUSED;
        }
        if (r == 0 && p->before && p->file->container)
                r = rollout_networks_in_the_way(t->leader, p->name, p->before,
                                                &(ChangeContent){p->file, next, len}, &other);
        if (r < 0 || !other)
                return r;
        request_refuse(t, EEXIST,
                       "%s: %s shares a network with it, and an update or restart of that is under way; "
                       "wait for its end, or end it with `argosyctl update --abort`",
                       p->name, other);
        return CHECK_REFUSED;
}

// With nothing to change it is over at once, however its units are: none of them has anything to prove.
static int put_content(Leader *l, PendingRequest *t, BatchBuilder *b, const Plan *p) {
        Argosy__NamedFile *f = p->request->file;
        const SentFiles sent = {&f, 1};
        _cleanup_free_ char *reason = NULL;
        char why[CLUSTER_REFUSAL_SIZE];
        int r = f ? batch_put_content(b, l->state, &sent, &p->hash, f->content.data, f->content.len, &reason)
                  : 0;

        if (r == -EINVAL) {
                request_refuse(t, EINVAL, "%s: %s", p->name, reason ?: "its files cannot be");
                return CHECK_REFUSED;
        }
        if (r == -EDQUOT) {
                request_refuse(t, ENOSPC, "%s: %s", p->name,
                              cluster_refusal_words(l->state, b->refusal, why));
                return CHECK_REFUSED;
        }
        return r;
}

static int put_update(Leader *l, PendingRequest *t, BatchBuilder *b, const Plan *p,
                      Argosy__RolloutRecord *r) {
        ProtobufCBinaryData spec = hash_field(&p->hash);
        int k;

        if (p->n_different > 0) {
                r->spec = spec;
                r->spec_before = hash_field(&p->before->hash);
        } else
                r->phase = ARGOSY__ROLLOUT_PHASE__ROLLOUT_DONE;
        k = put_content(l, t, b, p);
        return k != 0 ? k : rollout_put_template(l, b, p->name, &spec);
}

// The unit has this file already but is not well: the update is answered with an error, since its author
// expects a running unit.
static int say_failed(PendingRequest *t, const Plan *p) {
        Argosy__Response__UnitResult *result = t->response->change->units[0];

        result->status = EIO;
        return field_printf(
                &result->message,
                "it has that file already, so nothing is started; %s is not well (%s), and `restart` tries "
                "again",
                p->failed, p->failure);
}

// Hosts that cannot have the image leave the update before it begins.
static int say_without(PendingRequest *t) {
        return field_printf(&t->response->change->units[0]->message,
                            "%s without its image keep%s the file of before: %s",
                            t->without.n > 1 ? "nodes" : "a node", t->without.n > 1 ? "" : "s",
                            t->without.why);
}

static int plan_begin(Leader *l, PendingRequest *t, BatchBuilder *b, Plan *p) {
        const Argosy__Request__Rollout *m = p->request;
        Argosy__RolloutRecord next = ARGOSY__ROLLOUT_RECORD__INIT;
        _cleanup_(unit_file_freep) UnitFile *parsed = NULL;
        BatchBuilderMark mark;
        bool update = m->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        int r = update ? find_content(t, p, &parsed) : 0;

        if (r == 0)
                r = tally_units(l, t, p);
        if (r == 0 && !p->entry && p->n_units == 0) {
                request_refuse(t, ENOENT, "%s: no such unit in the cluster", p->name);
                r = CHECK_REFUSED;
        }
        if (r == 0 && update)
                r = check_global(t, p) ?: check_unit(t, p, p->name) ?: check_beside(t, p);
        if (r != 0)
                return r == CHECK_REFUSED ? 0 : r;
        mark = batch_builder_mark(b);
        next.name = (char *) p->name;
        next.kind = m->kind;
        next.max_unavailable = m->max_unavailable;
        next.percent = m->percent;
        next.health_us = m->health_us;
        next.request = m->id;
        next.secret = m->secret;
        next.without = t->without.nodes;
        next.n_without = t->without.n;
        r = update ? put_update(l, t, b, p, &next) : 0;
        if (r == CHECK_REFUSED) {
                batch_builder_rollback(b, mark);
                return 0;
        }
        if (r >= 0)
                r = batch_builder_put_rollout(b, &next);
        if (r >= 0)
                r = into_batch(t, m);
        if (r == PLAN_IN_BATCH && update && p->n_different == 0 && p->failed && say_failed(t, p) < 0)
                return -ENOMEM;
        if (r == PLAN_IN_BATCH && t->without.n > 0 && say_without(t) < 0)
                return -ENOMEM;
        return r;
}

static bool is_sensible(const Argosy__Request__Rollout *m) {
        return m->id.len == ROLLOUT_ID_SIZE && m->health_us <= HEALTH_US_MAX &&
               (!m->percent || (m->max_unavailable >= 1 && m->max_unavailable <= 100)) &&
               (m->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE ||
                m->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART);
}

int rollout_controller_plan_as(Leader *l, PendingRequest *t, BatchBuilder *b,
                               const Argosy__Request__Rollout *m) {
        const Argosy__RolloutRecord *now;
        UnitNameKind kind = unit_name_kind(m->name, NULL);
        Plan p = {.request = m, .name = m->name, .template = kind == UNIT_NAME_TEMPLATE};

        if (!is_sensible(m) || kind == UNIT_NAME_INVALID)
                return request_refuse(t, EINVAL, "%s is no name, or a number is out of range", m->name);
        if (m->pull && m->unpinned)
                return request_refuse(t, EINVAL,
                                      "%s: --pull asks a registry for the digest of the image, and "
                                      "--unpinned asks none: leave one of them out",
                                      m->name);
        if (*m->secret && (m->kind != ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART ||
                           !cluster_state_find_secret(l->state, m->secret)))
                return request_refuse(
                        t, EINVAL,
                        "%s: units are restarted for a secret that there is, and there is no '%.64s'",
                        m->name, m->secret);
        if (batch_builder_has_rollout(b, m->name) || batch_builder_has_unit(b, m->name))
                return -EBUSY;
        p.entry = cluster_state_find_unit(l->state, m->name);
        now = cluster_state_find_rollout(l->state, m->name);
        if (now && now->request.len == 16 && memcmp(now->request.data, m->id.data, 16) == 0) {
                request_settle(t, response_about(m->name, now->revision, NULL)); // sent again
                return 0;
        }
        if (m->abort)
                return plan_abort(l, t, b, m, now);
        if (rollout_is_under_way(now)) {
                char phrase[ROLLOUT_REASON_SIZE];

                (void) rollout_phrase(l, m->name, phrase, sizeof(phrase));
                return request_refuse(t, EEXIST,
                                     "%s: %s; wait for that, or end it with `argosyctl update --abort`",
                                     m->name, phrase);
        }
        if (kind == UNIT_NAME_INSTANCE && p.entry && p.entry->record->from_template &&
            !p.entry->record->global)
                return request_refuse(t, EINVAL, "%s is an instance; name its template", m->name);
        return plan_begin(l, t, b, &p);
}

int rollout_controller_plan(Leader *l, PendingRequest *t, BatchBuilder *b) {
        return rollout_controller_plan_as(l, t, b, t->request->rollout);
}

// ------------------------------------------------------------------------------------------------ telling

const char *rollout_word(const Leader *l, const char *name) {
        const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, name);

        if (!rollout_is_under_way(r))
                return NULL;
        return rollout_is_returning(r) ? "returning" : rollout_is_update(r) ? "updating" : "restarting";
}

bool rollout_phrase(const Leader *l, const char *name, char *ret, size_t size) {
        const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, name);
        const Rollout *o = rollout_find(l, name);
        size_t n;

        if (!rollout_is_under_way(r))
                return false;
        n = str_fit(ret, size, "it %s, %zu of %zu are left",
                    rollout_is_returning(r) ? "goes back to the content of before"
                    : rollout_is_update(r)  ? "is being updated"
                                            : "is being restarted",
                    o ? o->left : 0, o ? o->n_items : 0);
        if (o && o->n_down >= o->max)
                n += str_fit(ret + n, size - n, "; %zu down or new, and %zu may be", o->n_down, o->max);
        else if (o && o->held)
                n += str_fit(ret + n, size - n,
                             "; what would go down with it has to wait for its own MaxUnavailable=");
        if (rollout_is_returning(r))
                str_fit(ret + n, size - n, " (%s)", r->reason);
        return true;
}

static Argosy__Response *ended_response(const Argosy__RolloutRecord *r, const char *name,
                                        uint64_t revision) {
        if (!r)
                return response_error(ENODATA,
                                      "%s: the record of this update or restart is not kept any more: how "
                                      "it ended is not known",
                                      name);
        if (r->revision != revision)
                return response_error(ECANCELED, "%s: another update or restart has taken its place", name);
        switch (r->phase) {
        case ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNED:
                return response_error(EIO, "%s; everything has the file of before again", r->reason);
        case ARGOSY__ROLLOUT_PHASE__ROLLOUT_STOPPED:
                return response_error(EIO, "%s; nothing more is changed", r->reason);
        default: // a `reason` at a good end: a unit has no node
                return *r->reason ? response_error(ENOSPC, "%s", r->reason)
                                  : response_new(ARGOSY__RESPONSE__WHAT_PROGRESS);
        }
}

void rollout_wait_judge(Leader *l, PendingRequest *t) {
        const Argosy__Request__RolloutWait *m = t->request->rollout_wait;
        const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, m->name);
        const Rollout *o = rollout_find(l, m->name);
        Argosy__Response *response;

        if (!rollout_is_under_way(r) || r->revision != m->revision) {
                request_settle(t, ended_response(r, m->name, m->revision));
                return;
        }
        if (!o || o->due || !request_report(t, o->left))
                return;
        response = response_progress(o->left);
        if (response && rollout_is_returning(r))
                (void) field_set(&response->message, r->reason);
        request_send(t, response);
}
