// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What was meant: the table says what files of which ending are; an instance with a path is escaped as
// systemd-escape does it; and names are compared by the number of slips between them (a letter too many, too
// few, another, or two that have changed places). Nothing here asks a disk or a cluster.

#include "unit-name-hint.h"

#include <errno.h>
#include <stdio.h>

#include "buf.h"
#include "str.h"

#define QUADLET                                                                                            \
        "of these argosy takes .container files: podman makes %s of this one, and `QUADLET_UNIT_DIRS=DIR " \
        "/usr/lib/systemd/system-generators/podman-system-generator --dryrun` prints that"
#define BESIDE(line) \
        "it goes with each container that names it (" line "), to the nodes that these go to: start these"
#define IMAGE "argosy takes .container files: let the container name the image itself"
#define DROP_INS "argosy takes the drop-ins in NAME.d beside the unit file NAME"
#define ONE_EACH "argosy takes unit files: write one for each service"
#define NOT_FROM_FILES "argosy makes no unit of it"

static const struct {
        const char *suffix, *is, *advice;
        const char *makes; // suffix of the unit that is made of it; it stands for %s in `advice`
} endings[] = {
        {".kube", "a Quadlet file of podman", QUADLET, ".service"},
        {".pod", "a Quadlet file of podman", QUADLET, "-pod.service"},
        {".volume", "a Quadlet file of podman", BESIDE("Volume=NAME.volume:PATH"), NULL},
        {".network", "a Quadlet file of podman, or one of systemd-networkd", BESIDE("Network=NAME.network"),
         NULL},
        {".image", "a Quadlet file of podman", IMAGE, NULL},
        {".build", "a Quadlet file of podman", QUADLET, "-build.service"},
        {".artifact", "a Quadlet file of podman", QUADLET, "-artifact.service"},
        {".conf", "a drop-in, or a configuration file", DROP_INS, NULL},
        {".d", "a folder of drop-ins", DROP_INS, NULL},
        {".wants", "a folder of links", "argosy makes them of WantedBy= in [Install]", NULL},
        {".requires", "a folder of links", "argosy makes them of RequiredBy= in [Install]", NULL},
        {".upholds", "a folder of links", "Restart=always is what argosy's units have for it", NULL},
        {".yml", "YAML", ONE_EACH, NULL},
        {".yaml", "YAML", ONE_EACH, NULL},
        {".netdev", "a file of systemd-networkd", NOT_FROM_FILES, NULL},
        {".link", "a file of systemd-udevd", NOT_FROM_FILES, NULL},
        {".nspawn", "a file of systemd-nspawn", NOT_FROM_FILES, NULL},
};

bool unit_name_mistake(const char *name, UnitNameMistake *ret) {
        const char *slash = strrchr(name, '/');

        name = slash ? slash + 1 : name;
        for (size_t i = 0; i < ELEMENTSOF(endings); i++) {
                size_t len = strlen(name), suffix_len = strlen(endings[i].suffix);
                char made[UNIT_NAME_MAX + 1];

                if (len <= suffix_len || !str_has_suffix(name, endings[i].suffix))
                        continue;
                str_fit(made, sizeof made, "%.*s%s", (int) MIN_OF(len - suffix_len, (size_t) UNIT_NAME_MAX),
                        name, endings[i].makes ?: "");
                ret->is = endings[i].is;
                if (endings[i].makes)
                        str_fit(ret->advice, sizeof ret->advice, QUADLET, made);
                else
                        str_fit(ret->advice, sizeof ret->advice, "%s", endings[i].advice);
                return true;
        }
        return false;
}

// As systemd has it: '/' is '-', and what could be mistaken is written as its code.
static int escape_byte(Buf *out, uint8_t c, bool first) {
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.";

        if (c == '/')
                return buf_append(out, "-", 1);
        if (strchr(plain, c) && !(first && c == '.'))
                return buf_append(out, &c, 1);
        return buf_printf(out, "\\x%02x", c);
}

