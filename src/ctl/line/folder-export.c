// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See folder-export.h. A template and a plain unit have a file each. An instance has none if its template's
// is the same, but then a line in argosy.set, as has everything that is not to be launched, and everything
// else, too, if the set has a timer or the like (unit-folder.h): one unit a line, so that two versions of
// the folder differ in what differs.
//
// A folder that somebody keeps by hand is not written over: an export says so in the first line of its
// argosy.set. While files change, argosy.set is one that cannot be applied, since half an export with
// --prune would destroy the other half. The true one comes last, when all others are on the disk.

#include "folder-export.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "carried-sources.h"
#include "drop-ins.h"
#include "fileio.h"
#include "folder-carried.h"
#include "folder-drop-ins.h"
#include "macro.h"
#include "quadlet.h"
#include "set-file.h"
#include "str.h"
#include "unit-args.h"
#include "unit-file.h"
#include "unit-folder.h"
#include "unit-name.h"
#include "unit-state.h"

#define MARK "# argosyctl export of the set "

// file_replace() puts ".#" and ".new" around it.
enum { FILE_NAME_MAX = UNIT_NAME_MAX - 6 };

void folder_export_done(FolderExport *e) {
        for (size_t i = 0; i < e->n_files; i++)
                buf_done(&e->files[i].content);
        for (size_t i = 0; i < e->n_gone; i++)
                free(e->gone[i]);
        for (size_t i = 0; i < e->n_gone_drop_ins; i++)
                free(e->gone_drop_ins[i]);
        free(e->gone_drop_ins);
        folder_carried_done(e);
        free(e->files);
        free(e->gone);
        buf_done(&e->set_file);
        *e = (FolderExport){};
}

// ---- laid out

static int compare_unit(const void *name, const void *unit) {
        return strcmp(name, ((const FolderExportUnit *) unit)->name);
}

// 1: its template's file is its own, too.
static int is_as_template(const FolderExport *e, const FolderExportUnit *u) {
        _cleanup_free_ char *name = NULL;
        const FolderExportUnit *template;

        if (unit_name_kind(u->name, NULL) != UNIT_NAME_INSTANCE)
                return 0;
        name = unit_name_template(u->name);
        if (!name)
                return -ENOMEM;
        template = bsearch(name, e->units, e->n_units, sizeof(*e->units), compare_unit);
        return template && hash_equal(&template->spec, &u->spec);
}

static int add_file(FolderExport *e, const FolderExportUnit *u, Buf *why) {
        if (*u->name == '.' || strlen(u->name) > FILE_NAME_MAX) {
                (void) buf_printf(why, "%s cannot be exported: the name of its file would be %s", u->name,
                                  *u->name == '.' ? "hidden" : "too long");
                return -EINVAL;
        }
        e->files[e->n_files++] = (FolderExportFile){.name = u->name, .hash = u->spec, .differs = true};
        return 0;
}

static int add_unit(FolderExport *e, const FolderExportUnit *u, Buf *why) {
        int as_template = is_as_template(e, u), r = as_template < 0 ? as_template : 0;

        if (as_template == 0)
                r = add_file(e, u, why);
        if (r < 0 || unit_name_kind(u->name, NULL) == UNIT_NAME_TEMPLATE)
                return r;
        if (as_template == 0 && u->target == ARGOSY__TARGET__TARGET_LAUNCHED && !e->has_activator)
                return 0;
        return buf_printf(&e->set_file, "%s %s\n", target_to_string(u->target), u->name);
}

static int append_head(const FolderExport *e, Buf *b) {
        return buf_printf(b, MARK "%s\nset %s\n", e->set, e->set);
}

// Whether a unit of the set may activate others; which ones its content says, which is not read here.
static bool has_activator(const FolderExport *e) {
        for (size_t i = 0; i < e->n_units; i++)
                if (unit_name_activated_type(e->units[i].name))
                        return true;
        return false;
}

