// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Looks at the names of a request and at what is in their files. Thousands of instances share one content,
// which is looked at once for as long as the next name has the same, unless their role or priority depends
// on the name. What is seen may be another by the time a chunk is planned: that is then a change that came
// in the middle of the request, as one between two requests would.
#include "request-ties.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "planner.h"
#include "response.h"
#include "str.h"
#include "unit-file.h"
#include "unit-install.h"
#include "unit-name.h"

enum { FILE_LOOKS = 20 };

// What was looked at last. Borrowed from the state, so only until the end of one check.
typedef struct Check {
        RequestTies *ties;
        const ClusterState *state;
        const ChangeOps *ops;
        void *userdata;
        const SpecEntry *spec;
        bool varies; // by name, in what is compared
        char *template;
        const SpecEntry *template_spec;
} Check;

static bool brings_along(const UnitFile *file, const char *name) {
        UnitInstall install;
        bool found = false;

        if (file->n_install == 0)
                return false;
        if (unit_install_expand(file, name, name, &install, NULL) < 0)
                return true;
        for (size_t i = 0; i < install.n; i++)
                found |= install.entries[i].kind == UNIT_INSTALL_ALSO;
        unit_install_done(&install);
        return found;
}

// Notes whether a unit has another role or priority than the first: then placing goes in an order over all
// of them (request-turns.c). 0 or -ENOMEM.
static int compare_turns(RequestTies *t, const UnitOptions *options) {
        const char *role = options->role ?: "";

        if (!t->has_first) {
                t->role = strdup(role);
                if (!t->role)
                        return -ENOMEM;
                t->priority = options->priority;
                t->has_first = true;
        }
        t->ranked |= !streq(t->role, role) || t->priority != options->priority;
        return 0;
}

static int check_content(RequestTies *t, const UnitFile *file, const char *name) {
        UnitOptions *options = NULL;
        int r = unit_file_expand(file, name, name, &options, NULL);

        if (r < 0)
                return r == -EINVAL ? 0 : r; // each is told why
        t->tied |= options->n_dependencies > 0 || (options->same_node && *options->same_node) ||
                   (options->replaces && *options->replaces) || brings_along(file, name);
        r = compare_turns(t, options);
        unit_options_unref(options);
        return r;
}

static int check_file(RequestTies *t, const Argosy__NamedFile *f) {
        UnitFile *file = NULL;
        int r = unit_file_parse(f->name, f->content.data, f->content.len, &file, NULL);

        if (r < 0)
                return r == -EINVAL ? 0 : r;
        t->ranked |= unit_file_rank_varies(file); // those of a template may be of any role and priority
        r = check_content(t, file, f->name);
        unit_file_free(file);
        return r;
}

// Each costs as much as FILE_LOOKS names.
static int check_files(RequestTies *t, const Argosy__Request__Change *change, size_t *looks) {
        int r = 0;

        for (; r >= 0 && !t->tied && *looks > 0 && t->n_files_checked < change->n_files;
             t->n_files_checked++) {
                Argosy__NamedFile *f = change->files[t->n_files_checked];

                r = map_add_str(&t->files, f->name, f);
                r = r == -EEXIST ? 0 : r; // of two of the same name the first one counts
                if (r == 0)
                        r = check_file(t, f);
                *looks -= MIN_OF(*looks, (size_t) FILE_LOOKS);
        }
        return r;
}

const Argosy__NamedFile *request_ties_file(const RequestTies *t, const char *name) {
        return map_find_str(&t->files, name);
}

// Whether the client found a file for the name: its own, or that of its template; or -ENOMEM.
static int was_sent(const RequestTies *t, const char *name) {
        _cleanup_free_ char *template = NULL;

        if (t->files.count > 0 && unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE) {
                template = unit_name_template(name);
                if (!template)
                        return -ENOMEM;
        }
        return map_find_str(&t->files, name) || (template && map_find_str(&t->files, template));
}

// The content that the template's instances have in common. NULL: they have several, or there are none.
static const SpecEntry *spec_of_siblings(const Check *l, const char *template) {
        SpecEntry *spec = NULL;

        return l->ops->siblings && l->ops->siblings(template, &spec, l->userdata) > 0 ? spec : NULL;
}

