// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The manifest of the files that come with a unit: read, made, and compared with what it is to be.
//
// There is one way to write it. So a manifest that comes in is judged by making it once more, from the text
// before it and the list in it: a changed setting, a missing file or one that no File= names is refused, and
// nothing else needs a check.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "carried-files.h"
#include "carried-settings.h"
#include "ini-reader.h"
#include "str.h"
#include "unit-name.h"
#include "unit-options-private.h"
#include "unit-parts.h"

#define GUARDS "/dev/argosy" // in the namespace of each unit with a DESTINATION
#define LATE "/proc/self/root" // a link to the root, which systemd follows when it comes to that
#define LIST_HEAD "# mode, bytes, SHA-256 and name of each file\n"

void carried_files_done(CarriedFiles *c) {
        for (size_t i = 0; i < c->n; i++)
                free(c->list[i].name);
        free(c->list);
        *c = (CarriedFiles){};
}

int carried_files_add(CarriedFiles *c, const char *name, bool executable, size_t size, const Hash *hash) {
        char *copy = strdup(name);

        if (!copy || ARRAY_GROW(c->list, c->allocated, c->n + 1) < 0) {
                free(copy);
                return -ENOMEM;
        }
        c->list[c->n++] = (CarriedFile){.name = copy, .executable = executable, .size = size, .hash = *hash};
        return 0;
}

static int compare(const void *a, const void *b) {
        const CarriedFile *x = a, *y = b;

        return strcmp(x->name, y->name);
}

const CarriedFile *carried_files_find(const CarriedFiles *c, const char *name) {
        CarriedFile key = {.name = (char *) name};

        return c->n > 0 ? bsearch(&key, c->list, c->n, sizeof(key), compare) : NULL;
}

size_t carried_files_bytes(const CarriedFiles *c) {
        size_t bytes = 0;

        for (size_t i = 0; i < c->n; i++)
                bytes += c->list[i].size;
        return bytes;
}

static bool is_same_file(const CarriedFile *a, const CarriedFile *b) {
        return a->executable == b->executable && hash_equal(&a->hash, &b->hash);
}

int carried_files_difference(const CarriedFiles *before, const CarriedFiles *after,
                             int (*each)(const CarriedFile *before, const CarriedFile *after,
                                         void *userdata),
                             void *userdata) {
        int r = 0;

        for (size_t i = 0, k = 0; r >= 0 && (i < before->n || k < after->n);) {
                int order = i == before->n  ? 1
                            : k == after->n ? -1
                                            : strcmp(before->list[i].name, after->list[k].name);
                const CarriedFile *a = order <= 0 ? &before->list[i++] : NULL,
                                  *b = order >= 0 ? &after->list[k++] : NULL;

                if (!a || !b || !is_same_file(a, b))
                        r = each(a, b, userdata);
        }
        return r;
}

// ------------------------------------------------------------------------------------------------ read

static bool is_manifest(const UnitPart *part) {
        size_t len = strlen("/" CARRIED_FILES_DROP_IN);

        return part->path && part->path_len > len &&
               memcmp(part->path + part->path_len - len, "/" CARRIED_FILES_DROP_IN, len) == 0;
}

// The last part, if that is one. Most contents do not even have its name in them.
static bool find_manifest(const void *content, size_t len, UnitPart *ret) {
        UnitParts p;

        if (len == 0 ||
            !memmem(content, len, "/" CARRIED_FILES_DROP_IN "\n", strlen("/" CARRIED_FILES_DROP_IN "\n")))
                return false;
        unit_parts_begin(&p, content, len);
        while (unit_parts_next(&p, ret))
                ;
        return is_manifest(ret);
}

size_t carried_files_text_len(const void *content, size_t len) {
        UnitPart part;

        return find_manifest(content, len, &part)
                       ? (size_t) (part.path - (const char *) content) - strlen("\n# ")
                       : len;
}

// "MODE BYTES HASH NAME", changed by this.
static int read_line(CarriedFiles *c, char *line) {
        char *rest = line, *mode = strsep(&rest, " "), *size = strsep(&rest, " "), *hex = strsep(&rest, " ");
        bool executable = mode && streq(mode, "0555");
        uint64_t bytes;
        Hash hash;

        if (!rest || (!executable && !streq(mode, "0444")) || !parse_u64(size, CARRIED_FILE_MAX, &bytes) ||
            !hex_decode(hex, hash.bytes, HASH_SIZE) || !carried_file_name_is_valid(rest) ||
            c->n == CARRIED_FILES_MAX)
                return -EBADMSG;
        if (c->n > 0 && strcmp(c->list[c->n - 1].name, rest) >= 0)
                return -EBADMSG;
        return carried_files_add(c, rest, executable, (size_t) bytes, &hash);
}

