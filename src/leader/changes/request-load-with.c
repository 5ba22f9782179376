// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a unit needs is loaded with it: a timer without its service does not even start. Units that one
// request names are planned in two rounds, those that activate others in the second, so that a timer finds
// its service placed.
#include <errno.h>

#include "planner.h"
#include "response.h"
#include "unit-brings.h"
#include "unit-name.h"

enum { DEPTH_MAX = 4 }; // a path that activates a timer that activates a service is three

// Whether the cluster could load it: it has the unit, or the template of the instance.
static int is_known_and_inactive(Planner *p, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(p->state, name);
        _cleanup_free_ char *template = NULL;

        if (e)
                return e->record->target == ARGOSY__TARGET__TARGET_INACTIVE;
        if (unit_name_kind(name, NULL) != UNIT_NAME_INSTANCE)
                return false;
        template = unit_name_template(name);
        return template ? cluster_state_find_unit(p->state, template) != NULL : -ENOMEM;
}

// Whether its file came with the request, from beside that of the unit that needs it.
static int is_sent_and_new(Planner *p, const char *name) {
        int file;

        if (!request_takes_file(p->change) || cluster_state_find_unit(p->state, name))
                return false;
        file = request_find_file_of(p, name);
        return file == -ENOMEM ? file : file >= 0;
}

// The first thing that is wrong is said.
#define WARN(result, ...) (*(result)->message ? 0 : field_printf(&(result)->message, __VA_ARGS__))

int request_plan_other(Planner *p, const char *name, Argosy__Verb verb, Argosy__Response__UnitResult **ret) {
        Argosy__Response__UnitResult *own = unit_result_new(name);
        Argosy__Request__Change change = *p->change;
        BatchBuilderMark mark = batch_builder_mark(p->batch);
        const Argosy__Request__Change *asked = p->change;
        int r;

        if (!own)
                return -ENOMEM;
        change.verb = verb;
        change.replace = false;
        p->change = &change;
        r = request_plan_unit(p, name, own);
        p->change = asked;
        if (r == UNIT_REFUSED)
                request_take_back(p, name, mark);
        *ret = own;
        return r;
}

// Loads one unit as if that had been asked for.
static int load(Planner *p, const char *name, Argosy__Response__UnitResult *result) {
        Argosy__Response__UnitResult *own = NULL;
        int r;

        p->depth++;
        r = request_plan_other(p, name, ARGOSY__VERB__VERB_LOAD, &own);
        p->depth--;
        if (r == UNIT_REFUSED)
                r = WARN(result, "%s, which belongs to it, cannot be loaded: %s", name, own->message);
        message_free(own);
        return r;
}

static int bring(Planner *p, const char *name, Argosy__Response__UnitResult *result) {
        int r;

        if (p->depth >= DEPTH_MAX || batch_builder_has_unit_since(p->batch, name, p->start))
                return 0;
        r = request_names(p, name);
        if (r != 0)
                return r < 0 ? r : 0;
        r = is_known_and_inactive(p, name);
        if (r == 0)
                r = is_sent_and_new(p, name);
        if (r <= 0)
                return r;
        if (batch_builder_has_unit(p->batch, name))
                return -EBUSY;
        return load(p, name, result);
}

typedef struct Bringing {
        Planner *planner;
        Argosy__Response__UnitResult *result;
} Bringing;

static int on_brought(const char *name, void *userdata) {
        Bringing *b = userdata;

        return bring(b->planner, name, b->result);
}

int request_bring_along(Planner *p, const char *name, const Source *source,
                        Argosy__Response__UnitResult *result) {
        Bringing b = {p, result};
        UnitOptions *options = NULL;
        int r = 0;

        if (unit_name_activated_type(name)) {
                r = unit_file_expand(source->file, name, name, &options, NULL);
                if (r == 0)
                        r = request_note_mate(p, name, source->file, options);
                unit_options_unref(options);
        }
        r = r == -EINVAL ? 0 : r; // is said when the unit itself is planned
        return r < 0 ? r : unit_brings_each(source->file, name, on_brought, &b);
}

static uint32_t node_of(const Planner *p, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(p->state, name);
        Argosy__Target target;
        uint32_t node;

        if (batch_builder_find_unit(p->batch, name, &target, &node))
                return node;
        return e && e->record->target != ARGOSY__TARGET__TARGET_INACTIVE ? e->record->node : 0;
}

