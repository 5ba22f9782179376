// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a request does to the dependencies and the dependents of its units, on whatever nodes they run.
//
//      request_bring_dependencies(): starts what a started unit requires or wants
//      request_note_order() per unit -> request_judge_order(): cycles
//          -> the request is planned again without them
//      request_take_along(): stops or restarts what depends on a stopped or restarted unit
//
// On one node request-load-with.c does the like. Limits: CHAIN_MAX units in a chain, REQUEST_ALONG_MAX taken
// along, CYCLE_ROUNDS_MAX plans. Failures: UNIT_REFUSED and a result, PLAN_ALL_AGAIN, -EBUSY, -ENOMEM.

#include <errno.h>

#include "message.h"
#include "planner.h"
#include "request-ties.h"
#include "response.h"
#include "str.h"
#include "unit-name.h"

enum {
        CHAIN_MAX = 256,      // units that are started because of each other
        CYCLE_ROUNDS_MAX = 4, // plans of one request: a refused unit keeps an order that may close another
                              // cycle
};

#define TOO_MANY_CYCLES                                                                                \
        "the order that other units of the request have now closes one cycle after the other: change " \
        "fewer of them at a time"

typedef struct Planning {
        const char *name;
        struct Planning *outer;
        unsigned depth;
} Planning;

static bool is_being_planned(const Planner *p, const char *name) {
        for (const Planning *i = p->planning; i; i = i->outer)
                if (streq(i->name, name))
                        return true;
        return false;
}

enum { OPTIONS_INVALID = 1 }; // reported when the record is planned

static int options_of(const Source *source, const char *name, UnitOptions **ret) {
        int r = unit_file_expand(source->file, name, name, ret, NULL);

        return r == -EINVAL ? OPTIONS_INVALID : r;
}

// Whether the cluster has the unit, could make it from its template, or gets it now.
static int is_known(Planner *p, const char *name) {
        _cleanup_free_ char *template = NULL;
        int r = request_names(p, name);

        if (r != 0 || cluster_state_find_unit(p->state, name) || batch_builder_has_unit(p->batch, name))
                return r ?: true;
        if (unit_name_kind(name, NULL) != UNIT_NAME_INSTANCE)
                return 0;
        template = unit_name_template(name);
        if (!template)
                return -ENOMEM;
        return cluster_state_find_unit(p->state, template) || request_find_file(p, template) >= 0;
}

static int refuse_unknown(const Source *source, const char *name, const UnitDependency *d,
                          Argosy__Response__UnitResult *result) {
        int r;

        result->status = EINVAL;
        r = field_printf(&result->message, "%s:%u: it requires %s, which the cluster does not know",
                         source->path ?: name, d->line, d->name);
        return r < 0 ? r : UNIT_REFUSED;
}

static int refuse_start(const char *name, const char *why, Argosy__Response__UnitResult *result,
                        int status) {
        int r;

        result->status = status;
        r = field_printf(&result->message, "%s, which it requires, cannot be started: %s", name, why);
        return r < 0 ? r : UNIT_REFUSED;
}

