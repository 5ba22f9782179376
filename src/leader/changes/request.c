// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What each unit of a Change becomes: what its record will say, what it brings along, and where it is
// placed. All of a unit goes into the batch or nothing does, and then its result says why. When
// change_plan() fails, the batch is as it was. Where its content comes from is in request-source.c; the
// facets that look at several units are in request-load-with.c, request-affinity.c, request-dependencies.c
// and request-replaces.c.

#include <errno.h>

#include "batch-content.h"
#include "carried-files.h"
#include "placement.h"
#include "planner.h"
#include "quadlet.h"
#include "request-turns.h"
#include "request.h"
#include "response.h"
#include "scheduler-spec.h"
#include "str.h"
#include "unit-install.h"
#include "unit-name.h"
#include "unit-parts.h"

typedef struct Wanted {
        Argosy__Target target;
        unsigned bump;
        bool keeps_secrets;
} Wanted;

// 0, UNIT_REFUSED, -ENOMEM.
static int want(Argosy__Verb verb, const Argosy__UnitRecord *record, Wanted *ret,
                Argosy__Response__UnitResult *result) {
        Argosy__Target now = record ? record->target : ARGOSY__TARGET__TARGET_INACTIVE;
        int r;

        *ret = (Wanted){.target = now};
        switch (verb) {
        case ARGOSY__VERB__VERB_SUBMIT:
                return 0;
        case ARGOSY__VERB__VERB_LOAD:
                ret->target = MAX_OF(now, ARGOSY__TARGET__TARGET_LOADED);
                return 0;
        case ARGOSY__VERB__VERB_START:
                *ret = (Wanted){ARGOSY__TARGET__TARGET_LAUNCHED, BATCH_BUMP_START};
                return 0;
        case ARGOSY__VERB__VERB_STOP:
        case ARGOSY__VERB__VERB_RESTART:
                if (now == ARGOSY__TARGET__TARGET_INACTIVE) {
                        r = unit_result_fail(result, ENOTCONN, "the unit is not loaded");
                        return r < 0 ? r : UNIT_REFUSED;
                }
                if (verb == ARGOSY__VERB__VERB_STOP)
                        *ret = (Wanted){ARGOSY__TARGET__TARGET_LOADED, BATCH_BUMP_STOP};
                else if (now == ARGOSY__TARGET__TARGET_LAUNCHED) // also a finished one-shot is to run again
                        *ret = (Wanted){ARGOSY__TARGET__TARGET_LAUNCHED,
                                        BATCH_BUMP_START | BATCH_BUMP_RESTART};
                else
                        *ret = (Wanted){ARGOSY__TARGET__TARGET_LAUNCHED, BATCH_BUMP_START};
                return 0;
        default: // unload
                ret->target = ARGOSY__TARGET__TARGET_INACTIVE;
                return 0;
        }
}

// A pool that it asks for and that nobody has made. NULL: there is none such.
static const char *unknown_pool(const Planner *p, const UnitOptions *options) {
        for (size_t i = 0; i < options->n_labels; i++) {
                const LabelMatch *m = &options->labels[i];
                bool known = m->op != LABEL_IN || !streq(m->key, PLACEMENT_POOL);

                for (char **v = m->values; !known && *v; v++)
                        known = cluster_state_find_pool(p->state, *v);
                if (!known)
                        return *m->values;
        }
        return NULL;
}

