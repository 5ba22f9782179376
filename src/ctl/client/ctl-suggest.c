// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What may have been meant by a name that the cluster does not have. The answers are looked at as they come,
// and the first such name is kept; when the verb has ended, the cluster is asked for the names that begin or
// end like it, and the nearest one is said, or the nearest file where files were looked for. The names come
// from the list of units, so a user that may not see a unit is not told its name. If that question fails,
// nothing is said, as the first failure was. Of a folder it says which files are no unit files.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "ctl.h"
#include "message-of.h"
#include "no-unit.h"
#include "str.h"
#include "unit-name-hint.h"

#define NO_SUCH_UNIT ": no such unit"

void ctl_note_unknown(Ctl *ctl, const Argosy__Response *r) {
        if (*ctl->unknown)
                return;
        if (r->status == ENOENT && str_has_suffix(r->message, NO_SUCH_UNIT))
                str_fit(ctl->unknown, sizeof(ctl->unknown), "%.*s",
                        (int) (strlen(r->message) - strlen(NO_SUCH_UNIT)), r->message);
        if (r->what_case != ARGOSY__RESPONSE__WHAT_CHANGE)
                return;
        for (size_t i = 0; i < r->change->n_units; i++)
                if (r->change->units[i]->status == ENOENT) {
                        (void) str_copy(ctl->unknown, sizeof(ctl->unknown), r->change->units[i]->name);
                        ctl->unknown_file = strstr(r->change->units[i]->message, "no file");
                        return;
                }
}

typedef struct Nearest {
        const char *name;
        char *template; // of an instance
        int least;      // distance of `best`; -1: there is none yet
        char best[UNIT_NAME_MAX + 1];
} Nearest;

static void consider(Nearest *n, const char *name) {
        int distance = unit_name_distance(n->name, name);
        bool template = unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE;

        if (template && n->template)
                distance = unit_name_distance(n->template, name);
        if (distance < 0 || (n->least >= 0 && distance >= n->least))
                return;
        n->least = distance;
        (void) str_copy(n->best, sizeof(n->best), name);
}

static int on_row(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        if (r->what_case == ARGOSY__RESPONSE__WHAT_UNIT_FILES)
                for (size_t i = 0; i < r->unit_files->n_rows; i++)
                        consider(userdata, r->unit_files->rows[i]->unit);
        return 0;
}

// One slip leaves the first letter as it is, or the last two. One letter says nothing.
static int ask(Ctl *ctl, Nearest *n) {
        Argosy__Request__ListUnitFiles list = ARGOSY__REQUEST__LIST_UNIT_FILES__INIT;
        Argosy__Request request = REQUEST_OF(LIST_UNIT_FILES, list_unit_files, &list);
        const char *name = n->template ?: n->name, *end = unit_name_suffix(name);
        char first[8], last[UNIT_NAME_MAX + 8];
        char *patterns[] = {first, last};
        size_t len;

        if (!end || end - name < 2 || strpbrk(name, "\\*?["))
                return -EINVAL;
        len = (size_t) (end - name) - (n->template != NULL);
        snprintf(first, sizeof(first), "%c*", *name);
        snprintf(last, sizeof(last), "*%.*s*", (int) MIN_OF(len, (size_t) 2),
                 name + len - MIN_OF(len, (size_t) 2));
        list.patterns = patterns;
        list.n_patterns = ELEMENTSOF(patterns);
        return ctl_call(ctl, &request, CALL_NOTE, on_row, n);
}

static void say(Ctl *ctl, const Nearest *n) {
        size_t len;

        if (unit_name_kind(n->best, NULL) == UNIT_NAME_TEMPLATE && n->template) {
                const char *prefix = unit_name_prefix(n->best, &len);
                size_t instance_len;
                const char *instance = unit_name_instance(n->name, &instance_len);

                ctl_fail(ctl, "did you mean %.*s@%.*s%s?", (int) len, prefix, (int) instance_len, instance,
                         unit_name_suffix(n->best));
        } else if (unit_name_kind(n->best, NULL) == UNIT_NAME_TEMPLATE)
                ctl_fail(ctl, "did you mean an instance of %s, such as %.*s@1%s?", n->best,
                         (int) (strcspn(n->best, "@")), n->best, unit_name_suffix(n->best));
        else
                ctl_fail(ctl, "did you mean %s?", n->best);
}

// "blog.container", of which ".service" has made a name.
static bool say_mistake(Ctl *ctl, const char *name) {
        _cleanup_free_ char *typed =
                str_has_suffix(name, ".service") ? strndup(name, strlen(name) - strlen(".service")) : NULL;
        UnitNameMistake m;

        if (!typed || !unit_name_mistake(typed, &m))
                return false;
        ctl_fail(ctl, "%s would be %s, not a unit; %s", typed, m.is, m.advice);
        return true;
}

void ctl_suggest(Ctl *ctl) {
        Nearest n = {.name = ctl->unknown, .least = -1};
        _cleanup_free_ char *file = NULL;

        if (!*ctl->unknown || ctl->opt.given[OPT_QUIET] || say_mistake(ctl, ctl->unknown))
                return;
        if (unit_name_kind(n.name, NULL) == UNIT_NAME_INSTANCE && !(n.template = unit_name_template(n.name)))
                return;
        if (ask(ctl, &n) == 0 && n.least >= 0)
                say(ctl, &n);
        else if (ctl->unknown_file && (file = no_unit_nearest(".", n.template ?: n.name, AT_FDCWD)))
                ctl_fail(ctl, "did you mean ./%s?", file);
        free(n.template);
}

// What to do about files of a kind is said with the first of them.
void ctl_warn_ignored(Ctl *ctl, const char *dir, char *const *names, size_t n) {
        const char *said[8] = {};
        size_t n_said = 0;

        for (size_t i = 0; i < n; i++) {
                UnitNameMistake m = {.is = "no unit file"};
                bool again = !unit_name_mistake(names[i], &m);

                for (size_t k = 0; k < n_said; k++)
                        again |= streq(said[k], m.is);
                ctl_warn(ctl, "%s%s%s is %s, and is left out%s%s", dir,
                         !*dir || str_has_suffix(dir, "/") ? "" : "/",
                         names[i], m.is, again ? "" : "; ", again ? "" : m.advice);
                if (!again && n_said < ELEMENTSOF(said))
                        said[n_said++] = m.is;
        }
}