int folder_export_lay_out(FolderExport *e, Buf *why) {
        int r = append_head(e, &e->set_file);

        if (e->n_units > SET_FILE_UNITS_MAX) {
                (void) buf_printf(why, "the set %s has %zu units, more than the %d that a folder may have",
                                  e->set, e->n_units, SET_FILE_UNITS_MAX);
                return -E2BIG;
        }
        e->set_file_differs = true;
        e->has_activator = has_activator(e);
        e->files = calloc(e->n_units + 1, sizeof(*e->files));
        if (r < 0 || !e->files)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < e->n_units; i++)
                r = add_unit(e, &e->units[i], why);
        if (r == 0 && e->set_file.len > SET_FILE_BYTES_MAX) {
                (void) buf_printf(why, "the names of the units of the set %s do not fit into argosy.set",
                                  e->set);
                r = -E2BIG;
        }
        return r;
}

// ---- compared

// -EISDIR: it is no regular file.
static int read_plain(int dirfd, const char *name, size_t max, Buf *ret) {
        struct stat st;

        if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        return S_ISREG(st.st_mode) ? file_read(dirfd, name, max, ret) : -EISDIR;
}

static bool is_export_of(const Buf *text, const char *set) {
        size_t mark = strlen(MARK), len = strlen(set);

        return text->len > mark + len && memcmp(text->data, MARK, mark) == 0 &&
               memcmp(text->data + mark, set, len) == 0 && text->data[mark + len] == '\n';
}

static int compare_file(const void *name, const void *file) {
        return strcmp(name, ((const FolderExportFile *) file)->name);
}

static int take_names(CarriedSources *carried, FolderExportNames *ret) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < carried->n_names; i++) {
                r = ARRAY_GROW(ret->list, ret->allocated, ret->n + 1);
                if (r == 0)
                        ret->list[ret->n++] = TAKE_PTR(carried->names[i]);
        }
        return r;
}

// Adds drop-ins and the files that the unit names, as they are in the folder; *ret: the files' names.
static int add_parts(const char *name, int dirfd, Buf *bytes, bool *ret_has_drop_ins, CarriedSources *ret) {
        DropInFolder folder = {.dirfd = dirfd, .dir = "", .shown = ""};
        _cleanup_drop_ins_ DropIns drop_ins = {};
        _cleanup_buf_ Buf why = {};
        int r = drop_ins_read(&folder, name, &drop_ins, &why);

        *ret_has_drop_ins = r < 0 || drop_ins.n > 0;
        if (r == 0)
                r = drop_ins_add_to(&drop_ins, &folder, name, bytes, &why);
        return r ?: carried_sources_read(&folder, name, bytes, ret, &why);
}

// The unit is not in the set: its file goes, and what that names.
static int note_gone(FolderExport *e, int dirfd, const char *name) {
        CarriedSources carried = {};
        _cleanup_buf_ Buf bytes = {};
        bool has_drop_ins;
        int r = ARRAY_GROW(e->gone, e->gone_allocated, e->n_gone + 1);

        if (r < 0)
                return r;
        e->gone[e->n_gone] = strdup(name);
        if (!e->gone[e->n_gone++])
                return -ENOMEM;
        r = read_plain(dirfd, name, UNIT_FILE_MAX, &bytes);
        if (r == 0)
                r = add_parts(name, dirfd, &bytes, &has_drop_ins, &carried);
        if (r == 0)
                r = take_names(&carried, &e->found);
        carried_sources_done(&carried);
        return r == -ENOMEM ? r : 0;
}