// Chooses the node of a unit that is to be loaded; one that stays as it is, is where it is whatever its
// options ask for by now; one that comes to a network of which others there have another file gets another
// node, or stays as it is. UNIT_REFUSED: the result has the reasons, too.
static int place(Planner *p, const UnitFile *file, const UnitOptions *options, Argosy__UnitRecord *next,
                 bool changes, bool stays, Argosy__Response__UnitResult *result) {
        _cleanup_free_ char *activates = NULL, *socket = NULL;
        ChangePlace found = {};
        char met[REQUEST_MET_SIZE] = "";
        int r;

        if (options->global) {
                if (next->node && p->ops->leaves)
                        p->ops->leaves(next->name, p->userdata);
                next->global = true;
                next->node = 0;
                return 0;
        }
        next->global = false;
        if (next->node && p->ops->may_stay(next->node, stays ? NULL : options, p->userdata)) {
                if (p->ops->stays && (changes || request_has_only_shared(p, next->name)))
                        p->ops->stays(next->name, options, next->node, p->userdata);
                r = request_meet_others(p, next->name, !changes, met, result);
                if (r != 0 || !*met)
                        return r;
        }
        if (next->node && p->ops->waits && p->ops->waits(next->name, p->userdata))
                return 0;
        r = unit_file_activates(file, next->name, &activates);
        if (r == 0)
                r = unit_file_own_socket(file, next->name, &socket);
        if (r < 0)
                return r;
        r = p->ops->place(next->name, activates ?: socket, options, request_mate(p, next->name), &found,
                          p->userdata);
        if (r == -ENOSPC || r == -EINVAL) {
                r = unit_result_fail(result, ENOSPC, SCHEDULER_UNCOUNTABLE);
                return r < 0 ? r : UNIT_REFUSED;
        }
        if (r == -E2BIG) {
                result->status = E2BIG;
                r = field_printf(&result->message,
                                 "more than %d units would have to be on one node together (MachineOf=)",
                                 PLACEMENT_FOLLOWS_MAX);
                return r < 0 ? r : UNIT_REFUSED;
        }
        if (r < 0)
                return r;
        result->refusals = found.refusals;
        result->n_refusals = found.n_refusals;
        if (found.node) {
                next->node = found.node;
                return 0;
        }
        if (*met) {
                result->status = EEXIST;
                r = field_printf(&result->message, "%s, and no other node takes the unit", met);
                return r < 0 ? r : UNIT_REFUSED;
        }
        if (*found.elsewhere && p->change->verb != ARGOSY__VERB__VERB_STOP) {
                result->status = EEXIST;
                r = field_set(&result->message, found.elsewhere);
                return r < 0 ? r : UNIT_REFUSED;
        }
        if (changes) // it may not stay where it was
                next->node = 0;
        if (!found.possible && p->change->verb != ARGOSY__VERB__VERB_STOP) {
                const char *pool = unknown_pool(p, options);

                result->status = ENOSPC;
                r = pool ? field_printf(&result->message,
                                        "there is no pool '%s'; `argosyctl pool set %s NODE...` makes it",
                                        pool, pool)
                         : field_set(&result->message, "no node of this cluster can take the unit");
                return r < 0 ? r : UNIT_REFUSED;
        }
        if (*result->message)
                return 0;
        if (*found.why)
                return field_printf(&result->message, "%s; the unit waits", found.why);
        return field_set(&result->message, "no node takes the unit at present; it waits for one");
}

static bool record_differs(const Argosy__UnitRecord *a, const Argosy__UnitRecord *b) {
        return a->target != b->target || a->node != b->node || a->global != b->global ||
               a->from_template != b->from_template || !streq(a->set, b->set) ||
               a->spec.len != b->spec.len || memcmp(a->spec.data, b->spec.data, a->spec.len) != 0;
}

// *ret_ignored: what argosy leaves out of [Install], for the answer; NULL: nothing.
static int check_install(const Source *source, const char *name, char **ret_ignored, char **ret_why) {
        UnitInstall install;
        int r = unit_install_expand(source->file, source->path ?: name, name, &install, ret_why);

        if (r < 0)
                return r;
        if (source->content)
                *ret_ignored = TAKE_PTR(install.ignored);
        unit_install_done(&install);
        return 0;
}

enum { PLACED_BYTES_MAX = 1024 * 1024 }; // in which lines are looked for in one turn

