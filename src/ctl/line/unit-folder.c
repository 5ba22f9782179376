// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See unit-folder.h. All files are read and parsed first, so that a folder with a unit that cannot be is
// refused before anything is asked of the cluster; then argosy.set says what is not as it is for most:
// instances, and units that are not to run. What a timer of the folder runs is loaded. What a folder may
// hold is limited as one request is.

#include "unit-folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "carried-files.h"
#include "drop-ins.h"
#include "fileio.h"
#include "quadlet.h"
#include "str.h"
#include "unit-args.h"
#include "unit-brings.h"
#include "unit-file.h"
#include "unit-name.h"

static void file_free(UnitFolderFile *f) {
        free(f->file);
        free(f->name);
        free(f->path);
        buf_done(&f->content);
        carried_sources_done(&f->carried);
        unit_file_free(f->parsed);
        free(f);
}

void unit_folder_done(UnitFolder *f) {
        for (size_t i = 0; i < f->n_files; i++)
                file_free(f->files[i]);
        for (size_t i = 0; i < f->n_ignored; i++)
                free(f->ignored[i]);
        for (size_t i = 0; i < f->n_brought; i++)
                free(f->brought[i]);
        for (size_t i = 0; i < f->n_directories; i++)
                free(f->directories[i]);
        free(f->directories);
        free(f->files);
        free(f->ignored);
        free(f->brought);
        free(f->units);
        map_done(&f->files_by_name);
        map_done(&f->units_by_name);
        set_file_done(&f->set_file);
        *f = (UnitFolder){};
}

// What is wrong with a part of it, in a sentence. 0: it was told, and the rest counts.
static int tell_problem(UnitFolder *f, int error, Buf *why) {
        _cleanup_free_ char *sentence = NULL;

        if (error >= 0 || error == -ENOMEM || !f->problem || why->len == 0)
                return error;
        sentence = buf_take_string(why);
        if (!sentence)
                return -ENOMEM;
        f->problem(sentence, f->problem_data);
        return 0;
}

// ---- files

static int read_regular(int dirfd, const char *name, const char *path, size_t max, Buf *ret, Buf *why) {
        struct stat st;
        int r = fstatat(dirfd, name, &st, 0) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EISDIR;

        if (r == 0)
                r = file_read(dirfd, name, max, ret);
        if (r == -EFBIG)
                (void) buf_printf(why, "%s is larger than %zu KiB", path, max / 1024);
        else if (r == -EISDIR)
                (void) buf_printf(why, "%s is not a regular file", path);
        else if (r < 0 && r != -ENOMEM)
                (void) buf_printf(why, "cannot read %s: %s", path, strerror(-r));
        return r;
}

static int check_name(const UnitFolderFile *f, char **ret_reason) {
        _cleanup_free_ char *clause = NULL;
        int r = unit_file_check_name(f->parsed, f->name, &clause);

        if (r != -EINVAL)
                return r;
        *ret_reason = str_printf("%s: %s", f->path, clause ?: "its files cannot be");
        return *ret_reason ? r : -ENOMEM;
}

static int parse_file(UnitFolderFile *f, Buf *why) {
        _cleanup_free_ char *reason = NULL;
        int r = unit_file_parse(f->path, f->content.data, f->content.len, &f->parsed, &reason);

        if (r >= 0 && f->parsed->container != quadlet_is_container(f->file)) {
                (void) buf_printf(why,
                                  f->parsed->container ? "%s has a section [Container]: what podman makes a "
                                                         "service of is called NAME" QUADLET_CONTAINER
                                                       : "%s has no section [Container]",
                                  f->path);
                return -EINVAL;
        }
        if (r >= 0)
                r = unit_file_check_sections(f->path, f->content.data, f->content.len, &reason);
        if (r >= 0)
                r = carried_files_check(f->path, f->name, f->content.data, f->content.len, f->parsed,
                                        &reason);
        if (r >= 0)
                r = check_name(f, &reason);
        if (r == -EINVAL)
                (void) buf_printf(why, "%s", reason);
        return r < 0 ? r : 0;
}

