// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The links that a unit's [Install] section asks for. They are never recorded: what may be ours is derived
// from the content of the unit file that is in place, and is ours only if it says what we would have written
// (systemctl writes absolute paths). So a batch takes old links away before it replaces or removes the file
// that explains them, and makes new ones after it has written theirs.
//
// What systemd 252 does with them, as measured:
//   - X.wants/ and X.requires/ are read when X is loaded. A link below a unit that is in memory is not seen
//   until it
//     was dropped, or until a reload; NeedDaemonReload= does not tell. For an X of argosy's the agent sees
//     to that
//     (PlanInput.links_stale); for one of the system's nobody is made to reload: it counts from the next one
//     on.
//   - A new link in a directory that exists needs no new look at the unit directory; a new directory and an
//   alias do.
//   - An alias that appears while its unit is in memory makes systemd refuse the alias ("File exists") until
//   a reload.
//     So it is written together with the file, and a changed file leaves memory before it is replaced.
//   - Whether the link's own target exists does not matter: for an instance without a file of its own it
//   does not.
//   - Only a start of X itself looks at its links; that X is wanted by something that starts does not.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit-dir-private.h"
#include "unit-name.h"

enum { LINK_TEXT_SIZE = UNIT_NAME_MAX + 8 };

static void link_text(const UnitInstallEntry *link, const char *name, char ret[static LINK_TEXT_SIZE]) {
        snprintf(ret, LINK_TEXT_SIZE, "%s%s", link->kind == UNIT_INSTALL_ALIAS ? "" : "../", name);
}

typedef enum LinkIs { LINK_ABSENT, LINK_OURS, LINK_FOREIGN } LinkIs;

static LinkIs inspect(const UnitDir *d, const char *path, const char *text) {
        char have[LINK_TEXT_SIZE + 1];
        ssize_t n = readlinkat(d->fd, path, have, sizeof(have));

        if (n < 0)
                return errno == ENOENT || errno == ENOTDIR ? LINK_ABSENT : LINK_FOREIGN;
        return (size_t) n == strlen(text) && memcmp(have, text, (size_t) n) == 0 ? LINK_OURS : LINK_FOREIGN;
}

// Whether X of X.wants/ is one of the system's units, as opposed to one of argosy's or one that is not
// there.
static bool is_of_the_system(const UnitDir *d, const char *name) {
        _cleanup_free_ char *template =
                unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE ? unit_name_template(name) : NULL;

        for (char **dir = d->foreign; *dir; dir++) {
                _cleanup_free_ char *own = unit_dir_probe(*dir, name),
                                    *shared = template ? unit_dir_probe(*dir, template) : NULL;

                if (own || shared)
                        return true;
        }
        return false;
}

static bool is_link(const UnitInstallEntry *link) {
        return link->kind != UNIT_INSTALL_ALSO;
}

static bool is_wanted(const UnitDir *d, const UnitInstallEntry *link, bool enable) {
        return link->kind == UNIT_INSTALL_ALIAS || enable || !is_of_the_system(d, link->name);
}

static void note_touched(UnitDirItem *item, const UnitInstallEntry *link) {
        if (item && link->kind != UNIT_INSTALL_ALIAS)
                (void) buf_append(&item->touched, link->name, strlen(link->name) + 1);
}

// "X.wants" of "X.wants/NAME"; empty for an alias.
static void directory_of(const char *path, char ret[static UNIT_NAME_MAX + 1]) {
        const char *slash = strchr(path, '/');

        snprintf(ret, UNIT_NAME_MAX + 1, "%.*s", slash ? (int) (slash - path) : 0, path);
}

static int make_link(UnitDir *d, const UnitInstallEntry *link, const char *name, UnitDirItem *item) {
        _cleanup_free_ char *path = unit_install_link(link, name);
        char text[LINK_TEXT_SIZE], dir[UNIT_NAME_MAX + 1];

        if (!path)
                return -ENOMEM;
        link_text(link, name, text);
        directory_of(path, dir);
        if (*dir && mkdirat(d->fd, dir, 0755) == 0)
                d->changed = true;
        else if (*dir && errno != EEXIST)
                return -errno;
        if (symlinkat(text, d->fd, path) < 0) {
                if (errno != EEXIST)
                        return -errno;
                // Somebody else's link of that name does what ours would.
                return link->kind == UNIT_INSTALL_ALIAS && inspect(d, path, text) != LINK_OURS ? -EEXIST : 0;
        }
        d->changed = d->changed || link->kind == UNIT_INSTALL_ALIAS;
        note_touched(item, link);
        return 0;
}