// A sentence that begins with a line of the content that came says the line of the drop-in instead, if it is
// in one.
static int place_line(Planner *p, const Source *source, const char *name, char **why) {
        if (!*why || !source->content || p->placed_bytes > PLACED_BYTES_MAX)
                return 0;
        p->placed_bytes += source->len;
        return unit_parts_place(source->path ?: name, source->content, source->len, why);
}

// A rollout knows one content before and one after. 0, UNIT_REFUSED, -ENOMEM.
static int refuse_during_rollout(const Planner *p, const UnitEntry *u, const Source *source,
                                 Argosy__Response__UnitResult *result) {
        _cleanup_free_ char *name = NULL;
        int r;

        if (!u || hash_equal(&u->spec->hash, &source->hash))
                return 0;
        r = request_is_rolled_out(p, u, &name);
        if (r <= 0)
                return r;
        result->status = EEXIST;
        r = field_printf(&result->message,
                         "an update or restart of %s is under way; wait for its end, or end it with "
                         "`argosyctl update --abort`",
                         name);
        return r < 0 ? r : UNIT_REFUSED;
}

// 0, UNIT_REFUSED, -ENOMEM.
static int refuse_unknown_role(const Planner *p, const Source *source, const UnitOptions *options,
                               Argosy__Response__UnitResult *result) {
        int r;

        if (!options->role || !request_takes_file(p->change) || !p->ops->role_known)
                return 0;
        r = p->ops->role_known(options->role, p->userdata);
        if (r != 0)
                return r < 0 ? r : 0;
        result->status = EINVAL;
        r = field_printf(&result->message,
                         "%s:%u: Role=%s: there is no such role; `argosyctl role set %s` makes it",
                         source->path ?: result->name, options->role_line, options->role, options->role);
        return r < 0 ? r : UNIT_REFUSED;
}

// It runs where it is to run on, so that the content that it has is known to do: should the other one not
// start, that comes back.
static bool is_tried(const Planner *p, const UnitEntry *u, const Argosy__UnitRecord *next,
                     const Source *source) {
        return u && u->record->target == ARGOSY__TARGET__TARGET_LAUNCHED &&
               next->target == ARGOSY__TARGET__TARGET_LAUNCHED && next->global == u->record->global &&
               !hash_equal(&u->spec->hash, &source->hash) && p->ops->is_up &&
               p->ops->is_up(u->record->name, p->userdata);
}

static bool is_restarted_as_it_is(const Planner *p, const UnitEntry *u, const Source *source) {
        return p->change->verb == ARGOSY__VERB__VERB_RESTART && !source->changes &&
               u->record->target == ARGOSY__TARGET__TARGET_LAUNCHED;
}

// What the batch has said of the unit's operation. 0, UNIT_REFUSED, -ENOMEM.
static int judged(const Planner *p, int r, Argosy__Response__UnitResult *result) {
        char why[CLUSTER_REFUSAL_SIZE];

        if (r != -EDQUOT)
                return r;
        r = unit_result_fail(result, ENOSPC, cluster_refusal_words(p->batch->state, p->batch->refusal, why));
        return r < 0 ? r : UNIT_REFUSED;
}

// UNIT_REFUSED.
static int put_content(Planner *p, const Source *source, Argosy__Response__UnitResult *result) {
        const SentFiles sent = {p->change->files, p->change->n_files};
        _cleanup_free_ char *why = NULL;
        int r;

        if (!source->content)
                return 0;
        r = batch_put_content(p->batch, p->state, &sent, &source->hash, source->content, source->len, &why);
        if (r != -EINVAL)
                return judged(p, r, result);
        r = unit_result_fail(result, EINVAL, why ?: "its files cannot be");
        return r < 0 ? r : UNIT_REFUSED;
}