// Those of the name, behind the unit file that is in f->content.
static int add_drop_ins(UnitFolderFile *f, int dirfd, const char *dir, bool *ret_of_instance, Buf *why) {
        _cleanup_free_ char *shown = str_printf("%s/", dir);
        _cleanup_drop_ins_ DropIns drop_ins = {};
        DropInFolder folder = {.dirfd = dirfd, .dir = "", .shown = shown};
        int r = shown ? drop_ins_read(&folder, f->file, &drop_ins, why) : -ENOMEM;

        *ret_of_instance = drop_ins.of_instance;
        if (r == 0)
                r = drop_ins_add_to(&drop_ins, &folder, f->file, &f->content, why);
        return r < 0 ? r : carried_sources_read(&folder, f->name, &f->content, &f->carried, why);
}

// A place for one, which is the folder's; NULL: out of memory.
static UnitFolderFile *new_file(UnitFolder *folder, const char *file, const char *path) {
        UnitFolderFile *f = calloc(1, sizeof(*f));

        if (!f || ARRAY_GROW(folder->files, folder->files_allocated, folder->n_files + 1) < 0) {
                free(f);
                return NULL;
        }
        folder->files[folder->n_files++] = f;
        f->file = strdup(file);
        f->name = quadlet_unit(file);
        f->path = strdup(path);
        return f->file && f->name && f->path ? f : NULL;
}

// `r`: what came of reading it.
static int finish_file(UnitFolder *folder, const char *dir, UnitFolderFile *f, int r, Buf *why) {
        if (r == 0)
                r = parse_file(f, why);
        r = tell_problem(folder, r, why);
        if (r < 0)
                return r;
        f->hash = hash_of(f->content.data, f->content.len);
        folder->bytes += f->content.len + f->carried.bytes;
        if (folder->n_files > SET_FILE_UNITS_MAX || folder->bytes > UNIT_ARGS_FILES_MAX) {
                (void) buf_printf(why, "%s has more than %d unit files, or more than %d MiB of them", dir,
                                  SET_FILE_UNITS_MAX, UNIT_ARGS_FILES_MAX / (1024 * 1024));
                return -E2BIG;
        }
        if (map_find_str(&folder->files_by_name, f->name)) {
                (void) buf_printf(why, "%s has two files for %s: one is that of a container", dir, f->name);
                return -EEXIST;
        }
        return map_add_str(&folder->files_by_name, f->name, f);
}

static int add_file(UnitFolder *folder, int dirfd, const char *dir, const char *name, Buf *why) {
        _cleanup_free_ char *path = str_printf("%s/%s", dir, name);
        UnitFolderFile *f = path ? new_file(folder, name, path) : NULL;
        bool of_instance;
        int r;

        if (!f)
                return -ENOMEM;
        r = read_regular(dirfd, name, f->path, UNIT_FILE_MAX, &f->content, why);
        if (r == 0)
                // it may be what `cat` has shown
                f->content.len = carried_files_text_len(f->content.data, f->content.len);
        f->file_len = f->content.len;
        if (r == 0)
                r = add_drop_ins(f, dirfd, dir, &of_instance, why);
        return finish_file(folder, dir, f, r, why);
}

static int ignore(UnitFolder *f, const char *name) {
        int r = ARRAY_GROW(f->ignored, f->ignored_allocated, f->n_ignored + 1);

        if (r < 0)
                return r;
        f->ignored[f->n_ignored] = strdup(name);
        return f->ignored[f->n_ignored++] ? 0 : -ENOMEM;
}

static int note_directory(UnitFolder *f, const char *name) {
        int r = ARRAY_GROW(f->directories, f->directories_allocated, f->n_directories + 1);

        if (r < 0)
                return r;
        f->directories[f->n_directories] = strdup(name);
        return f->directories[f->n_directories++] ? 0 : -ENOMEM;
}

static bool is_about_folder(const char *name) {
        return strncmp(name, "README", strlen("README")) == 0 ||
               strncmp(name, "LICENSE", strlen("LICENSE")) == 0;
}

// "data.volume.d" is read with the containers that name data.volume.
static bool is_of_file_beside(const char *name) {
        size_t len = strlen(name), d = strlen(".d");

        return str_has_suffix(name, ".d") && len > d && quadlet_is_beside(name, len - d) &&
               memmem(name, len, QUADLET_CONTAINER ".d", strlen(QUADLET_CONTAINER ".d")) == NULL;
}

