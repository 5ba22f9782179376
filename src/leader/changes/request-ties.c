// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Looks at the names of a request and at what is in their files. Thousands of instances share one content, which is
// looked at once for as long as the next name has the same, unless their role or priority depends on the name. What is
// seen may be another by the time a part is planned: that is then a change that came in the middle of the request, as
// one between two requests would.
#include "request-ties.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "request-private.h"
#include "str.h"
#include "unit-file.h"
#include "unit-install.h"
#include "unit-name.h"

// What was looked at last. Borrowed from the state, so only until the end of one check.
typedef struct Check {
        RequestTies *ties;
        const ClusterState *state;
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

// Of another role or priority than the first: those are placed in an order that goes over all of them (request-turns.c).
// 0 or -ENOMEM.
static int compare_turns(RequestTies *t, const UnitOptions *options) {
        const char *role = options->role ?: "";

        if (!t->has_first) {
                t->role = strdup(role);
                if (!t->role)
                        return -ENOMEM;
                t->priority = options->priority;
                t->has_first = true;
        }
        t->tied |= !streq(t->role, role) || t->priority != options->priority;
        return 0;
}

static int check_content(RequestTies *t, const UnitFile *file, const char *name) {
        UnitOptions *options = NULL;
        int r = unit_file_expand(file, name, name, &options, NULL);

        if (r == -EINVAL)
                t->tied = true; // each is told why
        if (r < 0)
                return r == -EINVAL ? 0 : r;
        t->tied |= options->n_dependencies > 0 || (options->same_node && *options->same_node) ||
                   (options->replaces && *options->replaces) || brings_along(file, name);
        r = compare_turns(t, options);
        unit_options_unref(options);
        return r;
}

static int check_file(RequestTies *t, const Argosy__NamedFile *f) {
        UnitFile *file = NULL;
        int r = unit_file_parse(f->name, f->content.data, f->content.len, &file, NULL);

        if (r == -EINVAL)
                t->tied = true;
        if (r < 0)
                return r == -EINVAL ? 0 : r;
        t->tied |= unit_file_rank_varies(file); // those of a template may be of any role and priority
        r = check_content(t, file, f->name);
        unit_file_free(file);
        return r;
}

static int check_files(RequestTies *t, const Argosy__Request__Change *change) {
        size_t bytes = 0;
        int r = 0;

        for (size_t i = 0; i < change->n_files; i++)
                bytes += change->files[i]->content.len;
        t->tied |= change->n_files > REQUEST_TIES_FILES || bytes > REQUEST_TIES_BYTES;
        for (size_t i = 0; r >= 0 && !t->tied && i < change->n_files; i++)
                r = check_file(t, change->files[i]);
        return r;
}

// Whether the client found a file for the name: its own, or that of its template; or -ENOMEM.
static int was_sent(const Argosy__Request__Change *change, const char *name) {
        _cleanup_free_ char *template = NULL;

        if (change->n_files > 0 && unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE) {
                template = unit_name_template(name);
                if (!template)
                        return -ENOMEM;
        }
        for (size_t i = 0; i < change->n_files; i++)
                if (streq(change->files[i]->name, name) || (template && streq(change->files[i]->name, template)))
                        return true;
        return false;
}

// The template's content, of an instance that is new. NULL: the cluster has none.
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
                l->template_spec = e ? e->spec : NULL;
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
        return request_is_activator(name) ||
               (ops->find_activator && ops->find_activator(name, is_any_name, NULL, userdata)) ||
               (ops->each_dependent && ops->each_dependent(name, is_anybody, NULL, userdata));
}

static int check_unit(Check *l, const Argosy__Request__Change *change, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        const SpecEntry *spec = e ? e->spec : NULL;
        const UnitFile *file;
        int r = 0;

        if (!e && request_needs_file(change->verb))
                r = spec_of_template(l, name, &spec);
        if (r < 0)
                return r;
        if (!spec && request_needs_file(change->verb)) { // a sent file was looked at, else it may be as its siblings
                r = was_sent(change, name);
                l->ties->tied |= r == 0;
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

int request_ties_check(RequestTies *t, const ClusterState *state, const Argosy__Request__Change *change,
                       size_t most, const ChangeOps *ops, void *userdata) {
        Check l = {.ties = t, .state = state};
        size_t end = MIN_OF(change->n_names, t->n_checked + most);
        int r = t->n_checked == 0 ? check_files(t, change) : 0;

        for (; r >= 0 && !t->tied && t->n_checked < end; t->n_checked++) {
                char *name = change->names[t->n_checked];

                r = map_add_str(&t->names, name, name);
                if (r == -EEXIST)
                        t->tied = true;
                else if (r >= 0)
                        r = check_unit(&l, change, name);
                t->tied |= others_depend_on_it(name, ops, userdata);
        }
        free(l.template);
        if (t->tied || r == -EEXIST)
                return 0;
        return r < 0 ? r : t->n_checked < change->n_names ? REQUEST_TIES_MORE : 0;
}

void request_ties_done(RequestTies *t) {
        map_done(&t->names);
        free(t->role);
        *t = (RequestTies){};
}