// What of its files depends on the name. UNIT_REFUSED.
static int refuse_files(const Source *source, const char *name, Argosy__Response__UnitResult *result) {
        _cleanup_free_ char *why = NULL;
        int r = unit_file_check_name(source->file, name, &why);

        if (r != -EINVAL)
                return r;
        r = unit_result_fail(result, EINVAL, why ?: "its files cannot be");
        return r < 0 ? r : UNIT_REFUSED;
}

// A volume that is on its node already. UNIT_REFUSED.
static int refuse_beside(const Planner *p, const UnitEntry *u, const Source *source,
                         Argosy__Response__UnitResult *result) {
        _cleanup_free_ char *why = NULL;
        ChangeContent next;
        int r;

        if (!u || !source->file->container || hash_equal(&u->spec->hash, &source->hash) ||
            !request_find_text(p, source, &next))
                return 0;
        r = quadlet_beside_check_next(u->spec->content, u->spec->len, next.text, next.len, &why);
        if (r != -EINVAL)
                return r;
        r = unit_result_fail(result, EINVAL, why);
        return r < 0 ? r : UNIT_REFUSED;
}

// A host that cannot have its new image. Of a unit that has had no node nothing stops: it pulls as any that
// starts. UNIT_REFUSED.
static int refuse_image(const Planner *p, const UnitEntry *u, const Source *source,
                        const Argosy__UnitRecord *next, Argosy__Response__UnitResult *result) {
        ChangeContent content = {.file = source->file};
        _cleanup_free_ char *why = NULL;
        int r;

        if (!p->ops->image || !source->file->container || !u ||
            u->record->target != ARGOSY__TARGET__TARGET_LAUNCHED ||
            next->target != ARGOSY__TARGET__TARGET_LAUNCHED ||
            (hash_equal(&u->spec->hash, &source->hash) &&
             (u->record->node == 0 || next->node == u->record->node)) ||
            !request_find_text(p, source, &content))
                return 0;
        r = p->ops->image(result->name, next->node, &content, &why, p->userdata);
        if (r == 0 && why)
                r = unit_result_fail(result, EREMOTEIO, why);
        return r < 0 || !why ? r : UNIT_REFUSED;
}

// The record that the unit is to have. UNIT_REFUSED.
static int plan_record(Planner *p, const char *name, UnitEntry *u, const Source *source,
                       const Wanted *wanted, Argosy__Response__UnitResult *result) {
        _cleanup_free_ char *why = NULL, *ignored = NULL;
        UnitOptions *options = NULL;
        Argosy__UnitRecord next = ARGOSY__UNIT_RECORD__INIT;
        Argosy__Trial trial = ARGOSY__TRIAL__INIT;
        Argosy__UnitExtra extra;
        unsigned bump = wanted->bump;
        int r;

        if (u)
                next = *u->record;
        next.name = (char *) name;
        next.spec = (ProtobufCBinaryData){.data = (uint8_t *) source->hash.bytes, .len = HASH_SIZE};
        next.from_template = source->from_template;
        next.target = wanted->target;
        if (source->set)
                next.set = (char *) source->set;

        r = check_install(source, name, &ignored, &why);
        if (r == 0)
                r = place_line(p, source, name, &ignored);
        if (r == 0)
                r = unit_file_expand(source->file, source->path ?: name, name, &options, &why);
        if (r == -EINVAL) {
                r = place_line(p, source, name, &why);
                if (r == 0)
                        r = unit_result_fail(result, EINVAL, why);
                return r < 0 ? r : UNIT_REFUSED;
        }
        if (r >= 0 && request_takes_file(p->change))
                r = request_note_order(p, name, u, source, options);
        if (r == 0 && request_takes_file(p->change))
                r = request_check_affinity(p, name, source, options, result);
        if (r == 0 && request_takes_file(p->change))
                r = request_check_replaces(p, name, source, options, result);
        if (r == 0)
                r = refuse_unknown_role(p, source, options, result);
        if (r == 0)
                r = request_check_secrets(p, source, options, next.target, result);
        if (r == 0)
                r = refuse_during_rollout(p, u, source, result) ?: refuse_files(source, name, result);
        if (r == 0)
                r = refuse_beside(p, u, source, result);
        if (r == 0)
                r = request_share_networks(p, u, source, options, result);
        if (r != 0) {
                unit_options_unref(options);
                return r;
        }
        if (next.target == ARGOSY__TARGET__TARGET_INACTIVE) {
                next.node = 0;
                next.global = options->global;
        } else
                r = place(p, source->file, options, &next, source->changes && u,
                          u && is_restarted_as_it_is(p, u, source), result);
        bump |= request_bump_secrets(p, u, source, options, &next, bump, wanted->keeps_secrets);
        unit_options_unref(options);
        if (r != 0)
                return r;

        r = refuse_image(p, u, source, &next, result) ?: put_content(p, source, result);
        if (r != 0)
                return r;
        if (ignored && !*result->message) {
                for (char *end = ignored; (end = strchr(end, '\n')); end++)
                        *end = ' '; // one sentence
                r = field_set(&result->message, ignored);
                if (r < 0)
                        return r;
        }
        if (u && !wanted->bump && !record_differs(&next, u->record))
                return 0;
        next.extra = unit_extra_with_trial(&extra, u ? u->record : &next,
                                           is_tried(p, u, &next, source) ? &trial : NULL);
        return judged(p, batch_builder_put_unit(p->batch, &next, bump, 0), result);
}