UnitFolderEntry unit_folder_entry(const char *name) {
        if (*name == '.')
                return UNIT_FOLDER_ENTRY_NONE;
        if (streq(name, UNIT_FOLDER_SET_FILE))
                return UNIT_FOLDER_ENTRY_SET_FILE;
        // also README-mails.service: what is left out --prune would destroy
        if (unit_name_kind(name, NULL) != UNIT_NAME_INVALID || quadlet_is_container(name))
                return UNIT_FOLDER_ENTRY_UNIT;
        if (unit_drop_in_directory_is_valid(name))
                return UNIT_FOLDER_ENTRY_DROP_INS;
        return is_about_folder(name) || is_of_file_beside(name) ? UNIT_FOLDER_ENTRY_NONE
                                                                : UNIT_FOLDER_ENTRY_OTHER;
}

static int read_set_file(UnitFolder *f, int dirfd, const char *dir, const char *name, Buf *why) {
        _cleanup_free_ char *path = str_printf("%s/%s", dir, name);
        _cleanup_buf_ Buf text = {};
        int r = path ? read_regular(dirfd, name, path, SET_FILE_BYTES_MAX, &text, why) : -ENOMEM;

        if (r == 0)
                r = set_file_parse(path, text.data, text.len, &f->set_file, why);
        return tell_problem(f, r, why);
}

static int add_entry(UnitFolder *f, int dirfd, const char *dir, const char *name, Buf *why) {
        switch (unit_folder_entry(name)) {
        case UNIT_FOLDER_ENTRY_NONE:
                return 0;
        case UNIT_FOLDER_ENTRY_SET_FILE:
                return read_set_file(f, dirfd, dir, name, why);
        case UNIT_FOLDER_ENTRY_UNIT:
                return add_file(f, dirfd, dir, name, why);
        case UNIT_FOLDER_ENTRY_DROP_INS:
                return note_directory(f, name);
        case UNIT_FOLDER_ENTRY_OTHER:
                break;
        }
        return ignore(f, name);
}

// The name of the file whose drop-ins it has: a new string.
static char *file_of_directory(const char *name) {
        return strndup(name, strlen(name) - strlen(".d"));
}

// Whether a template that has no file itself has an instance that has.
static bool has_instance(const UnitFolder *f, const char *template) {
        for (size_t i = 0; i < f->n_files; i++)
                if (unit_name_is_instance_of(f->files[i]->name, template))
                        return true;
        return false;
}

// A folder of drop-ins that goes with no unit file: that of an instance is beside its template's, and makes
// a file of its own for it, if argosy.set or another unit names that instance; else it is left out.
static int add_directory(UnitFolder *folder, int dirfd, const char *dir, const char *directory, Buf *why) {
        _cleanup_free_ char *file = file_of_directory(directory), *name = file ? quadlet_unit(file) : NULL,
                            *template = NULL;
        UnitFolderFile *of, *f;
        bool of_instance;
        int r;

        if (!name)
                return -ENOMEM;
        of = map_find_str(&folder->files_by_name, name);
        if (of)
                return quadlet_is_container(file) == quadlet_is_container(of->file)
                               ? 0
                               : ignore(folder, directory);
        if (unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE && has_instance(folder, name))
                return 0;
        if (unit_name_kind(name, NULL) != UNIT_NAME_INSTANCE)
                return ignore(folder, directory);
        template = unit_name_template(name);
        if (!template)
                return -ENOMEM;
        of = map_find_str(&folder->files_by_name, template);
        if (!of)
                return ignore(folder, directory);
        if (quadlet_is_container(file) != quadlet_is_container(of->file))
                return ignore(folder, directory);
        f = new_file(folder, file, of->path);
        if (!f || buf_append(&f->content, of->content.data, of->file_len) < 0)
                return -ENOMEM;
        f->file_len = of->file_len;
        f->only_drop_ins = true;
        r = add_drop_ins(f, dirfd, dir, &of_instance, why);
        if (r == 0 && !of_instance) { // it is empty
                file_free(f);
                folder->n_files--;
                return 0;
        }
        return finish_file(folder, dir, f, r, why);
}

static int add_directories(UnitFolder *f, int dirfd, const char *dir, Buf *why) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < f->n_directories; i++)
                r = add_directory(f, dirfd, dir, f->directories[i], why);
        return r;
}

