// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Each file is read once, however many units use it: a template with a thousand instances costs one look at
// the disk and one copy in the request. That is why also the files that are not there are remembered.
//
// A file that was named by its path is taken, whatever its owner. A file that matches a bare name is taken
// if it is the caller's own (own-file.c), and else refused: a stranger may have put it there. A file that
// cannot be looked at counts as absent for a bare name, as the cluster may know the unit.

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "carried-files.h"
#include "drop-ins.h"
#include "fileio.h"
#include "no-unit.h"
#include "own-file.h"
#include "quadlet.h"
#include "str.h"
#include "unit-args.h"
#include "unit-file.h"
#include "unit-name.h"

static void file_free(UnitArgsFile *f) {
        if (!f)
                return;
        free(f->name);
        free(f->path);
        free(f->key);
        buf_done(&f->content);
        carried_sources_done(&f->carried);
        free(f);
}
DEFINE_CLEANUP(UnitArgsFile *, file_free)

void unit_args_done(UnitArgs *a) {
        for (size_t i = 0; i < a->n_names; i++)
                free(a->names[i]);
        for (size_t i = 0; i < a->n_files; i++)
                file_free(a->files[i]);
        free(a->names);
        free(a->files);
        map_done(&a->by_name);
        map_done(&a->by_path);
        map_done(&a->files_by_name);
        map_done(&a->files_by_unit);
        map_done(&a->besides);
        buf_done(&a->here);
        free(a->alone);
        for (size_t i = 0; i < a->n_shared; i++)
                free(a->shared[i]);
        free(a->shared);
        *a = (UnitArgs){};
}

bool unit_arg_is_glob(const char *word) {
        return strpbrk(word, "*?[");
}

// Takes `name`; in *ret it is one of a->names. 1: new, 0: was there.
static int add_name(UnitArgs *a, char *name, const char **ret) {
        _cleanup_free_ char *owned = name;
        int r;

        *ret = map_find_str(&a->by_name, name);
        if (*ret)
                return 0;
        r = ARRAY_GROW(a->names, a->names_allocated, a->n_names + 2);
        if (r == 0)
                r = map_add_str(&a->by_name, name, name);
        if (r < 0)
                return r;
        *ret = a->names[a->n_names++] = TAKE_PTR(owned);
        a->names[a->n_names] = NULL;
        return 1;
}

static int refuse_others(const UnitArgsFile *f, const Buf *whose, Buf *why) {
        int r = buf_printf(why, "there is a file %s here, and %.*s: say ./%s to take it all the same",
                           f->path, (int) whose->len, (const char *) whose->data, f->path);

        return r < 0 ? r : -EPERM;
}

// The directory is looked at once. A descriptor; -ENOENT: nothing is there.
static int open_own(UnitArgs *a, int dirfd, const UnitArgsFile *f, Buf *whose) {
        if (!a->here_is_checked) {
                int r = own_directory_check(dirfd, &a->here);

                if (r < 0 && r != -EPERM)
                        (void) buf_printf(&a->here, "it cannot be told who may write to this directory (%s)",
                                          strerror(-r));
                a->here_is_checked = true;
                a->here_is_own = r == 0;
        }
        if (a->here_is_own)
                return own_file_open(dirfd, f->path, whose);
        return buf_append(whose, a->here.data, a->here.len) < 0 ? -ENOMEM : -EPERM;
}

static int read_bare(UnitArgs *a, int dirfd, UnitArgsFile *f, Buf *why) {
        _cleanup_buf_ Buf whose = {};
        struct stat st;
        int fd, r;

        // or a directory that has the name
        f->missing = fstatat(dirfd, f->path, &st, 0) < 0 || !S_ISREG(st.st_mode);
        if (f->missing)
                return 0;
        fd = open_own(a, dirfd, f, &whose);
        if (fd == -EPERM)
                return refuse_others(f, &whose, why);
        f->missing = fd == -ENOENT;
        if (fd < 0)
                return f->missing ? 0 : fd;
        r = file_read_fd(fd, UNIT_FILE_MAX, &f->content);
        close(fd);
        return r;
}