static int read_lines(CarriedFiles *c, const char *at, const char *end) {
        int r = 0;

        while (r == 0 && at < end) {
                const char *line_end = memchr(at, '\n', (size_t) (end - at)) ?: end;

                if (line_end - at < 2 || at[0] != '#' || at[1] != ' ')
                        return -EBADMSG;
                _cleanup_free_ char *line = strndup(at + 2, (size_t) (line_end - at - 2));

                r = line ? read_line(c, line) : -ENOMEM;
                at = line_end + 1;
        }
        return r;
}

int carried_files_read(const void *content, size_t len, CarriedFiles *ret) {
        UnitPart part;
        const char *head;

        if (!find_manifest(content, len, &part))
                return 0;
        head = memmem(part.content, part.len, LIST_HEAD, strlen(LIST_HEAD));
        if (!head)
                return -EBADMSG;
        return read_lines(ret, head + strlen(LIST_HEAD), part.content + part.len);
}

// The bytes up to the list: those of settings. 0: there is none.
static size_t settings_len(const void *content, size_t len) {
        UnitPart part;
        const char *head;

        if (!find_manifest(content, len, &part))
                return 0;
        head = memmem(part.content, part.len, LIST_HEAD, strlen(LIST_HEAD));
        return head ? (size_t) (head - (const char *) content) : 0;
}

bool carried_files_same_settings(const void *a, size_t a_len, const void *b, size_t b_len) {
        size_t settings = settings_len(a, a_len);

        return settings > 0 && settings_len(b, b_len) == settings && memcmp(a, b, settings) == 0;
}

Argosy__FileChange carried_files_change(const void *content, size_t len, Argosy__FileChange asked,
                                        const void *next, size_t next_len) {
        return asked != ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART &&
                               carried_files_same_settings(content, len, next, next_len)
                       ? asked
                       : ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART;
}

// ------------------------------------------------------------------------------------------------ compose

int carried_folders_that_stay(const FileSource *sources, size_t n, const CarriedFiles *c,
                              int (*each)(const char *folder, size_t len, void *userdata), void *userdata) {
        int r = each("", 0, userdata);

        for (size_t i = 0; r >= 0 && i < n; i++) {
                const char *source = sources[i].source;
                size_t bound = file_source_bound_len(&sources[i]);

                if (!sources[i].destination ||
                    (!file_source_is_pattern(&sources[i]) && carried_files_find(c, source)))
                        continue;
                for (const char *slash = strchr(source, '/');
                     r >= 0 && slash && (size_t) (slash - source) < bound; slash = strchr(slash + 1, '/'))
                        r = each(source, (size_t) (slash - source), userdata);
                if (r >= 0 && bound > 0)
                        r = each(source, bound, userdata);
        }
        return r < 0 ? r : 0;
}

// An assertion is what systemd shows best: no start is tried, and it says for what. It is systemd's first
// process that looks, so this is said only of what lies in a folder that it reads itself at any time. What
// leads from there to a server's files is refused on the node (agent-places.h).
static int append_assertion(const FileSource *s, const CarriedFiles *c, Buf *ret) {
        if (!s->destination || !str_has_prefix(s->destination, "/etc/"))
                return 0;
        return buf_printf(ret, "[Unit]\n%s=%s\n",
                          carried_files_find(c, s->source) ? "AssertPathExists" : "AssertPathIsDirectory",
                          s->destination);
}

// systemd makes on the host what it is to bind over and does not find, and since version 254 a restart of
// its own looks at no assertion. A source it makes never. So each place is a source before it is bound over:
// systemd sets up the mounts of a unit in the order of where they are to be, and GUARDS stands before them.
// It is a file system of the unit's own, which root alone may enter. What would stand before that itself
// (/data) is called by a path behind it: systemd sets up what it has come to, follows the link then, and
// goes on with what is left in the new order.
static int append_guards(const UnitFile *file, Buf *ret) {
        int r = 0, n = 0;

        for (size_t i = 0; r == 0 && i < file->n_file_sources; i++) {
                const char *destination = file->file_sources[i].destination;

                if (destination && n == 0)
                        r = buf_printf(ret, "TemporaryFileSystem=" GUARDS ":mode=0700\n");
                if (destination && r == 0)
                        r = buf_printf(ret, "BindReadOnlyPaths=%s:" GUARDS "/%d:norbind\n", destination,
                                       n++);
        }
        return r;
}