// "main" if the template says DefaultInstance=main, else "1". What has specifiers is known on a node only.
static const char *instance_for_example(const Planner *p, const char *template) {
        UnitEntry *e = cluster_state_find_unit(p->state, template);
        const UnitFile *file;

        if (!e || spec_entry_file(e->spec, &file) < 0 || !file->default_instance ||
            strchr(file->default_instance, '%'))
                return "1";
        return file->default_instance;
}

static int check_name(const Planner *p, const char *name, Argosy__Response__UnitResult *result) {
        Argosy__Verb verb = p->change->verb;
        const char *why = "";
        UnitNameKind kind = unit_name_kind(name, &why);
        int r;

        if (kind == UNIT_NAME_INVALID)
                r = unit_result_fail(result, EINVAL, why);
        else if ((why = unit_name_reserved(name)))
                r = unit_result_fail(result, EPERM, why);
        else if (kind == UNIT_NAME_TEMPLATE && verb != ARGOSY__VERB__VERB_SUBMIT &&
                 verb != ARGOSY__VERB__VERB_DESTROY) {
                size_t len;
                const char *prefix = unit_name_prefix(name, &len);

                result->status = EINVAL;
                r = field_printf(&result->message,
                                 "this is a template; name an instance of it, for example %.*s@%s%s",
                                 (int) len, prefix, instance_for_example(p, name), unit_name_suffix(name));
        } else
                return 0;
        return r < 0 ? r : UNIT_REFUSED;
}

static int plan_aim(Planner *p, const char *name, UnitEntry *u, const ChangeAim *aim,
                    Argosy__Response__UnitResult *result) {
        Wanted wanted = {aim->target, aim->bump, aim->keeps_secrets};
        Source source;
        int r;

        if (aim->remove)
                return judged(p, batch_builder_remove_unit(p->batch, name), result);
        r = request_find_aimed(p, u, aim, &source, result);
        if (r == 0)
                r = plan_record(p, name, u, &source, &wanted, result);
        return r ?: request_warn_ends(p, name, &source, result);
}

// What an earlier request of the entry says of it stays.
void request_take_back(Planner *p, const char *name, BatchBuilderMark mark) {
        batch_builder_rollback(p->batch, mark);
        if (p->ops->unplace && (!batch_builder_has_unit(p->batch, name) || request_has_only_shared(p, name)))
                p->ops->unplace(name, p->userdata);
        request_content_take_back(p, name);
        request_sharers_take_back(p, name);
}