// A file that a unit brings, or the folder that such a one is in.
static bool is_carried(const UnitFolder *f, const char *entry) {
        for (size_t i = 0; i < f->n_files; i++)
                for (size_t k = 0; k < f->files[i]->carried.n_names; k++)
                        if (path_is_beneath(f->files[i]->carried.names[k], entry))
                                return true;
        return false;
}

// What units bring is not left out.
static void forget_carried(UnitFolder *f) {
        size_t kept = 0;

        for (size_t i = 0; i < f->n_ignored; i++)
                if (is_carried(f, f->ignored[i]))
                        free(f->ignored[i]);
                else
                        f->ignored[kept++] = f->ignored[i];
        f->n_ignored = kept;
}

static int read_entries(UnitFolder *f, const char *dir, Buf *why) {
        DIR *d = opendir(dir);
        const struct dirent *entry;
        int r = d ? 0 : -errno;

        if (!d) {
                (void) buf_printf(why, "cannot read the folder %s: %s", dir, strerror(-r));
                return r;
        }
        while (r == 0 && (errno = 0, entry = readdir(d)))
                r = add_entry(f, dirfd(d), dir, entry->d_name, why);
        if (r == 0 && errno != 0) {
                r = -errno;
                (void) buf_printf(why, "cannot read the folder %s: %s", dir, strerror(-r));
        }
        if (r == 0)
                r = add_directories(f, dirfd(d), dir, why);
        forget_carried(f);
        closedir(d);
        return r;
}

// ---- units

static int add_unit(UnitFolder *f, UnitFolderUnit unit) {
        int r = ARRAY_GROW(f->units, f->units_allocated, f->n_units + 1);

        if (r == 0)
                r = map_add_str(&f->units_by_name, unit.name, f);
        if (r == 0)
                f->units[f->n_units++] = unit;
        return r;
}

// Those that argosy.set names.
static int add_listed(UnitFolder *f, const char *dir, const SetFileUnit *listed, Buf *why) {
        UnitFolderFile *file = map_find_str(&f->files_by_name, listed->name);
        _cleanup_free_ char *template = NULL;

        if (!file && unit_name_kind(listed->name, NULL) == UNIT_NAME_INSTANCE) {
                template = unit_name_template(listed->name);
                if (!template)
                        return -ENOMEM;
                file = map_find_str(&f->files_by_name, template);
        }
        if (file)
                return add_unit(f, (UnitFolderUnit){listed->name, file, listed->target,
                                                    !streq(file->name, listed->name)});
        (void) buf_printf(why, "%s/%s:%u: %s has no file in the folder%s%s", dir, UNIT_FOLDER_SET_FILE,
                          listed->line, listed->name, template ? ", and neither has " : "", template ?: "");
        return -ENOENT;
}

static int add_others(UnitFolder *f) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < f->n_files; i++) {
                const UnitFolderFile *file = f->files[i];
                bool is_template = unit_name_kind(file->name, NULL) == UNIT_NAME_TEMPLATE;

                if (!file->only_drop_ins && !map_find_str(&f->units_by_name, file->name))
                        r = add_unit(f, (UnitFolderUnit){
                                                .name = file->name,
                                                .file = file,
                                                .target = is_template ? ARGOSY__TARGET__TARGET_INACTIVE
                                                                      : ARGOSY__TARGET__TARGET_LAUNCHED,
                                                .unsaid = !is_template && file->parsed &&
                                                          !file->parsed->has_install});
        }
        return r;
}

static int compare_units(const void *a, const void *b) {
        return strcmp(((const UnitFolderUnit *) a)->name, ((const UnitFolderUnit *) b)->name);
}

static void sort_units(UnitFolder *f) {
        if (f->n_units > 0)
                qsort(f->units, f->n_units, sizeof(*f->units), compare_units);
}

// Who activates it decides when it runs; the most that one of them is to be counts.
static void leave_to(UnitFolderUnit *activated, const UnitFolderUnit *by) {
        Argosy__Target target = MIN_OF(by->target, ARGOSY__TARGET__TARGET_LOADED);

        activated->target = activated->activated ? MAX_OF(activated->target, target) : target;
        activated->activated = true;
}