static int read_named(int dirfd, UnitArgsFile *f, bool required) {
        struct stat st;

        if (fstatat(dirfd, f->path, &st, 0) < 0) {
                if (errno != ENOENT && errno != ENOTDIR)
                        return -errno;
                f->missing = true;
                return 0;
        }
        if (S_ISREG(st.st_mode))
                return file_read(dirfd, f->path, UNIT_FILE_MAX, &f->content);
        f->missing = !required; // a directory that happens to have the name
        return required ? -EISDIR : 0;
}

static int read_file(UnitArgs *a, int dirfd, UnitArgsFile *f, bool required, Buf *why) {
        size_t said = why->len;
        int r;

        r = strchr(f->path, '/') ? read_named(dirfd, f, required) : read_bare(a, dirfd, f, why);
        if (why->len > said)
                return r;
        if (r == -EFBIG)
                (void) buf_printf(why, "%s is larger than %d KiB", f->path, UNIT_FILE_MAX / 1024);
        else if (r == -EISDIR)
                (void) buf_printf(why, "%s is not a regular file", f->path);
        else if (r < 0 && r != -ENOMEM)
                (void) buf_printf(why, "cannot read %s: %s", f->path, strerror(-r));
        return r;
}

static bool is_same(const UnitArgsFile *a, const UnitArgsFile *b) {
        return a->content.len == b->content.len &&
               (a->content.len == 0 || memcmp(a->content.data, b->content.data, a->content.len) == 0);
}

// The same unit from two places: only harmless if both say the same.
static int check_twice(const UnitArgs *a, const UnitArgsFile *f, Buf *why) {
        const UnitArgsFile *other = map_find_str(&a->files_by_name, f->name);

        if (!other || is_same(other, f))
                return 0;
        (void) buf_printf(why, "%s and %s are both named %s but differ", other->path, f->path, f->name);
        return -EINVAL;
}

static int check_sizes(UnitArgs *a, const UnitArgsFile *f, Buf *why) {
        int r = check_twice(a, f, why);

        if (r < 0)
                return r;
        a->files_bytes += f->content.len + f->carried.bytes;
        if (a->files_bytes <= UNIT_ARGS_FILES_MAX)
                return 0;
        (void) buf_printf(why, "these are more than %d MiB of unit files; use several commands",
                          UNIT_ARGS_FILES_MAX / (1024 * 1024));
        return -E2BIG;
}

// Takes `file`, whose path is that of the unit file, as what was found at `key`. 1; in *ret.
static int keep_file(UnitArgs *a, UnitArgsFile *file, const char *key, UnitArgsFile **ret, Buf *why) {
        _cleanup_(file_freep) UnitArgsFile *f = file;
        int r;

        f->key = strdup(key);
        r = f->key ? ARRAY_GROW(a->files, a->files_allocated, a->n_files + 1) : -ENOMEM;
        if (r == 0 && !f->missing)
                r = check_sizes(a, f, why);
        if (r == 0)
                r = map_add_str(&a->by_path, f->key, f);
        if (r == 0 && !f->missing && !map_find_str(&a->files_by_name, f->name))
                r = map_add_str(&a->files_by_name, f->name, f);
        if (r < 0)
                return r; // the caller throws everything away; nothing looks at the map again
        *ret = f;
        a->files[a->n_files++] = TAKE_PTR(f);
        return !(*ret)->missing;
}

// A bare name's are taken as its file is.
static int read_drop_ins(const char *dir, const char *name, int dirfd, DropIns *ret, Buf *why) {
        DropInFolder folder = {.dirfd = dirfd, .dir = dir, .shown = dir, .only_own = !*dir};

        return drop_ins_read(&folder, name, ret, why);
}

static int add_parts(const char *dir, const char *name, int dirfd, DropIns *drop_ins, Buf *content,
                     Buf *why) {
        DropInFolder folder = {.dirfd = dirfd, .dir = dir, .shown = dir, .only_own = !*dir};

        return drop_ins_add_to(drop_ins, &folder, name, content, why);
}

// What the text names, with the drop-ins in it.
static int read_carried(const char *dir, int dirfd, UnitArgsFile *f, Buf *why) {
        DropInFolder folder = {.dirfd = dirfd, .dir = dir, .shown = dir, .only_own = !*dir};

        return carried_sources_read(&folder, f->name, &f->content, &f->carried, why);
}