int request_plan_unit(Planner *p, const char *name, Argosy__Response__UnitResult *result) {
        Argosy__Verb verb = p->change->verb;
        UnitEntry *u = cluster_state_find_unit(p->state, name);
        Source source;
        Wanted wanted;
        int r;

        r = check_name(p, name, result);
        if (r == 0)
                r = request_refuse_cycle(p, name, result);
        if (r != 0)
                return r;
        if (p->ops->aim)
                return plan_aim(p, name, u, p->ops->aim(name, p->userdata), result);
        if (!u && !request_needs_file(verb)) {
                r = unit_result_fail(result, ENOENT, "no such unit");
                return r < 0 ? r : UNIT_REFUSED;
        }
        r = request_warn_activated(p, name, result);
        if (r == 0)
                r = request_take_along(p, name, result);
        if (r != 0)
                return r;
        if (verb == ARGOSY__VERB__VERB_DESTROY) {
                r = request_tell_volumes(p, u, result);
                return r ?: judged(p, batch_builder_remove_unit(p->batch, name), result);
        }
        r = request_find_source(p, name, u, &source, result);
        if (r != 0)
                return r;
        r = want(verb, u ? u->record : NULL, &wanted, result);
        if (r != 0)
                return r;
        if (verb == ARGOSY__VERB__VERB_LOAD || verb == ARGOSY__VERB__VERB_START)
                r = request_bring_along(p, name, &source, result);
        if (r >= 0 && (request_takes_file(p->change) || verb == ARGOSY__VERB__VERB_RESTART))
                r = request_bring_dependencies(p, name, &source, result);
        if (r != 0)
                return r;
        r = plan_record(p, name, u, &source, &wanted, result);
        r = r ?: request_warn_ends(p, name, &source, result);
        return r ?: request_warn_apart(p, name, &source, result);
}

// Plans a unit that the request names, unless the name had its turn before.
static int plan_named(Planner *p, char *name, Map *had, Argosy__Response__UnitResult **ret) {
        BatchBuilderMark mark = batch_builder_mark(p->batch);
        int r = p->change->n_names > 1 ? map_add_str(had, name, name) : 0;

        if (r < 0)
                return r == -EEXIST ? 0 : r;
        if (strlen(name) <= UNIT_NAME_MAX && batch_builder_has_unit(p->batch, name)) {
                if (!batch_builder_has_unit_since(p->batch, name, p->start))
                        return -EBUSY;
                if (!request_has_only_shared(p, name))
                        return 0;
        }
        *ret = unit_result_new(name);
        if (!*ret)
                return -ENOMEM;
        p->too_many_along = false;
        p->n_along_before = p->n_along;
        r = request_plan_unit(p, name, *ret);
        if (r == UNIT_REFUSED) {
                request_take_back(p, name, mark);
                p->n_along = p->n_along_before;
                p->shared = (ContentStep){};
        }
        return MIN_OF(r, 0);
}

// One for each name that is there, in their order, whatever the turns were.
static int append_results(const Planner *p, Argosy__Response__UnitResult **results,
                          Argosy__Response__Change *change) {
        int r = 0;

        for (size_t i = 0; i < p->change->n_names && r >= 0; i++)
                if (results[i])
                        r = FIELD_APPEND(change->units, change->n_units, TAKE_PTR(results[i]));
        return r;
}

static int plan_in_turns(Planner *p, RequestTurns *turns, Argosy__Response__Change *change) {
        _cleanup_free_ Argosy__Response__UnitResult **results =
                calloc(p->change->n_names + 1, sizeof(*results));
        _cleanup_(map_done) Map had = {};
        size_t name;
        int r = results ? 0 : -ENOMEM;

        while (r >= 0 && request_turns_next(p, turns, &name))
                r = plan_named(p, p->change->names[name], &had, &results[name]);
        if (r >= 0)
                r = append_results(p, results, change);
        for (size_t i = 0; results && i < p->change->n_names; i++)
                message_free(results[i]);
        return r;
}