// Paths are ordered by their components. What an instance is called is not known here.
static bool stands_before_guards(const char *destination) {
        size_t len = strcspn(destination + 1, "/");
        char first[CARRIED_NAME_MAX + 1];

        str_fit(first, sizeof(first), "%.*s", (int) len, destination + 1);
        return strchr(first, '%') || strcmp(first, "dev") < 0;
}

// Of a container a node's translation says where they are (quadlet-binds.c): the mounts are the container's.
static int append_settings(const UnitFile *file, const CarriedFiles *c, Buf *ret) {
        int r = buf_printf(ret, "[Service]\nEnvironment=ARGOSY_FILES=" CARRIED_FILES_UNITS "/%%n\n");

        for (size_t i = 0; r == 0 && i < file->n_file_sources; i++) {
                const FileSource *s = &file->file_sources[i];
                size_t len = file_source_bound_len(s);

                if (s->destination)
                        r = buf_printf(ret, "BindReadOnlyPaths=" CARRIED_FILES_UNITS "/%%n%s%.*s:%s%s\n",
                                       len > 0 ? "/" : "", (int) len, s->source,
                                       stands_before_guards(s->destination) ? LATE : "", s->destination);
        }
        if (r == 0)
                r = append_guards(file, ret);
        for (size_t i = 0; r == 0 && i < file->n_file_sources; i++)
                r = append_assertion(&file->file_sources[i], c, ret);
        return r == 0 ? buf_append(ret, "\n", 1) : r;
}

static int append_manifest(const UnitFile *file, const CarriedFiles *c, Buf *ret) {
        int r = file->container ? 0 : append_settings(file, c, ret);

        if (r == 0)
                r = buf_printf(ret, LIST_HEAD);
        for (size_t i = 0; r == 0 && i < c->n; i++) {
                char hex[HASH_HEX_SIZE];

                hash_hex(&c->list[i].hash, HASH_SIZE, hex);
                r = buf_printf(ret, "# %s %zu %s %s\n", c->list[i].executable ? "0555" : "0444",
                               c->list[i].size, hex, c->list[i].name);
        }
        return r;
}

int carried_files_compose(const char *name, const UnitFile *file, CarriedFiles *c, Buf *text,
                          char **ret_why) {
        UnitPart part = {};
        size_t head;
        int r = 0;

        if (c->n > 1)
                qsort(c->list, c->n, sizeof(*c->list), compare);
        if (text->len > 0 && text->data[text->len - 1] != '\n')
                r = buf_append(text, "\n", 1);
        head = text->len + strlen("\n# ");
        if (r == 0)
                r = buf_printf(text, "\n# %s.d/" CARRIED_FILES_DROP_IN "\n", name);
        if (r == 0)
                r = append_manifest(file, c, text);
        if (r < 0)
                return r;
        if (!find_manifest(text->data, text->len, &part) || part.path != (const char *) text->data + head)
                return str_refuse(ret_why,
                                  "no drop-in of a unit with files may sort behind " CARRIED_FILES_DROP_IN
                                  ", nor may it have %d drop-ins",
                                  UNIT_DROP_INS_MAX);
        return 0;
}

// ------------------------------------------------------------------------------------------------ check

typedef struct Check {
        const char *path;
        const char *unit; // for its specifiers
        const UnitFile *file;
        const CarriedFiles *files;
        char **ret_why;
} Check;

// A unit of that name; of a template one that stands for all of its instances, whose instance is what is
// written for it.
static char *specimen(const char *name) {
        const char *at = strchr(name, '@');

        return unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE
                       ? str_printf("%.*s%%i%s", (int) (at + 1 - name), name, at + 1)
                       : strdup(name);
}

static int check_covered(const Check *c) {
        const UnitFile *f = c->file;
        size_t n_covered = 0;

        for (size_t k = 0; k < f->n_file_sources; k++) {
                bool any = false;

                for (size_t i = 0; !any && i < c->files->n; i++)
                        any = file_source_covers(&f->file_sources[k], c->files->list[i].name);
                if (!any)
                        return option_refuse(c->ret_why, c->path, f->file_sources[k].line,
                                             "File=%s did not come with the unit file",
                                             f->file_sources[k].source);
        }
        for (size_t i = 0; i < c->files->n; i++)
                for (size_t k = 0; k < f->n_file_sources; k++)
                        if (file_source_covers(&f->file_sources[k], c->files->list[i].name)) {
                                n_covered++;
                                break;
                        }
        return n_covered == c->files->n
                       ? 0
                       : option_refuse(c->ret_why, c->path, 1, "a file came with it that no File= names");
}