// What is in the file is of the kind that it is called.
static int check_kind(const UnitArgsFile *f, const char *file, Buf *why) {
        bool container = quadlet_is_container(file);
        int r;

        if (container == quadlet_is(f->content.data, f->content.len) || !str_has_suffix(f->name, ".service"))
                return 0;
        r = container ? buf_printf(why, "%s has no section [Container]", f->path)
                      : buf_printf(why,
                                   "%s has a section [Container]: what podman makes a service of is called "
                                   "NAME" QUADLET_CONTAINER,
                                   f->path);
        return r < 0 ? r : -EINVAL;
}

// Looks for dir + file. 1: found (now or before) and in *ret, with what is beside it, 0: not there.
static int find_file(UnitArgs *a, const char *dir, const char *file, int dirfd, bool required,
                     UnitArgsFile **ret, Buf *why) {
        _cleanup_(file_freep) UnitArgsFile *f = NULL;
        _cleanup_free_ char *path = NULL;
        _cleanup_drop_ins_ DropIns drop_ins = {};
        UnitArgsFile *known;
        int r;

        f = calloc(1, sizeof(UnitArgsFile));
        if (!f)
                return -ENOMEM;
        f->name = quadlet_unit(file);
        f->path = str_printf("%s%s", dir, file);
        path = str_printf("%s%s", dir, file);
        if (!f->name || !f->path || !path)
                return -ENOMEM;
        known = map_find_str(&a->by_path, path);
        if (known) {
                *ret = known;
                return !known->missing;
        }
        r = read_file(a, dirfd, f, required, why);
        if (r == 0 && !f->missing)
                // it may be what `cat` has shown
                f->content.len = carried_files_text_len(f->content.data, f->content.len);
        f->file_len = f->content.len;
        if (r == 0 && !f->missing)
                r = read_drop_ins(dir, file, dirfd, &drop_ins, why);
        if (r == 0 && !f->missing)
                r = add_parts(dir, file, dirfd, &drop_ins, &f->content, why);
        if (r == 0 && !f->missing)
                r = check_kind(f, file, why);
        if (r == 0 && !f->missing)
                r = read_carried(dir, dirfd, f, why);
        if (r == 0 && !f->missing)
                r = drop_ins_note_shared(dirfd, dir, file, &a->shared, &a->n_shared, &a->shared_allocated);
        return r < 0 ? r : keep_file(a, TAKE_PTR(f), path, ret, why);
}

// An instance that has drop-ins of its own has a content of its own: that of its template's unit file with
// all of them. 1: it is one, and in *ret; 0: it has the template's.
static int find_own_drop_ins(UnitArgs *a, const char *dir, const char *file, const UnitArgsFile *template,
                             int dirfd, UnitArgsFile **ret, Buf *why) {
        _cleanup_free_ char *key = str_printf("%s%s.d", dir, file);
        _cleanup_(file_freep) UnitArgsFile *f = NULL;
        _cleanup_drop_ins_ DropIns drop_ins = {};
        UnitArgsFile *known;
        int r;

        if (!key)
                return -ENOMEM;
        known = map_find_str(&a->by_path, key);
        if (known) {
                *ret = known;
                return 1;
        }
        r = read_drop_ins(dir, file, dirfd, &drop_ins, why);
        if (r < 0 || !drop_ins.of_instance)
                return r;
        f = calloc(1, sizeof(UnitArgsFile));
        if (!f || !(f->name = quadlet_unit(file)) || !(f->path = strdup(template->path)))
                return -ENOMEM;
        f->file_len = template->file_len;
        r = buf_append(&f->content, template->content.data, template->file_len);
        if (r == 0)
                r = add_parts(dir, file, dirfd, &drop_ins, &f->content, why);
        if (r == 0)
                r = read_carried(dir, dirfd, f, why);
        return r < 0 ? r : keep_file(a, TAKE_PTR(f), key, ret, why);
}

// Results as of find_file().
static int find_of_template(UnitArgs *a, const char *dir, const char *file, const char *template, int dirfd,
                            bool required, UnitArgsFile **ret, Buf *why) {
        int r = find_file(a, dir, template, dirfd, required, ret, why);

        if (r <= 0)
                return r;
        r = find_own_drop_ins(a, dir, file, *ret, dirfd, ret, why);
        return r < 0 ? r : 1;
}

