// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a request does to the units that those it names depend on, and to those that depend on them: wherever
// they run, unlike what request-together.c is about.
#include <errno.h>

#include "message.h"
#include "request-private.h"
#include "response.h"
#include "unit-name.h"

enum { CHAIN_MAX = 256 }; // units that are started because of each other

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

static int options_of(const Source *source, const char *name, UnitOptions **ret) {
        int r = unit_file_expand(source->file, name, name, ret, NULL);

        return r == -EINVAL ? 1 : r; // said when the record is planned
}

static bool was_sent(const Planner *p, const char *name) {
        for (size_t i = 0; i < p->change->n_files; i++)
                if (streq(p->change->files[i]->name, name))
                        return true;
        return false;
}

// Whether the cluster has the unit, could make it from its template, or gets it now.
static int is_known(Planner *p, const char *name) {
        _cleanup_free_ char *template = NULL;
        int r = request_names(p, name);

        if (r != 0 || cluster_state_find_unit(p->state, name) || draft_has_unit(p->batch, name))
                return r ?: 1;
        if (unit_name_kind(name, NULL) != UNIT_NAME_INSTANCE)
                return 0;
        template = unit_name_template(name);
        if (!template)
                return -ENOMEM;
        return cluster_state_find_unit(p->state, template) || was_sent(p, template);
}

static int refuse_unknown(const Source *source, const char *name, const UnitDependency *d,
                          Argosy__Response__UnitResult *result) {
        int r;

        result->status = EINVAL;
        r = field_printf(&result->message, "%s:%u: it requires %s, which the cluster does not know",
                         source->path ?: name, d->line, d->name);
        return r < 0 ? r : 1;
}

static int refuse_start(const char *name, const char *why, Argosy__Response__UnitResult *result,
                        int status) {
        int r;

        result->status = status;
        r = field_printf(&result->message, "%s, which it requires, cannot be started: %s", name, why);
        return r < 0 ? r : 1;
}

// Starts what the unit needs, unless that runs.
static int bring(Planner *p, const UnitDependency *d, Argosy__Response__UnitResult *result) {
        bool required = d->kinds & UNIT_REQUIRES;
        Argosy__Response__UnitResult *own = NULL;
        int r = request_names(p, d->name);

        if (r != 0 || draft_has_unit_since(p->batch, d->name, p->start))
                return MIN_OF(r, 0);
        if (!required && (r = is_known(p, d->name)) <= 0)
                return r;
        if (p->ops->is_up && p->ops->is_up(d->name, p->userdata))
                return 0;
        if (is_being_planned(p, d->name)) // who asked for it finds out
                return 0;
        if (draft_has_unit(p->batch, d->name))
                return -EBUSY;
        if (p->planning && p->planning->depth >= CHAIN_MAX)
                return refuse_start(d->name, "too many units depend on each other", result, E2BIG);
        r = request_plan_other(p, d->name, ARGOSY__VERB__VERB_START, &own);
        if (r > 0 && required)
                r = refuse_start(d->name, own->message, result, own->status);
        else if (r > 0)
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

                if (d->kinds & UNIT_REQUIRES && !template && request_needs_file(verb)) {
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

// ------------------------------------------------------------------------------------------------ circles

typedef struct Circle {
        Planner *p;
        const char *text; // NULL until it is known
        int error;
        const char **names; // on it, and named by the request
        size_t n;
} Circle;

static void on_member(const char *name, void *userdata) {
        Circle *c = userdata;
        const char **longer;

        if (request_names(c->p, name) <= 0 || map_find_str(&c->p->circles, name))
                return;
        longer = reallocarray(c->names, c->n + 1, sizeof(*longer));
        if (!longer) {
                c->error = -ENOMEM;
                return;
        }
        c->names = longer;
        longer[c->n++] = map_find_str(&c->p->named, name);
}

static int remember(Circle *c) {
        for (size_t i = 0; i < c->n && !c->error; i++) {
                char *copy = strdup(c->text);

                if (!copy || map_add_str(&c->p->circles, c->names[i], copy) == -ENOMEM) {
                        free(copy);
                        c->error = -ENOMEM;
                }
                c->p->more_circles = true;
        }
        return c->error;
}

int request_check_order(Planner *p, const char *name, const Source *source, const UnitOptions *options,
                        Argosy__Response__UnitResult *result) {
        char path[512];
        unsigned line = 0;
        Circle c = {.p = p};
        const ChangeOrder order = {.name = name,
                                   .list = options->dependencies,
                                   .n = options->n_dependencies,
                                   .known = cluster_state_find_unit(p->state, name) && !source->changes,
                                   .text = path,
                                   .size = sizeof(path),
                                   .line = &line,
                                   .member = on_member,
                                   .member_data = &c};
        int r;

        if (!p->ops->order)
                return 0;
        r = p->ops->order(&order, p->userdata);
        if (r == -ELOOP) {
                result->status = EINVAL;
                r = field_printf(&result->message, "%s:%u: the order goes in a circle: %s",
                                 source->path ?: name, line, path);
                c.text = result->message;
                r = r < 0 ? r : remember(&c);
                r = r < 0 ? r : 1;
        }
        free(c.names);
        return r;
}

int request_refuse_circle(const Planner *p, const char *name, Argosy__Response__UnitResult *result) {
        const char *why = map_find_str(&p->circles, name);
        int r = why ? request_fail(result, EINVAL, why) : 0;

        return r < 0 || !why ? r : 1;
}

void request_circles_done(Planner *p) {
        map_done_with(&p->circles, free);
}

// ------------------------------------------------------------------------------------------------ going

typedef struct Taking {
        Planner *p;
        Argosy__Verb verb;
        Argosy__Response__UnitResult *result;
        int error;
        bool refused;
        const char *first; // who went along
        size_t n;
} Taking;

// Only what is launched: the others do not run by our order.
static bool take(const DependencyPeer *peer, void *userdata) {
        Taking *t = userdata;
        Planner *p = t->p;
        const UnitEntry *e = cluster_state_find_unit(p->state, peer->name);
        Argosy__Response__UnitResult *own = NULL;
        int r;

        if (!(peer->kinds & (UNIT_REQUIRES | UNIT_PART_OF)) || !e ||
            e->record->target != ARGOSY__TARGET__TARGET_LAUNCHED ||
            draft_has_unit_since(p->batch, peer->name, p->start))
                return false;
        r = request_names(p, peer->name);
        if (r == 0 && draft_has_unit(p->batch, peer->name))
                r = -EBUSY;
        if (r == 0 && p->planning && p->planning->depth >= CHAIN_MAX)
                t->refused = true;
        else if (r == 0) {
                r = request_plan_other(p, peer->name, t->verb, &own);
                if (r == 0 && t->n++ == 0)
                        t->first = peer->name;
                message_free(own);
        }
        t->error = MIN_OF(r, 0);
        return t->error || t->refused;
}

static int tell_who_went_along(const Taking *t) {
        const char *what = t->verb == ARGOSY__VERB__VERB_STOP ? "stopped" : "restarted";

        if (t->n == 0 || *t->result->message)
                return 0;
        if (t->n == 1)
                return field_printf(&t->result->message, "%s is %s too, since it depends on it", t->first,
                                    what);
        return field_printf(&t->result->message, "%s and %zu more are %s too, since they depend on it",
                            t->first, t->n - 1, what);
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
                return t.error ?: tell_who_went_along(&t);
        r = request_fail(result, E2BIG, "too many units depend on each other");
        return r < 0 ? r : 1;
}