static int look_at_file(FolderExport *e, int dirfd, const char *name) {
        _cleanup_free_ char *unit = quadlet_unit(name);
        FolderExportFile *f =
                unit ? bsearch(unit, e->files, e->n_files, sizeof(*e->files), compare_file) : NULL;
        CarriedSources carried = {};
        _cleanup_buf_ Buf bytes = {};
        Hash hash;
        int r;

        if (!unit)
                return -ENOMEM;
        if (!f)
                return note_gone(e, dirfd, name);
        *(quadlet_is_container(name) ? &f->has_container : &f->has_unit) = true;
        r = read_plain(dirfd, name, UNIT_FILE_MAX, &bytes);
        if (r == 0)
                r = add_parts(name, dirfd, &bytes, &f->has_drop_ins, &carried);
        if (r == 0) { // else whatever it is, it is replaced
                hash = hash_of(bytes.data, bytes.len);
                f->differs = !hash_equal(&hash, &f->hash) || (f->has_unit && f->has_container);
                f->bytes = bytes.len;
                r = take_names(&carried, f->differs ? &e->found : &e->kept);
        }
        carried_sources_done(&carried);
        return r == -ENOMEM ? r : 0;
}

static int look_at_set_file(FolderExport *e, int dirfd, bool *is_export) {
        _cleanup_buf_ Buf text = {};
        int r = read_plain(dirfd, UNIT_FOLDER_SET_FILE, SET_FILE_BYTES_MAX, &text);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        *is_export = is_export_of(&text, e->set);
        e->set_file_differs =
                text.len != e->set_file.len || memcmp(text.data, e->set_file.data, text.len) != 0;
        return 0;
}

static int note_gone_drop_ins(FolderExport *e, char *name) {
        _cleanup_free_ char *owned = name;
        int r = ARRAY_GROW(e->gone_drop_ins, e->gone_drop_ins_allocated, e->n_gone_drop_ins + 1);

        if (r == 0)
                e->gone_drop_ins[e->n_gone_drop_ins++] = TAKE_PTR(owned);
        return r;
}

static bool is_exported(const FolderExport *e, const char *name) {
        return bsearch(name, e->files, e->n_files, sizeof(*e->files), compare_file);
}

// Whether a file that is exported takes the drop-ins beside that name: its own, or one of its instances'.
static bool takes_drop_ins(const FolderExport *e, const char *name) {
        size_t at = strcspn(name, "@") + 1;

        for (size_t i = 0; i < e->n_files; i++) {
                const char *file = e->files[i].name;

                if (streq(file, name))
                        return true;
                if (unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE &&
                    unit_name_kind(file, NULL) == UNIT_NAME_INSTANCE && strncmp(file, name, at) == 0 &&
                    streq(unit_name_suffix(file), unit_name_suffix(name)))
                        return true;
        }
        return false;
}

