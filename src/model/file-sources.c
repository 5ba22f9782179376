// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The words of [X-Argosy] File=: SOURCE[:DESTINATION].
//
// SOURCE is a path beneath the folder of the unit file: a file, a folder, or a pattern in its last
// component. DESTINATION is where the unit sees it, in its own mount namespace. What could reach beyond
// either is refused here, by its text alone.

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "file-sources.h"
#include "specifier.h"
#include "str.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@+=,~-/"
#define PATTERN_CHARACTERS "*?[]!"

// Where a unit would change what systemd or argosy itself reads, or cannot be looked at beforehand: argosyd
// has a /tmp and a /home of its own.
static const char *const others[] = {"/usr",
                                     "/bin",
                                     "/sbin",
                                     "/lib",
                                     "/lib32",
                                     "/lib64",
                                     "/proc",
                                     "/sys",
                                     "/dev",
                                     "/run/argosy",
                                     "/etc/argosy",
                                     "/var/lib/argosy",
                                     "/etc/systemd",
                                     "/run/systemd",
                                     "/var/lib/systemd",
                                     "/etc/credstore",
                                     "/run/credstore",
                                     "/run/credentials",
                                     "/etc/credstore.encrypted",
                                     "/run/credstore.encrypted",
                                     "/tmp",
                                     "/var/tmp",
                                     "/home",
                                     "/root",
                                     "/run/user",
                                     "/var/run"};

