// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      ExecStart=/usr/bin/podman network create --ignore --label argosy.file=HASH systemd-front
//
// is what podman's own generator makes of a .network, with the label that argosy puts into the copy that is
// translated (quadlet-generator.c). --ignore takes a network of that name which is there, whatever it was
// made of: so the label is compared before. A network without it is of before argosy, and taken as it is.
//
// What cannot be read says nothing: the network is there, and nobody knows of what it was made.

#include "network-look.h"

#include <errno.h>
#include <string.h>

#include "ini-reader.h"
#include "macro.h"
#include "quadlet.h"
#include "str.h"

// The last word, without its quotes.
static int last_word(const char *value, char **ret) {
        size_t len = strlen(value), begin;

        while (len > 0 && strchr(" \t\"", value[len - 1]))
                len--;
        begin = len;
        while (begin > 0 && !strchr(" \t\"", value[begin - 1]))
                begin--;
        if (begin == len || value[begin] == '-')
                return -ENOENT;
        *ret = strndup(value + begin, len - begin);
        return *ret ? 0 : -ENOMEM;
}

int network_look_name(const void *unit, size_t len, char **ret) {
        _cleanup_(ini_reader_done) IniReader reader = {};
        int r = ini_reader_init(&reader, unit, len), more = 0;
        IniLine line;

        while (r >= 0 && (more = ini_reader_next(&reader, &line)) > 0)
                if (line.kind == INI_ASSIGNMENT && streq(line.key, "ExecStart") &&
                    strstr(line.value, " network create "))
                        return last_word(line.value, ret);
        return r == -ENOMEM || more == -ENOMEM ? -ENOMEM : -ENOENT;
}

static const char *line_end(const char *at, const char *end) {
        const char *lf = at < end ? memchr(at, '\n', (size_t) (end - at)) : NULL;

        return lf ?: end;
}

static const char *after(const char *line_end, const char *end) {
        return line_end + (line_end < end);
}

static bool is_head(const char *at, const char *end, const char *name) {
        size_t len = name ? strlen(name) : 0;

        if (end - at < 2 || memcmp(at, "= ", 2) != 0)
                return false;
        return !name || ((size_t) (end - at) == len + 2 && memcmp(at + 2, name, len) == 0);
}

NetworkSeen network_look_find(const Buf *output, const char *name) {
        const char *at = (const char *) output->data, *end = at + output->len, *stop;
        NetworkSeen seen = {};
        char hex[HASH_HEX_SIZE];

        for (; at < end; at = after(stop, end)) {
                stop = line_end(at, end);
                if (!is_head(at, stop, name))
                        continue;
                at = after(stop, end);
                stop = line_end(at, end);
                seen.there = true;
                if (stop - at == HASH_HEX_SIZE - 1) {
                        memcpy(hex, at, HASH_HEX_SIZE - 1);
                        hex[HASH_HEX_SIZE - 1] = 0;
                        seen.said = hex_decode(hex, seen.of.bytes, HASH_SIZE);
                }
                seen.users = at = after(stop, end);
                while (at < end && !is_head(at, line_end(at, end), NULL))
                        at = after(line_end(at, end), end);
                seen.end = at;
                return seen;
        }
        return seen;
}

static const char *word_end(const char *at, const char *end) {
        return at < end ? memchr(at, ' ', (size_t) (end - at)) ?: end : end;
}

static bool is_down(const char *state, const char *end) {
        static const char *const states[] = {"created", "exited"};

        for (size_t i = 0; i < ELEMENTSOF(states); i++)
                if ((size_t) (end - state) == strlen(states[i]) &&
                    memcmp(state, states[i], strlen(states[i])) == 0)
                        return true;
        return false;
}

bool network_look_next(const NetworkSeen *seen, const char **at, NetworkUser *ret) {
        while (seen->there && *at < seen->end) {
                const char *line = *at, *stop = line_end(line, seen->end), *blank = word_end(line, stop),
                           *owner = after(blank, stop), *owner_end = word_end(owner, stop);

                *at = after(stop, seen->end);
                if (blank == line)
                        continue;
                *ret = (NetworkUser){line, owner, (int) (blank - line), (int) (owner_end - owner),
                                     is_down(after(owner_end, stop), stop)};
                return true;
        }
        return false;
}
