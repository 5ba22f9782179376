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

bool registry_words_deny(const char *words) {
        static const char *const denials[] = {"manifest unknown",
                                              "name unknown",
                                              "repository name not known",
                                              "unauthorized",
                                              "authentication required",
                                              "requested access to the resource is denied",
                                              "no image found in image index for architecture",
                                              "no image found in manifest list for architecture"};

        for (size_t i = 0; i < ELEMENTSOF(denials); i++)
                if (strstr(words, denials[i]))
                        return true;
        return false;
}