// A file cannot be a folder, too.
static int check_folders(const Check *c) {
        for (size_t i = 0; i < c->files->n; i++) {
                char folder[CARRIED_NAME_MAX + 1];

                str_fit(folder, sizeof(folder), "%s", c->files->list[i].name);
                for (char *slash; (slash = strrchr(folder, '/'));) {
                        *slash = 0;
                        if (carried_files_find(c->files, folder))
                                return option_refuse(c->ret_why, c->path, 1,
                                                     "%s came as a file and as a folder", folder);
                }
        }
        return 0;
}

// Beneath a bound folder there would be no place for another one.
static int check_destinations(const Check *c) {
        const UnitFile *f = c->file;

        for (size_t i = 0; i < f->n_file_sources; i++)
                for (size_t k = 0; k < i; k++) {
                        const char *a = f->file_sources[i].destination, *b = f->file_sources[k].destination;

                        if (a && b && (path_is_beneath(a, b) || path_is_beneath(b, a)))
                                return option_refuse(
                                        c->ret_why, c->path, f->file_sources[i].line,
                                        "%s and %s cannot both be bound: one lies in the other's place", b,
                                        a);
                }
        return 0;
}

// Names of argosy's own in such a folder begin so, as in the folders that Kubernetes makes.
static int check_names(const Check *c) {
        if (c->file->file_change == ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART)
                return 0;
        for (size_t i = 0; i < c->files->n; i++) {
                const char *name = c->files->list[i].name;

                if (str_has_prefix(name, "..") || strstr(name, "/.."))
                        return option_refuse(c->ret_why, c->path, c->file->file_sources[0].line,
                                             "%s: beside FileChange= no name may begin with two dots, which "
                                             "is what argosy's own begin with there",
                                             name);
        }
        return 0;
}

// A bound file is the one that was there at the start, whatever takes its place: a reload would read that
// again.
static int check_reload(const Check *c) {
        const UnitFile *f = c->file;

        if (f->file_change != ARGOSY__FILE_CHANGE__FILE_CHANGE_RELOAD)
                return 0;
        for (size_t i = 0; i < f->n_file_sources; i++)
                if (f->file_sources[i].destination &&
                    carried_files_find(c->files, f->file_sources[i].source))
                        return option_refuse(c->ret_why, c->path, f->file_sources[i].line,
                                             "with FileChange=reload only folders are bound, and %s is a "
                                             "file: put it into one",
                                             f->file_sources[i].source);
        return 0;
}

static int check_sizes(const Check *c, size_t text_len) {
        size_t bytes = text_len + carried_files_bytes(c->files);
        unsigned line = c->file->n_file_sources > 0 ? c->file->file_sources[0].line : 1;

        if (bytes <= CARRIED_UNIT_MAX)
                return 0;
        return option_refuse(
                c->ret_why, c->path, line,
                "the unit has %zu KiB with its files, and may have %d: larger things are images or packages",
                (bytes + 1023) / 1024, CARRIED_UNIT_MAX / 1024);
}

// systemd makes what it binds over in a root of the unit's own as well, and no node can say beforehand what
// is there.
static int check_root(const Check *c, const IniLine *line) {
        const FileSource *bound = NULL;
        size_t len;

        if (!streq(line->section, "Service") || !*line->value ||
            !(streq(line->key, "RootDirectory") || streq(line->key, "RootImage")))
                return 0;
        for (size_t i = 0; !bound && i < c->file->n_file_sources; i++)
                bound = c->file->file_sources[i].destination ? &c->file->file_sources[i] : NULL;
        if (!bound)
                return 0;
        len = file_source_bound_len(bound);
        return option_refuse(c->ret_why, c->path, line->line,
                             "beside %s= argosy binds nothing, and File=%s is to be at %s: name no place "
                             "there, and bind it by hand with "
                             "BindReadOnlyPaths=" CARRIED_FILES_UNITS "/%%n%s%.*s:%s",
                             line->key, bound->source, bound->destination, len > 0 ? "/" : "", (int) len,
                             bound->source, bound->destination);
}