// The file that goes with a unit: the same if it is named twice, be it its own or its template's.
static int note_source(UnitArgs *a, const char *name, UnitArgsFile *f, Buf *why) {
        const UnitArgsFile *other = map_find_str(&a->files_by_unit, name);

        if (!other)
                return map_add_str(&a->files_by_unit, name, f);
        if (is_same(other, f))
                return 0;
        (void) buf_printf(why, "%s is named with two files that differ: %s and %s", name, other->path,
                          f->path);
        return -EINVAL;
}

// A bare name has no file here: drop-ins that are here all the same change nothing, and a warning says so.
static int note_drop_ins_alone(UnitArgs *a, int dirfd, const char *name) {
        if (!drop_ins_are_there(dirfd, name) || a->n_alone++ > 0)
                return 0;
        a->alone = str_printf("%s.d", name);
        return a->alone ? 0 : -ENOMEM;
}

// A unit's own file, then its template's. `name` is one of a->names, of which `base` was typed.
static int find_files(UnitArgs *a, const char *dir, const char *base, const char *name, int dirfd,
                      Buf *why) {
        const char *file = quadlet_is_container(base) ? base : name;
        _cleanup_free_ char *template = NULL;
        UnitArgsFile *f;
        int r;

        r = find_file(a, dir, file, dirfd, *dir, &f, why);
        if (r == 0)
                r = quadlet_file_template(file, &template);
        if (r == 0 && template)
                r = find_of_template(a, dir, file, template, dirfd, *dir, &f, why);
        if (r > 0)
                return note_source(a, name, f, why);
        if (r == 0 && !*dir)
                return note_drop_ins_alone(a, dirfd, file)
                               ?: template ? note_drop_ins_alone(a, dirfd, template)
                                           : 0;
        if (r < 0)
                return r;
        r = no_unit_missing(dir, base, file, template, dirfd, why);
        return r < 0 ? r : -ENOENT;
}

typedef struct AddContext {
        UnitArgs *args;
        UnitArgsFlags flags;
        int dirfd;
        Buf *why;
} AddContext;

static int add_one(void *userdata, const char *word) {
        AddContext *c = userdata;
        const char *slash = strrchr(word, '/'), *base = slash ? slash + 1 : word, *reason = "", *added;
        _cleanup_free_ char *name = NULL, *dir = NULL;
        int r = no_unit_check(word, c->flags & UNIT_ARGS_READ_FILES, c->dirfd, c->why);

        if (r < 0)
                return r;
        name = unit_name_mangle(base);
        dir = strndup(word, (size_t) (base - word));
        if (!name || !dir)
                return -ENOMEM;
        if (unit_name_kind(name, &reason) == UNIT_NAME_INVALID) {
                (void) buf_printf(c->why, "'%s' is not a unit name: %s", *base ? base : word, reason);
                return -EINVAL;
        }
        if (c->args->n_names >= UNIT_ARGS_MAX)
                return -E2BIG;
        r = add_name(c->args, TAKE_PTR(name), &added);
        if (r >= 0 && c->flags & UNIT_ARGS_READ_FILES)
                r = find_files(c->args, dir, base, added, c->dirfd, c->why);
        return r < 0 ? r : 0;
}

int unit_args_add(UnitArgs *a, const char *word, UnitArgsFlags flags, int dirfd, Buf *why) {
        AddContext c = {a, flags, dirfd, why};
        const char *added;
        char *copy;
        int r;

        if ((flags & UNIT_ARGS_KEEP_GLOBS) && unit_arg_is_glob(word)) {
                copy = strdup(word);
                if (!copy)
                        return -ENOMEM;
                r = add_name(a, copy, &added);
                return r < 0 ? r : 0;
        }
        r = unit_name_expand(word, UNIT_ARGS_MAX, add_one, &c);
        if (r == -E2BIG && why->len == 0)
                (void) buf_printf(why, "'%s' makes more than %d units", word, UNIT_ARGS_MAX);
        else if (r == -EINVAL && why->len == 0)
                (void) buf_printf(why, "'%s' is not a range like {1..100} or {a,b}", word);
        return r;
}