// Whether it is a one-shot of which it is not known whether it ran: it is run again only if a request names
// it.
static bool has_unknown_outcome(const Planner *p, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(p->state, name);
        const Argosy__UnitRecord *r = e ? e->record : NULL;

        if (!r || r->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                return false;
        for (size_t i = 0; i < r->n_outcomes; i++)
                if (r->outcomes[i]->start_rev == r->start_rev &&
                    r->outcomes[i]->kind == ARGOSY__OUTCOME__KIND__UNKNOWN)
                        return true;
        return false;
}

// Starts a unit that this one requires or wants, unless it is up.
static int bring(Planner *p, const UnitDependency *d, Argosy__Response__UnitResult *result) {
        bool required = d->kinds & UNIT_REQUIRES;
        Argosy__Response__UnitResult *own = NULL;
        int r = request_names(p, d->name);

        if (r != 0 || batch_builder_has_unit_since(p->batch, d->name, p->start))
                return MIN_OF(r, 0);
        if (!required && (r = is_known(p, d->name)) <= 0)
                return r;
        if (has_unknown_outcome(p, d->name) || (p->ops->is_up && p->ops->is_up(d->name, p->userdata)))
                return 0;
        if (is_being_planned(p, d->name)) // its own plan, further out, reports failures
                return 0;
        if (batch_builder_has_unit(p->batch, d->name))
                return -EBUSY;
        if (p->planning && p->planning->depth >= CHAIN_MAX)
                return refuse_start(d->name, "too many units depend on each other", result, E2BIG);
        r = request_plan_other(p, d->name, ARGOSY__VERB__VERB_START, &own);
        if (r == UNIT_REFUSED && required)
                r = refuse_start(d->name, own->message, result, own->status);
        else if (r == UNIT_REFUSED)
                r = *result->message
                            ? 0
                            : field_printf(&result->message, "%s, which it wants, cannot be started: %s",
                                           d->name, own->message);
        message_free(own);
        return r;
}

static int bring_all(Planner *p, const char *name, const Source *source, const UnitOptions *options,
                     Argosy__Response__UnitResult *result) {
        Argosy__Verb verb = p->change->verb;
        bool starts = verb == ARGOSY__VERB__VERB_START || verb == ARGOSY__VERB__VERB_RESTART,
             template = unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE;
        Planning planning = {name, p->planning, p->planning ? p->planning->depth + 1 : 1};
        int r = 0;

        p->planning = &planning;
        for (size_t i = 0; i < options->n_dependencies && r == 0; i++) {
                const UnitDependency *d = &options->dependencies[i];

                if (d->kinds & UNIT_REQUIRES && !template && request_takes_file(p->change)) {
                        r = is_known(p, d->name);
                        if (r <= 0) {
                                r = r < 0 ? r : refuse_unknown(source, name, d, result);
                                break;
                        }
                        r = 0;
                }
                if (starts && d->kinds & (UNIT_REQUIRES | UNIT_WANTS))
                        r = bring(p, d, result);
        }
        p->planning = planning.outer;
        return r;
}

int request_bring_dependencies(Planner *p, const char *name, const Source *source,
                               Argosy__Response__UnitResult *result) {
        UnitOptions *options = NULL;
        int r = options_of(source, name, &options);

        if (r != 0)
                return MIN_OF(r, 0);
        if (options->n_dependencies)
                r = bring_all(p, name, source, options, result);
        unit_options_unref(options);
        return r;
}

// ------------------------------------------------------------------------------------------------ cycles

typedef struct Ordered { // a unit that gets other dependencies than it has
        size_t number;   // in the order in which they were planned
        const char *path;
        char name[];
} Ordered;

int request_note_order(Planner *p, const char *name, const UnitEntry *u, const Source *source,
                       const UnitOptions *options) {
        Ordered *o;
        int r;

        if (!p->ops->order || (u ? !source->changes : options->n_dependencies == 0))
                return 0;
        r = p->ops->order(name, options->dependencies, options->n_dependencies, p->userdata);
        if (r < 0 || map_find_str(&p->ordered, name))
                return r;
        o = malloc(sizeof(*o) + strlen(name) + 1);
        if (!o)
                return -ENOMEM;
        *o = (Ordered){.number = p->ordered.count, .path = source->path};
        strcpy(o->name, name);
        r = map_add_str(&p->ordered, o->name, o);
        if (r < 0)
                free(o);
        return r;
}

typedef struct Refusal {
        const char *why; // points behind the name
        char name[];
} Refusal;

static int refuse_later(Planner *p, const char *name, const char *why) {
        size_t len = strlen(name) + 1;
        Refusal *f = malloc(sizeof(*f) + len + strlen(why) + 1);
        int r;

        if (!f)
                return -ENOMEM;
        strcpy(f->name, name);
        f->why = strcpy(f->name + len, why);
        r = map_add_str(&p->cycles, f->name, f);
        if (r < 0)
                free(f);
        return r;
}

static int on_cycle(const Cycle *c, void *userdata) {
        Planner *p = userdata;
        const Ordered *o = map_find_str(&p->ordered, c->path[0]);
        _cleanup_free_ char *why = NULL;
        char path[512];
        int r = 0;

        cycle_describe(c, " after ", path, sizeof(path));
        why = str_printf("%s:%u: the order goes in a cycle: %s", o && o->path ? o->path : c->path[0],
                         c->line, path);
        for (size_t i = 0; i < c->n_units && r >= 0; i++)
                r = why ? refuse_later(p, c->units[i], why) : -ENOMEM;
        return r;
}

// The names whose new order is still in the batch, in the order in which they were planned. The caller frees
// the array.
static int list_ordered(const Planner *p, const char ***ret, size_t *ret_n) {
        const char **names = calloc(p->ordered.count + 1, sizeof(*names));
        size_t n = 0;

        if (!names)
                return -ENOMEM;
        map_foreach (slot, &p->ordered) {
                const Ordered *o = slot->value;

                if (batch_builder_has_order(p->batch, o->name))
                        names[o->number] = o->name;
        }
        for (size_t i = 0; i < p->ordered.count; i++)
                if (names[i])
                        names[n++] = names[i];
        *ret = names;
        *ret_n = n;
        return 0;
}

int request_judge_order(Planner *p) {
        _cleanup_free_ const char **names = NULL;
        size_t n = 0, before = p->cycles.count;
        int r;

        if (!p->ops->cycles || p->ordered.count == 0)
                return 0;
        r = list_ordered(p, &names, &n);
        if (r < 0)
                return r;
        r = p->ops->cycles(names, n, on_cycle, p, p->userdata);
        if (r >= 0 && p->cycles.count > before && ++p->n_judged >= CYCLE_ROUNDS_MAX)
                for (size_t i = 0; i < n && r >= 0; i++)
                        if (!map_find_str(&p->cycles, names[i]))
                                r = refuse_later(p, names[i], TOO_MANY_CYCLES);
        map_done_with(&p->ordered, free);
        return r < 0 ? r : p->cycles.count > before ? PLAN_ALL_AGAIN : 0;
}

int request_refuse_cycle(const Planner *p, const char *name, Argosy__Response__UnitResult *result) {
        const Refusal *f = map_find_str(&p->cycles, name);
        int r = f ? unit_result_fail(result, EINVAL, f->why) : 0;

        return r < 0 || !f ? r : UNIT_REFUSED;
}

// Others may be placed before their turn to be refused comes.
void request_cycles_take_back(Planner *p) {
        map_foreach (slot, &p->cycles) {
                const Refusal *f = slot->value;

                request_take_back(p, f->name, p->start);
        }
}

void request_cycles_done(Planner *p) {
        map_done_with(&p->ordered, free);
        map_done_with(&p->cycles, free);
}

// ------------------------------------------------------------------------------------------------ going

typedef struct Taking {
        Planner *p;
        Argosy__Verb verb;
        Argosy__Response__UnitResult *result;
        int error;
        bool refused;
        const char *first; // the first unit that was taken along
        size_t n;
} Taking;

// Takes one dependent along, if it is launched: others do not run by the cluster's order.
static bool take(const DependencyPeer *peer, void *userdata) {
        Taking *t = userdata;
        Planner *p = t->p;
        const UnitEntry *e = cluster_state_find_unit(p->state, peer->name);
        Argosy__Response__UnitResult *own = NULL;
        int r;

        if (!(peer->kinds & (UNIT_REQUIRES | UNIT_PART_OF)) || !e ||
            e->record->target != ARGOSY__TARGET__TARGET_LAUNCHED || is_being_planned(p, peer->name) ||
            batch_builder_has_unit_since(p->batch, peer->name, p->start))
                return false;
        r = request_names(p, peer->name);
        if (r == 0 && batch_builder_has_unit(p->batch, peer->name))
                r = -EBUSY;
        if (r == 0 && p->planning && p->planning->depth >= CHAIN_MAX)
                t->refused = true;
        else if (r == 0 && p->n_along == REQUEST_ALONG_MAX)
                t->refused = p->too_many_along = true;
        else if (r == 0) {
                p->n_along++;
                r = request_plan_other(p, peer->name, t->verb, &own);
                if (r == 0 && t->n++ == 0)
                        t->first = peer->name;
                message_free(own);
                t->refused = p->too_many_along;
        }
        t->error = MIN_OF(r, 0);
        return t->error || t->refused;
}

static const char *done_to(const Taking *t) {
        return t->verb == ARGOSY__VERB__VERB_STOP ? "stopped" : "restarted";
}

static int describe_who_went_along(const Taking *t) {
        const char *what = done_to(t);

        if (t->n == 0 || *t->result->message)
                return 0;
        if (t->n == 1)
                return field_printf(&t->result->message, "%s is %s too, since it depends on it", t->first,
                                    what);
        return field_printf(&t->result->message, "%s and %zu more are %s too, since they depend on it",
                            t->first, t->n - 1, what);
}

// All dependents are planned in one turn and one log entry with the unit, so their number is limited.
static int refuse_too_many_along(const Taking *t) {
        char why[192];
        int r;

        if (t->p->n_along_before > 0)
                str_fit(why, sizeof(why),
                        "with those that depend on other units of this request, more than %u units would be "
                        "%s too: ask for it by itself",
                        REQUEST_ALONG_MAX, done_to(t));
        else
                str_fit(why, sizeof(why),
                        "more than %u units would be %s too, since they depend on it: stop units that "
                        "depend on it first",
                        REQUEST_ALONG_MAX, done_to(t));
        r = unit_result_fail(t->result, E2BIG, why);
        return r < 0 ? r : UNIT_REFUSED;
}

int request_take_along(Planner *p, const char *name, Argosy__Response__UnitResult *result) {
        Planning planning = {name, p->planning, p->planning ? p->planning->depth + 1 : 1};
        Argosy__Verb verb = p->change->verb;
        Taking t = {.p = p, .result = result};
        int r;

        if (!p->ops->each_dependent || request_needs_file(verb))
                return 0;
        t.verb = verb == ARGOSY__VERB__VERB_RESTART ? verb : ARGOSY__VERB__VERB_STOP;
        p->planning = &planning;
        p->ops->each_dependent(name, take, &t, p->userdata);
        p->planning = planning.outer;
        if (!t.refused)
                return t.error ?: describe_who_went_along(&t);
        if (p->too_many_along)
                return refuse_too_many_along(&t);
        r = unit_result_fail(result, E2BIG, "too many units depend on each other");
        return r < 0 ? r : UNIT_REFUSED;
}