static int check_setting(const Check *c, const IniLine *line) {
        const char *value =
                line->kind == INI_ASSIGNMENT ? carried_setting_path(line->key, line->value) : NULL;
        _cleanup_free_ char *why = NULL;
        int r;

        if (line->kind == INI_ASSIGNMENT && check_root(c, line) < 0)
                return -EINVAL;
        r = value ? carried_setting_check(c->file->file_sources, c->file->n_file_sources, c->unit, line->key,
                                          value, &why)
                  : 0;
        return r == -EINVAL ? option_refuse(
                                      c->ret_why, c->path, line->line, "%s",
                                      why ?: "systemd reads that before the unit's files are in their place")
                            : r;
}

static int check_settings(const Check *c, const void *content, size_t len) {
        _cleanup_(ini_reader_done) IniReader reader = {};
        IniLine line = {};
        int r = ini_reader_init(
                &reader, content,
                MIN_OF(unit_parts_own_len(content, len), carried_files_text_len(content, len)));

        if (r < 0)
                return r;
        while ((r = ini_reader_next(&reader, &line)) > 0) {
                r = check_setting(c, &line);
                if (r < 0)
                        return r;
        }
        return r == -EBADMSG ? 0 : r; // refused elsewhere
}

// Whether it is what carried_files_compose() would make.
static int check_manifest(const Check *c, const UnitPart *part) {
        _cleanup_buf_ Buf expected = {};
        int r = append_manifest(c->file, c->files, &expected);

        if (r < 0)
                return r;
        if (expected.len == part->len && memcmp(expected.data, part->content, part->len) == 0)
                return 0;
        return option_refuse(c->ret_why, c->path, 1,
                             CARRIED_FILES_DROP_IN " is argosy's own: it is made of what File= names");
}

static int check_parts(const Check *c, const void *content, size_t len, const UnitPart *manifest) {
        UnitParts p;
        UnitPart part;

        unit_parts_begin(&p, content, len);
        while (unit_parts_next(&p, &part))
                if (is_manifest(&part) && (!manifest || part.path != manifest->path))
                        return option_refuse(c->ret_why, c->path, 1,
                                             "no drop-in may be called " CARRIED_FILES_DROP_IN
                                             ": that is argosy's own");
        return 0;
}

static int check(const Check *c, const void *content, size_t len) {
        UnitPart manifest;
        bool has_manifest = find_manifest(content, len, &manifest);
        int r = check_parts(c, content, len, has_manifest ? &manifest : NULL);

        if (r == 0 && has_manifest && c->file->n_file_sources == 0)
                return option_refuse(c->ret_why, c->path, 1,
                                     CARRIED_FILES_DROP_IN " is argosy's own, and no File= names a file");
        if (r < 0 || c->file->n_file_sources == 0)
                return r;
        r = check_destinations(c)
                ?: check_settings(c, content, len)
                ?: check_covered(c)
                ?: check_folders(c)
                ?: check_names(c)
                ?: check_reload(c)
                ?: check_sizes(c, len);
        return r < 0 || !has_manifest ? r : check_manifest(c, &manifest);
}

int carried_files_check(const char *path, const char *name, const void *content, size_t len,
                        const UnitFile *file, char **ret_why) {
        _cleanup_carried_files_ CarriedFiles files = {};
        _cleanup_free_ char *unit = specimen(name);
        Check c = {.path = path, .unit = unit, .file = file, .files = &files, .ret_why = ret_why};
        int r = unit ? carried_files_read(content, len, &files) : -ENOMEM;

        if (r == -EBADMSG)
                r = option_refuse(ret_why, path, 1,
                                  CARRIED_FILES_DROP_IN " is argosy's own: the list in it cannot be read");
        if (r == 0)
                r = check(&c, content, len);
        return r == -EINVAL && ret_why && unit_parts_place(path, content, len, ret_why) < 0 ? -ENOMEM : r;
}

int carried_files_check_name(const UnitFile *file, const char *name, char **ret_why) {
        int r;

        if (file->n_file_sources > 0 && !str_has_suffix(name, ".service"))
                return str_refuse(ret_why, "File= is for services");
        if (unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE)
                return 0;
        r = file_sources_check_name(file->file_sources, file->n_file_sources, file->container || file->made,
                                    name, ret_why);
        return r < 0 ? r
                     : carried_settings_check(file->file_sources, file->n_file_sources, file->file_settings,
                                              name, ret_why);
}