// A path loses the '/' at both ends and those that stand twice.
static int escape_instance(Buf *out, const char *text, size_t len) {
        bool path = *text == '/';
        size_t from = out->len;
        int r = 0;

        while (path && len > 0 && text[len - 1] == '/')
                len--;
        if (path && len == 0)
                return buf_append(out, "-", 1);
        for (size_t i = 0; i < len && r == 0; i++)
                if (!path || text[i] != '/' || (out->len > from && text[i + 1] != '/'))
                        r = escape_byte(out, (uint8_t) text[i], out->len == from);
        return r;
}

int unit_name_escape(const char *word, char **ret) {
        const char *at = strchr(word, '@'), *base = word, *suffix = unit_name_suffix(word);
        _cleanup_free_ char *name = NULL;
        _cleanup_buf_ Buf out = {};
        int r;

        *ret = NULL;
        if (!at || !strchr(at, '/'))
                return 0;
        for (const char *p = word; p < at; p++)
                if (*p == '/')
                        base = p + 1;
        if (!suffix || strchr(suffix, '/'))
                suffix = word + strlen(word);
        r = buf_append(&out, base, (size_t) (at + 1 - base));
        if (r == 0)
                r = escape_instance(&out, at + 1, (size_t) (suffix - at - 1));
        if (r == 0)
                r = buf_printf(&out, "%s", *suffix ? suffix : ".service");
        name = r == 0 ? buf_take_string(&out) : NULL;
        if (!name)
                return -ENOMEM;
        if (unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE)
                *ret = TAKE_PTR(name);
        return 0;
}

// Slips between two words, counted up to three rows of the table of Damerau and Levenshtein at a time.
static int slips(const char *a, size_t a_len, const char *b, size_t b_len) {
        uint8_t rows[3][UNIT_NAME_MAX + 2];

        for (size_t j = 0; j <= b_len; j++)
                rows[0][j] = (uint8_t) j;
        for (size_t i = 1; i <= a_len; i++) {
                uint8_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

                row[0] = (uint8_t) i;
                for (size_t j = 1; j <= b_len; j++) {
                        int best = MIN_OF(above[j] + 1, row[j - 1] + 1);

                        best = MIN_OF(best, above[j - 1] + (a[i - 1] != b[j - 1]));
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                best = MIN_OF(best, before[j - 2] + 1);
                        row[j] = (uint8_t) MIN_OF(best, UINT8_MAX);
                }
        }
        return rows[a_len % 3][b_len];
}

// "db.servcie", of which ".service" has made a name.
static int distance_of_types(const char *typed, size_t stem, const char *name) {
        size_t len = strlen(name);
        int n;

        if (!memchr(typed, '.', stem) || stem > len + 2 || len > stem + 2)
                return -1;
        n = slips(typed, stem, name, len);
        return n > 2 ? -1 : 2 * n;
}

int unit_name_distance(const char *typed, const char *name) {
        const char *a_end = unit_name_suffix(typed), *b_end = unit_name_suffix(name);
        size_t a, b, template;
        int n, most;

        if (!a_end || !b_end || strlen(typed) > UNIT_NAME_MAX || strlen(name) > UNIT_NAME_MAX)
                return -1;
        a = (size_t) (a_end - typed);
        b = (size_t) (b_end - name);
        template = b > 0 && name[b - 1] == '@' && a == b - 1; // "web" for web@.service
        n = distance_of_types(typed, a, name);
        if (n >= 0)
                return n;
        if (a > b + 2 || b > a + 2 || b == 0)
                return -1;
        n = template && memcmp(typed, name, a) == 0 ? 0 : slips(typed, a, name, b);
        most = a < 3 ? 0 : a < 7 ? 1 : 2;
        if (n > most)
                return -1;
        // the same type first: who types a service's name rarely means its timer
        return 2 * n + !streq(a_end, b_end);
}