// A service without [Install] is run by its timer, not by being there: it is loaded, as `start` of the timer
// would do it. Expects units in order.
static int leave_to_what_activates(UnitFolder *f) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < f->n_units; i++) {
                const UnitFolderUnit *u = &f->units[i];
                _cleanup_free_ char *name = NULL;
                UnitFolderUnit *activated = NULL;

                if (!u->file || !u->file->parsed || unit_name_kind(u->name, NULL) == UNIT_NAME_TEMPLATE)
                        continue;
                r = unit_file_activates(u->file->parsed, u->name, &name);
                if (r == 0 && name)
                        activated = bsearch(&(UnitFolderUnit){.name = name}, f->units, f->n_units,
                                            sizeof(*f->units), compare_units);
                if (activated && activated->unsaid)
                        leave_to(activated, u);
        }
        return r;
}

typedef struct Bringing {
        UnitFolder *folder;
        Argosy__Target target;
} Bringing;

static UnitFolderUnit *find_brought(UnitFolder *f, const char *name) {
        for (size_t i = f->n_units; i > 0 && f->units[i - 1].brought; i--)
                if (streq(f->units[i - 1].name, name))
                        return &f->units[i - 1];
        return NULL;
}

// The file that an instance would be made from; NULL: the folder has none.
static int find_template(const UnitFolder *f, const char *name, UnitFolderFile **ret) {
        _cleanup_free_ char *template = NULL;

        *ret = map_find_str(&f->files_by_name, name); // made of drop-ins
        if (*ret || unit_name_kind(name, NULL) != UNIT_NAME_INSTANCE)
                return 0;
        template = unit_name_template(name);
        if (template)
                *ret = map_find_str(&f->files_by_name, template);
        return template ? 0 : -ENOMEM;
}

static int add_brought(const char *name, void *userdata) {
        const Bringing *b = userdata;
        UnitFolder *f = b->folder;
        Argosy__Target target = MIN_OF(b->target, ARGOSY__TARGET__TARGET_LOADED);
        UnitFolderUnit *known;
        UnitFolderFile *file;
        int r;

        if (map_find_str(&f->units_by_name, name)) {
                known = find_brought(f, name);
                if (known)
                        known->target = MAX_OF(known->target, target);
                return 0;
        }
        r = find_template(f, name, &file);
        if (r == 0)
                r = ARRAY_GROW(f->brought, f->brought_allocated, f->n_brought + 1);
        if (r < 0)
                return r;
        f->brought[f->n_brought] = strdup(name);
        if (!f->brought[f->n_brought])
                return -ENOMEM;
        return add_unit(f, (UnitFolderUnit){f->brought[f->n_brought++], file, target,
                                            file && !streq(file->name, name), true});
}

// Repeats until the added units bring no others.
static int add_all_brought(UnitFolder *f) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < f->n_units; i++) {
                UnitFolderUnit unit = f->units[i];
                Bringing b = {f, unit.target};

                if (unit.file && unit.file->parsed && unit_name_kind(unit.name, NULL) != UNIT_NAME_TEMPLATE)
                        r = unit_brings_each(unit.file->parsed, unit.name, add_brought, &b);
        }
        return r;
}

// Drop-ins of instances that nothing names.
static int ignore_unused(UnitFolder *f) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < f->n_files; i++) {
                _cleanup_free_ char *directory = NULL;

                if (!f->files[i]->only_drop_ins || map_find_str(&f->units_by_name, f->files[i]->name))
                        continue;
                directory = str_printf("%s.d", f->files[i]->file);
                r = directory ? ignore(f, directory) : -ENOMEM;
        }
        return r;
}

int unit_folder_read(const char *path, UnitFolder *ret, Buf *why) {
        int r = read_entries(ret, path, why);

        for (size_t i = 0; r == 0 && i < ret->set_file.n; i++)
                r = tell_problem(ret, add_listed(ret, path, &ret->set_file.units[i], why), why);
        if (r == 0)
                r = add_others(ret);
        sort_units(ret);
        if (r == 0)
                r = leave_to_what_activates(ret);
        if (r == 0)
                r = add_all_brought(ret);
        if (r == 0)
                r = ignore_unused(ret);
        sort_units(ret);
        return r;
}