// Whether it will move to its activator's node by itself (activation-affinity.c).
static int will_follow(Planner *p, const char *name, uint32_t node) {
        const UnitEntry *e = cluster_state_find_unit(p->state, name);
        UnitOptions *options;
        const UnitFile *file;
        bool may;
        int r;

        if (!e || e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED || e->record->global)
                return false;
        r = spec_entry_file(e->spec, &file);
        if (r == 0)
                r = unit_file_expand(file, name, name, &options, NULL);
        if (r < 0)
                return r == -EINVAL ? false : r;
        may = !file->failing.has_data || unit_record_data_node(e->record) == node; // data-nodes.h
        may = may && p->ops->may_stay(node, options, p->userdata);
        unit_options_unref(options);
        return may;
}

int request_warn_apart(Planner *p, const char *name, const Source *source,
                       Argosy__Response__UnitResult *result) {
        _cleanup_free_ char *activated = NULL;
        uint32_t here, there;
        int r;

        r = unit_file_activates(source->file, name, &activated);
        if (r < 0 || !activated)
                return r;
        here = node_of(p, name);
        there = node_of(p, activated);
        if (!here || !there || here == there)
                return 0;
        r = will_follow(p, activated, here);
        if (r != 0)
                return MIN_OF(r, 0);
        return WARN(result, "%s is on another node, where this unit cannot activate it", activated);
}

static void drop_names(char **names, size_t n) {
        while (n > 0)
                free(names[--n]);
        free(names);
}

// Warns of units of OnFailure= and OnSuccess= that are the cluster's and not on the node. Others may be the
// node's own.
static int warn_elsewhere(Planner *p, const char *name, const Source *source,
                          Argosy__Response__UnitResult *result) {
        char **names;
        size_t n;
        int r = unit_file_ends(source->file, name, &names, &n);

        if (r < 0)
                return r;
        for (size_t i = 0; i < n && r == 0; i++) {
                const UnitEntry *e = cluster_state_find_unit(p->state, names[i]);
                uint32_t here = node_of(p, name);

                if (e && here && !e->record->global && node_of(p, names[i]) != here)
                        r = WARN(result,
                                 "%s, which OnFailure= or OnSuccess= names, is not on the node of this "
                                 "unit, where systemd "
                                 "looks for it; a template (OnFailure=NAME@%%n.service) is brought there",
                                 names[i]);
        }
        drop_names(names, n);
        return MIN_OF(r, 0);
}

static int warn_unknown_template(Planner *p, const char *name, const Source *source,
                                 Argosy__Response__UnitResult *result) {
        char **names;
        size_t n;
        int r = unit_file_companions(source->file, name, &names, &n);

        if (r < 0)
                return r;
        for (size_t i = 0; i < n && r == 0; i++) {
                r = cluster_state_find_unit(p->state, names[i]) ? 1 : request_names(p, names[i]);
                if (r == 0)
                        r = WARN(result,
                                 "systemd may start instances of %s for it, and the cluster has no such "
                                 "template: "
                                 "it is brought to its node once it is submitted",
                                 names[i]);
                else
                        r = MIN_OF(r, 0);
        }
        drop_names(names, n);
        return MIN_OF(r, 0);
}

int request_warn_ends(Planner *p, const char *name, const Source *source,
                      Argosy__Response__UnitResult *result) {
        int r = 0;

        if (!source->content || (!source->file->ends && !source->file->accepts) ||
            p->change->verb == ARGOSY__VERB__VERB_SUBMIT)
                return 0;
        r = warn_unknown_template(p, name, source, result);
        return r < 0 ? r : warn_elsewhere(p, name, source, result);
}

typedef struct Remains {
        Planner *p;
        Argosy__Target at_least;
        int error;
} Remains;

// Whether the unit stays loaded, that is, the same request does not unload it.
static bool remains(const char *name, void *userdata) {
        Remains *r = userdata;
        const UnitEntry *e = cluster_state_find_unit(r->p->state, name);
        int named = request_names(r->p, name);

        if (named < 0)
                r->error = named;
        return !named && e && e->record->target >= r->at_least;
}

int request_warn_activated(Planner *p, const char *name, Argosy__Response__UnitResult *result) {
        bool stops = p->change->verb == ARGOSY__VERB__VERB_STOP;
        Remains r = {.p = p, .at_least = ARGOSY__TARGET__TARGET_LAUNCHED};
        const char *activator;

        if (!p->ops->find_activator || (!stops && p->change->verb != ARGOSY__VERB__VERB_UNLOAD &&
                                        p->change->verb != ARGOSY__VERB__VERB_DESTROY))
                return 0;
        activator = p->ops->find_activator(name, remains, &r, p->userdata);
        if (r.error < 0 || !activator)
                return r.error;
        if (stops)
                return WARN(result, "%s may start it again", activator);
        return WARN(result, "%s activates it, and will fail to", activator);
}
