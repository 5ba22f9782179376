// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      time="2026-01-02T03:04:05Z" level=fatal msg="Error parsing image name \"docker://a.b/c\": reading
//      manifest ..."
//      Error: initializing source docker://a.b/c:1: reading manifest 1 in a.b/c: manifest unknown
//
// Both programs end with such a line. What is longer than REGISTRY_WORDS_MAX is cut at its beginning: the
// reason stands at the end.

#include "registry-words.h"

#include <stdlib.h>
#include <string.h>

#include "str.h"

// The last line that is not empty.
static char *last_line(const char *said, size_t len) {
        const char *end = said + len, *begin;

        while (end > said && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' '))
                end--;
        for (begin = end; begin > said && begin[-1] != '\n'; begin--)
                ;
        return strndup(begin, (size_t) (end - begin));
}

// In place: the value of msg="...", with its quotes unescaped; false: there is none.
static bool take_message(char *line) {
        char *at = strstr(line, "msg=\""), *to = line;

        if (!at)
                return false;
        for (at += strlen("msg=\""); *at && *at != '"'; at++) {
                if (*at == '\\' && at[1])
                        at++;
                *to++ = *at;
        }
        *to = 0;
        return true;
}

static const char *skip(const char *text, const char *word) {
        return str_has_prefix(text, word) ? text + strlen(word) : text;
}

char *registry_words(const void *said, size_t len) {
        _cleanup_free_ char *line = last_line(said, len);
        const char *text = line;

        if (!line)
                return NULL;
        (void) take_message(line);
        text = skip(skip(text, "Error: "), "Error ");
        if (strlen(text) > REGISTRY_WORDS_MAX)
                text += strlen(text) - REGISTRY_WORDS_MAX;
        return *text ? str_printable(text, REGISTRY_WORDS_MAX) : strdup("it did not say why");
}

RegistryDenial registry_words_denial(const char *words) {
        static const struct {
                const char *words;
                RegistryDenial denial;
        } all[] = {{"manifest unknown", REGISTRY_LACKS_IMAGE},
                   {"name unknown", REGISTRY_LACKS_IMAGE},
                   {"repository name not known", REGISTRY_LACKS_IMAGE},
                   {"no image found in image index for architecture", REGISTRY_LACKS_IMAGE},
                   {"no image found in manifest list for architecture", REGISTRY_LACKS_IMAGE},
                   {"unauthorized", REGISTRY_WANTS_AUTH},
                   {"authentication required", REGISTRY_WANTS_AUTH},
                   {"requested access to the resource is denied", REGISTRY_WANTS_AUTH}};

        for (size_t i = 0; i < ELEMENTSOF(all); i++)
                if (strstr(words, all[i].words))
                        return all[i].denial;
        return REGISTRY_DENIES_NOTHING;
}

const char *registry_denial_hint(RegistryDenial d, bool shown, bool pinned) {
        switch (d) {
        case REGISTRY_LACKS_IMAGE:
                return pinned ? "; if Image= names a tag, `argosyctl update --pull` resolves it anew" : "";
        case REGISTRY_WANTS_AUTH:
                return shown ? "; it was shown the secret that RegistryAuth= names"
                             : "; if it is private, RegistryAuth= names the secret to show";
        case REGISTRY_DENIES_NOTHING:
                break;
        }
        return "";
}