// The unit that starts with `name`, or is started by it, by its file: a new string in *ret, NULL: there is
// none.
static int find_partner(const UnitArgsFile *f, const char *name, char **ret) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        int r = unit_file_parse(f->path, f->content.data, f->content.len, &file, NULL);

        *ret = NULL;
        if (r < 0)
                return r == -EINVAL ? 0 : r; // the cluster says what is wrong with it
        r = unit_file_activates(file, name, ret);
        return r < 0 || *ret ? r : unit_file_own_socket(file, name, ret);
}

static int find_partner_file(UnitArgs *a, const char *dir, const char *file, int dirfd, UnitArgsFile **ret,
                             Buf *why) {
        _cleanup_free_ char *template = NULL;
        int r = find_file(a, dir, file, dirfd, false, ret, why);

        if (r == 0)
                r = quadlet_file_template(file, &template);
        return r == 0 && template ? find_of_template(a, dir, file, template, dirfd, false, ret, why) : r;
}

static int add_beside(UnitArgs *a, const char *name, const UnitArgsFile *f, int dirfd, Buf *why) {
        const char *slash = strrchr(f->path, '/');
        _cleanup_free_ char *partner = NULL, *container = NULL,
                            *dir = strndup(f->path, slash ? (size_t) (slash + 1 - f->path) : 0);
        UnitArgsFile *found;
        int r = dir ? find_partner(f, name, &partner) : -ENOMEM;

        if (r < 0 || !partner || map_find_str(&a->files_by_name, partner))
                return r;
        r = find_partner_file(a, dir, partner, dirfd, &found, why);
        if (r == 0 && str_has_suffix(partner, ".service")) {
                container = quadlet_file(partner);
                r = container ? find_partner_file(a, dir, container, dirfd, &found, why) : -ENOMEM;
        }
        return r > 0 ? map_add_str(&a->besides, name, found) : r;
}

int unit_args_add_besides(UnitArgs *a, int dirfd, Buf *why) {
        for (size_t i = 0; i < a->n_names; i++) {
                const UnitArgsFile *f = map_find_str(&a->files_by_unit, a->names[i]);
                int r = f ? add_beside(a, a->names[i], f, dirfd, why) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

// Adds the file of that name, unless it is there or there is none.
static int note_file(const UnitArgs *a, const char *name, Map *noted, const UnitArgsFile **files,
                     size_t *n) {
        UnitArgsFile *f = map_find_str(&a->files_by_name, name);

        if (!f || map_find_str(noted, f->name))
                return 0;
        files[(*n)++] = f;
        return map_add_str(noted, f->name, f);
}

int unit_args_files_of(const UnitArgs *a, char *const *names, size_t n_names, const UnitArgsFile ***ret,
                       size_t *ret_n) {
        _cleanup_free_ const UnitArgsFile **files = calloc(a->n_files + 1, sizeof(*files));
        _cleanup_(map_done) Map noted = {};
        size_t n = 0;
        int r = files ? 0 : -ENOMEM;

        for (size_t i = 0; i < n_names && r == 0; i++) {
                _cleanup_free_ char *template = NULL;

                const UnitArgsFile *beside = map_find_str(&a->besides, names[i]);

                r = note_file(a, names[i], &noted, files, &n);
                if (r == 0 && beside)
                        r = note_file(a, beside->name, &noted, files, &n);
                if (r < 0 || unit_name_kind(names[i], NULL) != UNIT_NAME_INSTANCE)
                        continue;
                template = unit_name_template(names[i]);
                r = template ? note_file(a, template, &noted, files, &n) : -ENOMEM;
        }
        if (r < 0)
                return r;
        *ret = TAKE_PTR(files);
        *ret_n = n;
        return 0;
}

int unit_args_with_files(const UnitArgs *a, UnitArgsPair **ret, size_t *ret_n) {
        _cleanup_free_ UnitArgsPair *pairs = calloc(a->n_files + 1, sizeof(*pairs));
        _cleanup_(map_done) Map noted = {};
        size_t n = 0;

        if (!pairs)
                return -ENOMEM;
        for (size_t i = 0; i < a->n_names; i++) {
                UnitArgsFile *f = map_find_str(&a->files_by_unit, a->names[i]);
                int r = f ? map_add_str(&noted, f->name, f) : -EEXIST;

                if (r == 0)
                        pairs[n++] = (UnitArgsPair){a->names[i], f};
                else if (r != -EEXIST)
                        return r;
        }
        *ret = TAKE_PTR(pairs);
        *ret_n = n;
        return 0;
}
