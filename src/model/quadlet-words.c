// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Values of Quadlet's keys, split as podman's generator splits them: a word ends at a blank outside of
// quotation marks, which are left out, and a backslash takes the next character as it is, or makes one of
// "\x20". Fields of a mount are those of a CSV line: one in double quotes may hold commas, and two of them
// are one. What podman would refuse, such as a quotation without an end, is read up to its end: the
// generator says what is wrong. Failures: -ENOMEM.

#include "quadlet-words.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "macro.h"
#include "str.h"

char *quadlet_plain(const char *value) {
        size_t len;

        value += strspn(value, "\"");
        for (len = strlen(value); len > 0 && value[len - 1] == '"'; len--)
                ;
        return strndup(value, len);
}

// ------------------------------------------------------------------------------------------------ words

// Behind a backslash. Returns what follows.
static const char *unescape(const char *at, char *ret) {
        static const char names[] = "abfnrtvs", values[] = "\a\b\f\n\r\t\v ";
        const char *name = *at ? strchr(names, *at) : NULL;
        uint8_t byte;

        if (*at == 'x' && at[1] && at[2] && hex_decode((const char[]){at[1], at[2], 0}, &byte, 1) && byte) {
                *ret = (char) byte;
                return at + 3;
        }
        *ret = name ? values[name - names] : *at;
        return at + (*at != 0);
}

// Writes the word over `out`, which is not behind `at`. Returns the first byte that is not of the word.
static const char *take_word(const char *at, char *out) {
        char quote = 0;

        while (*at && (quote || !strchr(" \t\n\r", *at))) {
                char c = *at++;

                if (c == '\\' && *at)
                        at = unescape(at, out++);
                else if (quote ? c == quote : c == '"' || c == '\'')
                        quote = quote ? 0 : c;
                else
                        *out++ = c;
        }
        at += *at != 0;
        *out = 0;
        return at;
}

int quadlet_words(const char *value, int (*each)(char *word, void *userdata), void *userdata) {
        _cleanup_free_ char *copy = strdup(value);
        const char *at = copy;
        int r = copy ? 0 : -ENOMEM;

        while (r == 0 && *(at += strspn(at, " \t\n\r"))) {
                char *word = copy + (at - copy);

                at = take_word(at, word);
                r = each(word, userdata);
        }
        return r;
}

// ------------------------------------------------------------------------------------------------ mounts

// The next field, without its quotation marks; NULL: there is none.
static char *take_field(char **at) {
        char *field = *at, *out = field, *from = field;
        bool quoted = *from == '"';

        if (!*from)
                return NULL;
        for (from += quoted; *from && (quoted || *from != ','); from++)
                if (quoted && *from == '"' && *++from != '"')
                        break;
                else
                        *out++ = *from;
        from += strcspn(from, ",");
        *at = from + (*from == ',');
        *out = 0;
        return field;
}

static const char *value_of(const char *field, const char *key) {
        size_t len = strlen(key);

        return strncmp(field, key, len) == 0 && field[len] == '=' ? field + len + 1 : NULL;
}

static bool says(const char *field, const char *option) {
        const char *value = value_of(field, option);

        return streq(field, option) || (value && streq(value, "true"));
}

QuadletMount quadlet_mount_of(char *word) {
        QuadletMount mount = {.type = ""};
        char *field;

        while ((field = take_field(&word))) {
                const char *source = value_of(field, "source") ?: value_of(field, "src");

                mount.type = value_of(field, "type") ?: mount.type;
                mount.source = source ?: mount.source;
                mount.read_only |= says(field, "ro") || says(field, "readonly");
        }
        return mount;
}

typedef struct Mounts {
        int (*each)(const QuadletMount *mount, void *userdata);
        void *userdata;
} Mounts;

static int on_mount(char *word, void *userdata) {
        const Mounts *m = userdata;
        QuadletMount mount = quadlet_mount_of(word);

        return m->each(&mount, m->userdata);
}

int quadlet_mounts(const char *value, int (*each)(const QuadletMount *mount, void *userdata),
                   void *userdata) {
        Mounts m = {each, userdata};

        return quadlet_words(value, on_mount, &m);
}

// ------------------------------------------------------------------------------------------------ data

// "SOURCE:DESTINATION[:OPTIONS]"; without a source podman makes a new volume for each container.
bool quadlet_volume_has_data(const char *value) {
        const char *colon = strchr(value, ':'), *options = colon ? strchr(colon + 1, ':') : NULL;

        if (!colon || colon == value)
                return false;
        while (options) {
                size_t len = strcspn(++options, ",");

                if (len == strlen("ro") && memcmp(options, "ro", len) == 0)
                        return false;
                options = options[len] ? options + len : NULL;
        }
        return true;
}

bool quadlet_mount_has_data(const QuadletMount *mount) {
        return mount->source && !mount->read_only && !streq(mount->type, "tmpfs") &&
               !streq(mount->type, "image");
}

// -------------------------------------------------------------------------------------------- podman's args

typedef struct Args {
        int (*each)(const char *key, char *word, void *userdata);
        void *userdata;
        const char *key; // whose value is the next word; NULL: it is another option
} Args;

static int on_arg(char *word, void *userdata) {
        static const struct {
                const char *option, *key;
        } options[] = {{"--volume", "Volume"}, {"--mount", "Mount"}, {"-v", "Volume"}};
        Args *a = userdata;
        const char *key = a->key;

        a->key = NULL;
        if (key)
                return a->each(key, word, a->userdata);
        for (size_t i = 0; i < ELEMENTSOF(options); i++) {
                char *value = word + strlen(options[i].option);

                if (!str_has_prefix(word, options[i].option))
                        continue;
                if (!*value)
                        a->key = options[i].key;
                else if (*value == '=' || options[i].option[1] != '-') // "-vdata:/data"
                        return a->each(options[i].key, value + (*value == '='), a->userdata);
        }
        return 0;
}

int quadlet_args(const char *value, int (*each)(const char *key, char *word, void *userdata),
                 void *userdata) {
        Args a = {each, userdata, NULL};

        return quadlet_words(value, on_arg, &a);
}