static int look_at_directory(FolderExport *e, int dirfd, const char *directory) {
        _cleanup_free_ char *name = strndup(directory, strlen(directory) - strlen(".d")),
                            *unit = name ? quadlet_unit(name) : NULL;
        struct stat st;

        if (!unit)
                return -ENOMEM;
        if (takes_drop_ins(e, unit) || fstatat(dirfd, directory, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISDIR(st.st_mode))
                return 0;
        return note_gone_drop_ins(e, TAKE_PTR(name));
}

static int look_at_entry(FolderExport *e, int dirfd, const char *name, bool *is_empty) {
        UnitFolderEntry entry = unit_folder_entry(name);

        *is_empty = *is_empty && entry == UNIT_FOLDER_ENTRY_NONE;
        if (entry == UNIT_FOLDER_ENTRY_DROP_INS)
                return look_at_directory(e, dirfd, name);
        return entry == UNIT_FOLDER_ENTRY_UNIT ? look_at_file(e, dirfd, name) : 0;
}

static int look_at_entries(FolderExport *e, DIR *d, bool *is_empty) {
        const struct dirent *entry;
        int r = 0;

        while (r == 0 && (errno = 0, entry = readdir(d)))
                r = look_at_entry(e, dirfd(d), entry->d_name, is_empty);
        return r == 0 ? -errno : r;
}

int folder_export_compare(FolderExport *e, const char *dir, Buf *why) {
        bool is_empty = true, is_export = false;
        DIR *d = opendir(dir);
        int r = d ? 0 : -errno;

        if (r == -ENOENT)
                return 0;
        if (r == 0)
                r = look_at_set_file(e, dirfd(d), &is_export);
        if (r == 0)
                r = look_at_entries(e, d, &is_empty);
        if (d)
                closedir(d);
        if (r < 0) {
                if (r != -ENOMEM)
                        (void) buf_printf(why, "cannot read the folder %s: %s", dir, strerror(-r));
                return r;
        }
        if (is_empty || is_export)
                return 0;
        (void) buf_printf(why, "%s is not empty, and not an export of the set %s", dir, e->set);
        return -ENOTEMPTY;
}

static size_t count_different(const FolderExport *e) {
        size_t n = 0;

        for (size_t i = 0; i < e->n_files; i++)
                n += e->files[i].differs;
        return n;
}

bool folder_export_is_there(const FolderExport *e) {
        return !e->set_file_differs && e->n_gone == 0 && e->n_gone_drop_ins == 0 && count_different(e) == 0;
}

int folder_export_find_set(const char *dir, char **ret) {
        _cleanup_free_ char *path = str_printf("%s/" UNIT_FOLDER_SET_FILE, dir), *set = NULL;
        _cleanup_buf_ Buf text = {};
        const char *name, *end;
        int r = path ? read_plain(AT_FDCWD, path, SET_FILE_BYTES_MAX, &text) : -ENOMEM;

        if (r < 0)
                return r == -ENOMEM ? r : -ENOENT;
        if (text.len < strlen(MARK) || memcmp(text.data, MARK, strlen(MARK)) != 0)
                return -ENOENT;
        name = (const char *) text.data + strlen(MARK);
        end = memchr(name, '\n', text.len - strlen(MARK));
        if (!end)
                return -ENOENT;
        set = strndup(name, (size_t) (end - name));
        if (!set)
                return -ENOMEM;
        if (!set_name_is_valid(set))
                return -ENOENT;
        *ret = TAKE_PTR(set);
        return 0;
}

// ---- written

typedef struct Writer {
        const char *dir;
        int fd;
        mode_t mode;
        Buf *why;
} Writer;

static int say(const Writer *w, int error, const char *what, const char *name) {
        if (error < 0 && error != -ENOMEM)
                (void) buf_printf(w->why, "cannot %s %s/%s: %s", what, w->dir, name, strerror(-error));
        return error;
}

static int put(const Writer *w, const char *name, const Buf *content, FileWriteFlags flags) {
        return say(w, file_replace(w->fd, name, content->data, content->len, w->mode, flags), "write", name);
}

static int put_incomplete(const FolderExport *e, const Writer *w) {
        _cleanup_buf_ Buf text = {};

        if (append_head(e, &text) < 0 || buf_printf(&text, SET_FILE_INCOMPLETE "\n") < 0)
                return -ENOMEM;
        return put(w, UNIT_FOLDER_SET_FILE, &text, FILE_SYNC);
}

static int put_drop_ins(const FolderExport *e, const Writer *w, const char *name) {
        _cleanup_free_ char *directory = str_printf("%s.d", name);

        return directory ? say(w, folder_drop_ins_write(e, name, w->fd, w->mode), "write", directory)
                         : -ENOMEM;
}

// The folders of drop-ins of a unit and of the container's file that makes it: that of the kind that it is
// of, and the other one goes.
static int put_both_drop_ins(const FolderExport *e, const Writer *w, const char *unit) {
        _cleanup_free_ char *container = NULL;

        if (!str_has_suffix(unit, ".service"))
                return put_drop_ins(e, w, unit);
        container = quadlet_file(unit);
        return container ? put_drop_ins(e, w, unit) ?: put_drop_ins(e, w, container) : -ENOMEM;
}

// A unit that was of the other kind has a file of that kind here.
static int drop_other(const FolderExportFile *f, const Writer *w, bool container, const char *other) {
        if (!(container ? f->has_unit : f->has_container))
                return 0;
        return say(w, unlinkat(w->fd, other, 0) < 0 && errno != ENOENT ? -errno : 0, "remove", other);
}

// Its own folder of drop-ins, and that of its template, which may have no file here.
static int put_file(const FolderExport *e, const Writer *w, const FolderExportFile *f) {
        bool container = quadlet_is(f->content.data, f->content.len);
        _cleanup_free_ char *made_by = quadlet_file(f->name), *template = NULL;
        Buf file;
        int r;

        if (!made_by)
                return -ENOMEM;
        folder_drop_ins_file(f, &file);
        r = put(w, container ? made_by : f->name, &file, 0);
        if (r == 0)
                r = put_both_drop_ins(e, w, f->name);
        if (r == 0)
                r = drop_other(f, w, container, container ? f->name : made_by);
        if (r < 0 || unit_name_kind(f->name, NULL) != UNIT_NAME_INSTANCE)
                return r;
        template = unit_name_template(f->name);
        return !template ? -ENOMEM : is_exported(e, template) ? 0 : put_both_drop_ins(e, w, template);
}

static int put_carried(const FolderExport *e, const Writer *w) {
        const char *name = "";

        return say(w, folder_carried_write(e, w->fd, w->mode, &name), "write", name);
}

static int drop_carried(const FolderExport *e, const Writer *w) {
        const char *name = "";

        return say(w, folder_carried_drop(e, w->fd, &name), "remove", name);
}

static int put_files(const FolderExport *e, const Writer *w) {
        int r = put_incomplete(e, w);

        if (r == 0)
                r = put_carried(e, w);
        if (r == 0)
                r = drop_carried(e, w);
        for (size_t i = 0; r == 0 && i < e->n_files; i++)
                if (e->files[i].differs)
                        r = put_file(e, w, &e->files[i]);
        for (size_t i = 0; r == 0 && i < e->n_gone_drop_ins; i++)
                r = put_drop_ins(e, w, e->gone_drop_ins[i]);
        for (size_t i = 0; r == 0 && i < e->n_gone; i++)
                r = say(w, unlinkat(w->fd, e->gone[i], 0) < 0 ? -errno : 0, "remove", e->gone[i]);
        return r == 0 ? say(w, syncfs(w->fd) < 0 ? -errno : 0, "write", "") : r;
}

static int check_bytes(const FolderExport *e, Buf *why) {
        size_t bytes = 0;

        for (size_t i = 0; i < e->n_files; i++)
                bytes += e->files[i].differs ? e->files[i].content.len : e->files[i].bytes;
        for (size_t i = 0; i < e->n_carried; i++)
                bytes += e->carried[i].size;
        if (bytes <= UNIT_ARGS_FILES_MAX)
                return 0;
        (void) buf_printf(why, "the files of the set %s are more than the %d MiB that a folder may have",
                          e->set, UNIT_ARGS_FILES_MAX / (1024 * 1024));
        return -E2BIG;
}

// What the user's umask leaves: there may be passwords in unit files.
static mode_t file_mode(void) {
        mode_t mask = umask(0);

        umask(mask);
        return 0666 & ~mask;
}

static int open_folder(const char *dir, Buf *why) {
        int fd = mkdir(dir, 0777) < 0 && errno != EEXIST ? -errno
                                                         : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd == -1)
                fd = -errno;
        if (fd < 0)
                (void) buf_printf(why, "cannot make the folder %s: %s", dir, strerror(-fd));
        return fd;
}

int folder_export_write(const FolderExport *e, const char *dir, Buf *why) {
        Writer w = {.dir = dir, .mode = file_mode(), .why = why};
        int r = check_bytes(e, why);

        if (r < 0 || folder_export_is_there(e))
                return r;
        w.fd = open_folder(dir, why);
        if (w.fd < 0)
                return w.fd;
        if (e->n_gone > 0 || e->n_gone_drop_ins > 0 || count_different(e) > 0)
                r = put_files(e, &w);
        if (r == 0)
                r = put(&w, UNIT_FOLDER_SET_FILE, &e->set_file, FILE_SYNC);
        close(w.fd);
        return r;
}