static int drop_link(UnitDir *d, const UnitInstallEntry *link, const char *name, UnitDirItem *item) {
        _cleanup_free_ char *path = unit_install_link(link, name);
        char text[LINK_TEXT_SIZE], dir[UNIT_NAME_MAX + 1];

        if (!path)
                return -ENOMEM;
        link_text(link, name, text);
        if (inspect(d, path, text) != LINK_OURS)
                return 0;
        if (unlinkat(d->fd, path, 0) < 0)
                return errno == ENOENT ? 0 : -errno;
        note_touched(item, link);
        directory_of(path, dir);
        if (!*dir || unlinkat(d->fd, dir, AT_REMOVEDIR) == 0)
                d->changed = true;
        return 0;
}

static bool has_link(const UnitInstall *links, const UnitInstallEntry *link) {
        for (size_t i = 0; links && i < links->n; i++)
                if (links->entries[i].kind == link->kind && streq(links->entries[i].name, link->name))
                        return true;
        return false;
}

UnitInstall *unit_dir_links_free(UnitInstall *links) {
        if (links)
                unit_install_done(links);
        free(links);
        return NULL;
}

int unit_dir_links_of(const UnitFile *f, const char *name, UnitInstall **ret) {
        UnitInstall *links;
        int r;

        *ret = NULL;
        if (!f || f->n_install == 0)
                return 0;
        links = calloc(1, sizeof(*links));
        if (!links)
                return -ENOMEM;
        r = unit_install_expand(f, name, name, links, NULL);
        if (r == 0 && links->n > 0)
                *ret = TAKE_PTR(links);
        unit_dir_links_free(links);
        return r == -EINVAL ? 0 : r; // the leader refuses those
}

int unit_dir_links_drop(UnitDir *d, const char *name, const UnitInstall *links, const UnitInstall *except,
                        UnitDirItem *item) {
        for (size_t i = 0; links && i < links->n; i++) {
                int r = 0;

                if (is_link(&links->entries[i]) && !has_link(except, &links->entries[i]))
                        r = drop_link(d, &links->entries[i], name, item);
                if (r < 0)
                        return r;
        }
        return 0;
}

int unit_dir_links_put(UnitDir *d, const char *name, const UnitInstall *links, bool enable,
                       UnitDirItem *item) {
        for (size_t i = 0; links && i < links->n; i++) {
                const UnitInstallEntry *link = &links->entries[i];
                int r = 0;

                if (is_link(link))
                        r = is_wanted(d, link, enable) ? make_link(d, link, name, item)
                                                       : drop_link(d, link, name, item);
                if (r < 0)
                        return r;
        }
        return 0;
}

const char *unit_dir_links_foreign(UnitDir *d, const char *name, const UnitInstall *links) {
        for (size_t i = 0; links && i < links->n; i++)
                if (links->entries[i].kind == UNIT_INSTALL_ALIAS &&
                    inspect(d, links->entries[i].name, name) == LINK_FOREIGN &&
                    !unit_dir_is_left_alias(d, links->entries[i].name, name))
                        return links->entries[i].name;
        return NULL;
}

bool unit_dir_links_are(UnitDir *d, const char *name, const UnitInstall *links, bool *ret_enabled) {
        bool complete = true;

        *ret_enabled = true;
        for (size_t i = 0; links && i < links->n; i++) {
                const UnitInstallEntry *link = &links->entries[i];
                _cleanup_free_ char *path = is_link(link) ? unit_install_link(link, name) : NULL;
                char text[LINK_TEXT_SIZE];

                if (!path)
                        continue;
                link_text(link, name, text);
                if (inspect(d, path, text) != LINK_ABSENT)
                        continue;
                if (is_wanted(d, link, false))
                        complete = false;
                else
                        *ret_enabled = false;
        }
        return complete;
}