// The template's content, of an instance that is new, or that of its siblings. NULL: the cluster has none.
static int spec_of_template(Check *l, const char *name, const SpecEntry **ret) {
        _cleanup_free_ char *template = NULL;
        const UnitEntry *e;

        *ret = NULL;
        if (unit_name_kind(name, NULL) != UNIT_NAME_INSTANCE)
                return 0;
        template = unit_name_template(name);
        if (!template)
                return -ENOMEM;
        if (!l->template || !streq(l->template, template)) {
                e = cluster_state_find_unit(l->state, template);
                l->template_spec = e ? e->spec : spec_of_siblings(l, template);
                free(l->template);
                l->template = TAKE_PTR(template);
        }
        *ret = l->template_spec;
        return 0;
}

static bool is_anybody(const DependencyPeer *peer, void *userdata) {
        return true;
}

static bool is_any_name(const char *name, void *userdata) {
        return true;
}

static bool others_depend_on_it(const char *name, const ChangeOps *ops, void *userdata) {
        return unit_name_activated_type(name) ||
               (ops->find_activator && ops->find_activator(name, is_any_name, NULL, userdata)) ||
               (ops->each_dependent && ops->each_dependent(name, is_anybody, NULL, userdata));
}

static int check_unit(Check *l, const Argosy__Request__Change *change, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        const SpecEntry *spec = e ? e->spec : NULL;
        const UnitFile *file;
        int r = 0;

        if (!e && request_needs_file(change->verb)) {
                // that file was looked at; the template's counts unless it is replaced
                r = was_sent(l->ties, name);
                if (r == 0 || (r > 0 && !change->replace))
                        r = spec_of_template(l, name, &spec);
        }
        if (r < 0 || !spec || (spec == l->spec && !l->varies))
                return MIN_OF(r, 0);
        r = spec_entry_file((SpecEntry *) spec, &file);
        if (r < 0)
                return r;
        l->spec = spec;
        l->varies = unit_file_rank_varies(file);
        return check_content(l->ties, file, name);
}

static int check_name(Check *l, const Argosy__Request__Change *change, char *name, bool only_names) {
        RequestTies *t = l->ties;
        int r = map_add_str(&t->names, name, (void *) (t->n_checked + 1));

        if (r < 0) {
                t->repeats |= r == -EEXIST;
                return r == -EEXIST ? 0 : r;
        }
        if (only_names)
                return 0;
        t->tied |= others_depend_on_it(name, l->ops, l->userdata);
        return t->tied ? 0 : check_unit(l, change, name);
}

int request_ties_check(RequestTies *t, const ClusterState *state, const Argosy__Request__Change *change,
                       size_t most, bool only_names, const ChangeOps *ops, void *userdata) {
        Check l = {.ties = t, .state = state, .ops = ops, .userdata = userdata};
        size_t looks = most;
        int r = check_files(t, change, &looks);

        for (; r >= 0 && !t->tied && looks > 0 && t->n_checked < change->n_names; t->n_checked++, looks--)
                r = check_name(&l, change, change->names[t->n_checked], only_names);
        free(l.template);
        if (t->tied)
                return 0;
        return r < 0                                                                    ? r
               : t->n_files_checked < change->n_files || t->n_checked < change->n_names ? REQUEST_TIES_MORE
                                                                                        : 0;
}

Argosy__Response *request_ties_too_many(const Argosy__Request__Change *change) {
        return response_error(
                E2BIG,
                "the request names %zu units, of which some have to do with each other or with others (by "
                "dependencies, "
                "MachineOf=, Replaces= or Also=): of such no more than %d are changed at once; name fewer",
                change->n_names, REQUEST_TIED_MAX);
}

bool request_ties_is_repeat(const RequestTies *t, const char *name, size_t i) {
        return t->repeats && (uintptr_t) map_find_str(&t->names, name) != i + 1;
}

void request_ties_done(RequestTies *t) {
        map_done(&t->names);
        map_done(&t->files);
        free(t->role);
        *t = (RequestTies){};
}