// PLAN_ALL_AGAIN: what was planned is to be taken back, and done again.
static int plan_all(Planner *p, Argosy__Response__Change *change) {
        RequestTurns turns;
        int r = request_turns_begin(p, &turns);

        p->n_along = 0;
        p->shared = (ContentStep){};
        p->unshared.status = 0;
        if (r >= 0)
                r = plan_in_turns(p, &turns, change);
        request_turns_done(&turns);
        return r < 0 ? r : request_judge_order(p);
}

int change_plan(ClusterState *state, const Argosy__Request__Change *change, BatchBuilder *b,
                const ChangeOps *ops, void *userdata, Argosy__Response **ret) {
        _cleanup_response_ Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT_CHANGE);
        BatchBuilderMark mark = batch_builder_mark(b);
        Planner p = {.state = state,
                     .change = change,
                     .batch = b,
                     .ops = ops,
                     .userdata = userdata,
                     .start = mark};
        int r = -ENOMEM;

        p.parsed = calloc(change->n_files + 1, sizeof(*p.parsed));
        p.hashes = calloc(change->n_files + 1, sizeof(*p.hashes));
        if (response && p.parsed && p.hashes)
                r = request_number_files(&p);
        if (r >= 0)
                r = plan_all(&p, response->change);
        while (r == PLAN_ALL_AGAIN) {
                batch_builder_rollback(b, mark);
                request_cycles_take_back(&p);
                request_contents_done(&p);
                request_sharers_take_back(&p, NULL);
                message_free(response);
                response = response_new(ARGOSY__RESPONSE__WHAT_CHANGE);
                r = response ? plan_all(&p, response->change) : -ENOMEM;
        }
        map_done(&p.named);
        map_done(&p.files);
        request_cycles_done(&p);
        request_contents_done(&p);
        request_mates_done(&p);
        request_sharers_done(&p);
        replace_cycles_done(&p.replacers);
        for (size_t i = 0; p.parsed && i < change->n_files; i++)
                unit_file_free(p.parsed[i]);
        free(p.sibling_of);
        free(p.unshared.message);
        free(p.parsed);
        free(p.hashes);
        if (r < 0) {
                batch_builder_rollback(b, mark);
                return r;
        }
        *ret = TAKE_PTR(response);
        return 0;
}

void change_note_kept(const ClusterState *state, const BatchBuilder *b, BatchBuilderMark start,
                      Argosy__Response *planned) {
        for (size_t i = 0; i < planned->change->n_units; i++) {
                Argosy__Response__UnitResult *result = planned->change->units[i];
                const UnitEntry *u = cluster_state_find_unit(state, result->name);

                if (u && result->status == 0 && !batch_builder_has_unit_since(b, result->name, start))
                        result->revision = u->record->revision;
        }
}

void change_complete(const ClusterState *state, Argosy__Response *response,
                     const char *(*node_name)(uint32_t node, void *userdata), void *userdata) {
        for (size_t i = 0; i < response->change->n_units; i++) {
                Argosy__Response__UnitResult *result = response->change->units[i];
                const UnitEntry *u = cluster_state_find_unit(state, result->name);

                if (result->status)
                        continue;
                if (result->revision == 0)
                        result->revision = u ? u->record->revision : cluster_state_revision(state);
                if (u && u->record->node)
                        (void) field_set(&result->node,
                                         node_name(u->record->node, userdata)); // only for the eye
        }
}

void change_repeat(const Argosy__Request__Change *change, Argosy__Response *planned) {
        for (size_t i = 0; i < planned->change->n_units; i++) {
                Argosy__Response__UnitResult *result = planned->change->units[i];

                if (change->verb == ARGOSY__VERB__VERB_DESTROY && result->status == ENOENT) {
                        result->status = 0;
                        (void) field_set(&result->message, NULL);
                }
        }
}