static bool components_are_plain(const char *path) {
        for (const char *at = path;; at++) {
                size_t len = strcspn(at, "/");

                if (len == 0 || (len == 1 && *at == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
                        return false;
                at += len;
                if (!*at)
                        return true;
        }
}

static bool is_of(const char *path, const char *characters) {
        size_t len = strlen(path);

        return len > 0 && len <= CARRIED_NAME_MAX && strspn(path, characters) == len;
}

bool carried_file_name_is_valid(const char *name) {
        return is_of(name, NAME_CHARACTERS) && components_are_plain(name);
}

bool file_source_is_pattern(const FileSource *s) {
        return strpbrk(s->source, PATTERN_CHARACTERS);
}

bool file_source_covers(const FileSource *s, const char *name) {
        const char *slash = strrchr(s->source, '/'), *name_slash = strrchr(name, '/');
        size_t dir = slash ? (size_t) (slash + 1 - s->source) : 0;

        if (!file_source_is_pattern(s))
                return path_is_beneath(name, s->source);
        if ((name_slash ? (size_t) (name_slash + 1 - name) : 0) != dir || memcmp(name, s->source, dir) != 0)
                return false;
        return fnmatch(s->source + dir, name + dir, FNM_PERIOD) == 0;
}

size_t file_source_bound_len(const FileSource *s) {
        const char *slash = strrchr(s->source, '/');

        if (!file_source_is_pattern(s))
                return strlen(s->source);
        return slash ? (size_t) (slash - s->source) : 0;
}

static int check_source(const char *source, char **ret_why) {
        const char *slash = strrchr(source, '/'), *special = strpbrk(source, PATTERN_CHARACTERS);

        if (*source == '/')
                return str_refuse(ret_why, "%s is not beneath the folder of the unit file", source);
        if (!is_of(source, NAME_CHARACTERS PATTERN_CHARACTERS))
                return str_refuse(ret_why,
                                  "\"%.64s\" has other characters than letters, digits and ._@+=,~-/ and "
                                  "those of a pattern",
                                  source);
        if (!components_are_plain(source))
                return str_refuse(ret_why,
                                  "%s is not a path beneath the folder of the unit file as it is to be "
                                  "written: without ., .., "
                                  "// and a / at its end",
                                  source);
        if (special && slash && special < slash)
                return str_refuse(ret_why, "%s: only the last part of a path may be a pattern", source);
        return 0;
}

bool file_destination_hides_system(const char *path) {
        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                if (path_is_beneath(others[i], path))
                        return true;
        return streq(path, "/");
}

// In a container, whose own what is not named here is.
static const char *const others_in_container[] = {"/proc", "/sys", "/dev", "/run/argosy",
                                                  "/run/credentials"};

static int check_place(const char *destination, const char *const *list, size_t n, char **ret_why) {
        for (size_t i = 0; i < n; i++)
                if (path_is_beneath(destination, list[i]) || path_is_beneath(list[i], destination))
                        return str_refuse(ret_why, "nothing is bound at %s: %s is not a unit's to change",
                                          destination, list[i]);
        return 0;
}

// What is one only for some instance is looked at there.
static int check_destination(const char *destination, bool container, char **ret_why) {
        const char *bad = destination;

        while ((bad = strchr(bad, '%')) && bad[1] == 'i')
                bad += 2;
        if (bad)
                return str_refuse(ret_why, "a destination has no specifier but %%i");
        if (*destination != '/' || !is_of(destination, NAME_CHARACTERS "%") ||
            !components_are_plain(destination + 1))
                return str_refuse(ret_why,
                                  "%s is not a path as a destination has it: from / on, without ., .., // "
                                  "and a / at its end, of "
                                  "letters, digits and ._@+=,~- alone",
                                  destination);
        return container ? check_place(destination, others_in_container, ELEMENTSOF(others_in_container),
                                       ret_why)
                         : check_place(destination, others, ELEMENTSOF(others), ret_why);
}

static int add(const char *word, size_t len, unsigned line, bool container, FileSource **list, size_t *n,
               char **ret_why) {
        _cleanup_free_ char *source = strndup(word, len), *destination = NULL;
        char *colon = source ? strchr(source, ':') : NULL;
        int r = source ? 0 : -ENOMEM;

        if (colon) {
                *colon = 0;
                destination = strdup(colon + 1);
                r = destination ? check_destination(destination, container, ret_why) : -ENOMEM;
        }
        if (r == 0)
                r = check_source(source, ret_why);
        if (r == 0 && *n == CARRIED_FILES_MAX)
                r = str_refuse(ret_why, "a unit names %d files at most; name a folder", CARRIED_FILES_MAX);
        if (r == 0)
                r = ARRAY_RESERVE(*list, *n + 1);
        if (r == 0)
                (*list)[(*n)++] = (FileSource){
                        .source = TAKE_PTR(source), .destination = TAKE_PTR(destination), .line = line};
        return r;
}

int file_sources_parse(const char *value, unsigned line, bool container, FileSource **list, size_t *n,
                       char **ret_why) {
        int r = 0;

        for (const char *at = value; r == 0 && *(at += strspn(at, " \t\n\r"));) {
                size_t len = strcspn(at, " \t\n\r");

                r = add(at, len, line, container, list, n, ret_why);
                at += len;
        }
        return r;
}

void file_sources_drop(FileSource *list, size_t *n) {
        while (*n > 0) {
                --*n;
                free(list[*n].source);
                free(list[*n].destination);
        }
}

const char *file_change_to_string(Argosy__FileChange change) {
        switch (change) {
        case ARGOSY__FILE_CHANGE__FILE_CHANGE_RELOAD:
                return "reload";
        case ARGOSY__FILE_CHANGE__FILE_CHANGE_NONE:
                return "none";
        default:
                return "restart";
        }
}

char *file_source_destination(const FileSource *s, const char *name) {
        return specifier_expand(s->destination, name);
}

// That were different before %i was filled in.
static int check_pair(const FileSource *a, const FileSource *b, const char *name, char **ret_why) {
        _cleanup_free_ char *one = file_source_destination(a, name), *two = file_source_destination(b, name);

        if (!one || !two)
                return -ENOMEM;
        return path_is_beneath(one, two) || path_is_beneath(two, one)
                       ? str_refuse(ret_why, "%s and %s cannot both be bound: one lies in the other's place",
                                    one, two)
                       : 0;
}

static int check_pairs(const FileSource *sources, size_t n, size_t i, const char *name, char **ret_why) {
        int r = 0;

        for (size_t k = 0; r == 0 && k < n; k++)
                if (k != i && sources[k].destination)
                        r = check_pair(&sources[k], &sources[i], name, ret_why);
        return r;
}

int file_sources_check_name(const FileSource *sources, size_t n, bool container, const char *name,
                            char **ret_why) {
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *destination = NULL;
                int r;

                if (!sources[i].destination || !strchr(sources[i].destination, '%'))
                        continue;
                destination = file_source_destination(&sources[i], name);
                if (!destination)
                        return -ENOMEM;
                r = check_destination(destination, container, ret_why)
                            ?: check_pairs(sources, n, i, name, ret_why);
                if (r < 0)
                        return r;
        }
        return 0;
}
