// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>

#include "buf.h"
#include "ini.h"

static char *strip(char *s) {
        size_t n;

        s += strspn(s, " \t\r");
        for (n = strlen(s); n > 0 && strchr(" \t\r", s[n - 1]); n--)
                s[n - 1] = 0;
        return s;
}

typedef struct Ini {
        const char *path;
        char *section;
        IniAssign assign;
        IniWarn warn;
        void *userdata;
} Ini;

static int on_line(Ini *ini, unsigned line, char *text) {
        char *s = strip(text), *eq;
        size_t n = strlen(s);

        if (n == 0)
                return 0;
        if (s[0] == '[') {
                if (s[n - 1] != ']') {
                        ini->warn(ini->path, line, "a section header must end with ']'", ini->userdata);
                        return 0;
                }
                s[n - 1] = 0;
                free(ini->section);
                ini->section = strdup(s + 1);
                return ini->section ? 0 : -ENOMEM;
        }
        eq = strchr(s, '=');
        if (!eq || eq == s) {
                ini->warn(ini->path, line, "neither a section nor an assignment", ini->userdata);
                return 0;
        }
        if (!ini->section) {
                ini->warn(ini->path, line, "an assignment outside of any section", ini->userdata);
                return 0;
        }
        *eq = 0;
        return ini->assign(ini->path, line, ini->section, strip(s), strip(eq + 1), ini->userdata);
}

int ini_parse(const char *path, const char *text, size_t len, IniAssign assign, IniWarn warn, void *userdata) {
        Ini ini = {.path = path, .assign = assign, .warn = warn, .userdata = userdata};
        _cleanup_buf_ Buf joined = {};
        unsigned line = 0, first = 0;
        int r = 0;

        while (r >= 0 && len > 0) {
                const char *end = memchr(text, '\n', len);
                size_t n = end ? (size_t) (end - text) : len, skip = end ? n + 1 : n;
                bool comment, more;

                line++;
                if (joined.len == 0)
                        first = line;
                comment = n > strspn(text, " \t") && strchr("#;", text[strspn(text, " \t")]);
                more = !comment && n > 0 && text[n - 1] == '\\';
                if (!comment) // a comment between continued lines is skipped, as systemd does
                        r = buf_append(&joined, text, more ? n - 1 : n);
                if (r >= 0 && more)
                        r = buf_append(&joined, " ", 1);
                text += skip;
                len -= skip;
                if (r < 0 || more || (comment && joined.len > 0 && len > 0))
                        continue;
                r = buf_append(&joined, "", 1);
                if (r >= 0)
                        r = on_line(&ini, first, (char *) joined.data);
                joined.len = 0;
        }
        free(ini.section);
        return r < 0 ? r : 0;
}
