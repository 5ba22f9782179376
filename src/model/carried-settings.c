// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Settings of a unit that name a path which PID 1 itself reads: it sees nothing of what is bound in the
// unit's mount namespace. So a path beneath a DESTINATION of File= is refused, with the one that is there.
//
// Of a template some depend on the instance: those that its specifiers say are judged once for all of them,
// with a name that stands for any (carried-files.c); a path that is written out is that of one instance only
// where the DESTINATION depends on it. Such paths are kept with the parsed file (carried_settings_keep()),
// and judged for each name. Files without such a DESTINATION keep nothing.

#include "carried-settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "ini-reader.h"
#include "specifier.h"
#include "str.h"
#include "unit-name.h"

enum { CARRIED_SETTING_MAX = 4096 }; // of a path in a setting; a longer one is none that systemd takes

const char *carried_setting_path(const char *key, const char *value) {
        if (streq(key, "EnvironmentFile"))
                return value + strspn(value, "-");
        if (str_has_prefix(key, "LoadCredential"))
                return strchr(value, ':') ? strchr(value, ':') + 1 : NULL;
        if (str_has_prefix(key, "Condition") || str_has_prefix(key, "Assert"))
                return value + strspn(value, "|!");
        return NULL;
}

// The folder of a specifier in the system's manager; only its units have carried files.
static const char *folder_of_specifier(char c) {
        switch (c) {
        case 'C':
                return "/var/cache";
        case 'E':
                return "/etc";
        case 'L':
                return "/var/log";
        case 'S':
                return "/var/lib";
        case 'T':
                return "/tmp";
        case 't':
                return "/run";
        case 'V':
                return "/var/tmp";
        default:
                return NULL;
        }
}

// A new string with the specifiers filled in, as far as they do not depend on the node; NULL: out of memory.
static char *expand_setting(const char *value, const char *unit) {
        _cleanup_buf_ Buf out = {};

        while (*value) {
                size_t len = strcspn(value, "%"), taken = value[len] ? 1 + (value[len + 1] != 0) : 0;
                const char two[] = {'%', value[len] ? value[len + 1] : 0, 0},
                           *folder = taken == 2 ? folder_of_specifier(two[1]) : NULL;
                _cleanup_free_ char *text = taken ? specifier_expand(folder ?: two, unit) : strdup("");

                if (!text || buf_append(&out, value, len) < 0 || buf_append(&out, text, strlen(text)) < 0)
                        return NULL;
                value += len + taken;
        }
        return buf_take_string(&out);
}

// As systemd reads it: without a second slash, "." and what ends it.
static void normalise(const char *path, char ret[CARRIED_SETTING_MAX]) {
        size_t len = 0;

        while (*path && len < CARRIED_SETTING_MAX - 1) {
                bool at_start = len == 0 || ret[len - 1] == '/';

                if (at_start && len > 0 && *path == '/')
                        path++;
                else if (at_start && path[0] == '.' && (path[1] == '/' || !path[1]))
                        path++;
                else
                        ret[len++] = *path++;
        }
        while (len > 1 && ret[len - 1] == '/')
                len--;
        ret[len] = 0;
}

int carried_setting_check(const FileSource *sources, size_t n, const char *unit, const char *key,
                          const char *value, char **ret_why) {
        _cleanup_free_ char *expanded = expand_setting(value, unit);
        char path[CARRIED_SETTING_MAX];

        if (!expanded)
                return -ENOMEM;
        if (*expanded != '/')
                return 0;
        normalise(expanded, path);
        for (size_t i = 0; i < n; i++) {
                const FileSource *s = &sources[i];
                _cleanup_free_ char *destination = s->destination ? file_source_destination(s, unit) : NULL;
                size_t bound = file_source_bound_len(s);

                if (s->destination && !destination)
                        return -ENOMEM;
                if (destination && path_is_beneath(path, destination))
                        return str_refuse(ret_why,
                                          "systemd reads %s=%s before the unit's files are in their place: "
                                          "say " CARRIED_FILES_UNITS "/%%n%s%.*s%s",
                                          key, path, bound > 0 ? "/" : "", (int) bound, s->source,
                                          path + strlen(destination));
        }
        return 0;
}

static bool has_own_destination(const FileSource *sources, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (sources[i].destination && strchr(sources[i].destination, '%'))
                        return true;
        return false;
}

int carried_settings_keep(const FileSource *sources, size_t n, const void *text, size_t len, char **ret) {
        _cleanup_(ini_reader_done) IniReader reader = {};
        _cleanup_buf_ Buf kept = {};
        IniLine line = {};
        int r = has_own_destination(sources, n) ? ini_reader_init(&reader, text, len) : -ENODATA;

        *ret = NULL;
        if (r < 0)
                return r == -ENODATA ? 0 : r;
        while ((r = ini_reader_next(&reader, &line)) > 0) {
                const char *path =
                        line.kind == INI_ASSIGNMENT ? carried_setting_path(line.key, line.value) : NULL;

                if (path && (*path == '/' || *path == '%') &&
                    buf_printf(&kept, "%s=%s\n", line.key, path) < 0)
                        return -ENOMEM;
        }
        if (kept.len == 0 || r < 0)
                return r == -EBADMSG ? 0 : r; // refused elsewhere
        *ret = buf_take_string(&kept);
        return *ret ? 0 : -ENOMEM;
}

int carried_settings_check(const FileSource *sources, size_t n, const char *kept, const char *name,
                           char **ret_why) {
        _cleanup_free_ char *settings = kept ? strdup(kept) : NULL;
        char *at = settings;

        if (kept && !settings)
                return -ENOMEM;
        for (char *line; (line = strsep(&at, "\n"));) {
                char *value = strchr(line, '=');
                int r;

                if (!value)
                        continue;
                *value++ = 0;
                r = carried_setting_check(sources, n, name, line, value, ret_why);
                if (r < 0)
                        return r;
        }
        return 0;
}
