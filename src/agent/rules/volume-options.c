// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      ExecStart=/usr/bin/podman volume create --ignore --opt type=tmpfs --opt device=tmpfs --label a=b
//      systemd-data
//
// is what podman's own generator makes of a .volume: --ignore takes a volume of that name which is there,
// whatever its options are. So these are compared before: the driver, and the options (--opt), but not the
// labels, which change nothing of the data. `podman volume inspect` has options in the order of their names.
// What cannot be read is compared with nothing.

#include "volume-options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "ini-reader.h"
#include "str.h"

enum { OPTIONS_MAX = 32 };

typedef struct Words {
        char *at;
} Words;

// In place: the next word, without its quotes; NULL: there is none.
static char *next_word(Words *w) {
        char *from = w->at + strspn(w->at, " \t"), *to = from, *begin = from;
        bool quoted = false;

        if (!*from)
                return NULL;
        for (; *from && (quoted || (*from != ' ' && *from != '\t')); from++) {
                if (*from == '"')
                        quoted = !quoted;
                else {
                        if (*from == '\\' && from[1])
                                from++;
                        *to++ = *from;
                }
        }
        w->at = *from ? from + 1 : from;
        *to = 0;
        return begin;
}

// "--opt=x" or "--opt", "x". NULL: it is another word.
static const char *value_of(Words *w, char *word, const char *option) {
        if (!str_has_prefix(word, option))
                return NULL;
        word += strlen(option);
        return *word == '=' ? word + 1 : *word ? NULL : next_word(w);
}

static int by_name(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

static int compose(const char *driver, const char **options, size_t n, char **ret) {
        _cleanup_buf_ Buf text = {};
        int r = buf_printf(&text, "%s\n", driver);

        if (n > 1)
                qsort(options, n, sizeof(*options), by_name);
        for (size_t i = 0; i < n && r == 0; i++)
                r = buf_printf(&text, "%s\n", options[i]);
        *ret = r == 0 ? buf_take_string(&text) : NULL;
        return *ret ? 0 : -ENOMEM;
}

static int read_line(const char *line, VolumeOptions *ret) {
        _cleanup_free_ char *copy = strdup(line);
        const char *driver = "local", *options[OPTIONS_MAX], *value, *last = NULL;
        Words w = {copy};
        size_t n = 0;

        if (!copy)
                return -ENOMEM;
        for (char *word; (word = next_word(&w));) {
                if ((value = value_of(&w, word, "--driver")))
                        driver = value;
                else if ((value = value_of(&w, word, "--opt"))) {
                        if (n == OPTIONS_MAX)
                                return -ENOENT;
                        options[n++] = value;
                } else if (!value_of(&w, word, "--label"))
                        last = word;
        }
        if (!last || *last == '-')
                return -ENOENT;
        ret->name = strdup(last);
        return ret->name ? compose(driver, options, n, &ret->text) : -ENOMEM;
}

void volume_options_done(VolumeOptions *o) {
        free(o->name);
        free(o->text);
        *o = (VolumeOptions){};
}

int volume_options_read(const void *unit, size_t len, VolumeOptions *ret) {
        _cleanup_(ini_reader_done) IniReader reader = {};
        IniLine line;
        int r = ini_reader_init(&reader, unit, len), more = 0;

        *ret = (VolumeOptions){};
        while (r >= 0 && (more = ini_reader_next(&reader, &line)) > 0)
                if (line.kind == INI_ASSIGNMENT && streq(line.key, "ExecStart") &&
                    strstr(line.value, " volume create "))
                        return read_line(line.value, ret);
        return r == -ENOMEM || more == -ENOMEM ? -ENOMEM : -ENOENT;
}

// "driver local, device=tmpfs, type=tmpfs"
static int describe(const char *text, size_t len, Buf *out) {
        int r = buf_printf(out, "driver ");

        while (len > 0 && text[len - 1] == '\n')
                len--;
        for (size_t i = 0; i < len && r == 0; i++)
                r = text[i] == '\n' ? buf_append(out, ", ", 2) : buf_append(out, &text[i], 1);
        return r ?: buf_append(out, "", 1);
}

static size_t len_of_lines(const char *text, size_t len) {
        while (len > 0 && text[len - 1] == '\n')
                len--;
        return len;
}

int volume_options_compare(const VolumeOptions *wanted, const char *file, const void *seen, size_t len,
                           char **ret_why) {
        size_t a = len_of_lines(wanted->text, strlen(wanted->text)), b = len_of_lines(seen, len);
        _cleanup_buf_ Buf is = {}, says = {};
        int r;

        *ret_why = NULL;
        if (b == 0 || (a == b && memcmp(wanted->text, seen, a) == 0))
                return 0;
        r = describe(seen, b, &is) ?: describe(wanted->text, a, &says);
        if (r < 0)
                return r;
        *ret_why =
                str_printf("the volume %s that is there is not that of %s: it has %s, and the file says %s",
                           wanted->name, file, (const char *) is.data, (const char *) says.data);
        return *ret_why ? 0 : -ENOMEM;
}
