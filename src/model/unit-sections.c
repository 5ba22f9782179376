// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sections whose names begin with "X-" are other programs' to systemd, which says nothing about them. So a
// misspelt [X-Argosy] would be a demand that nobody hears: the unit runs, on any node. What can hardly be
// meant otherwise is refused, with its line.
//
// This is asked of files that come in, not in unit_file_parse(): what the log has already stays readable.

#include <errno.h>
#include <strings.h>

#include "ini-reader.h"
#include "str.h"
#include "unit-file.h"
#include "unit-options-private.h"
#include "unit-parts.h"

enum { SECTION_WORD_MAX = 16 }; // letters of a name that could be meant; longer ones are not near

// The letters and digits of a section's name in lower case, without an "x" that was set off in front:
// "X-Fleet", "x_fleet" and "Fleet" are the same. False: there are too many.
static bool reduce(const char *section, char ret[static SECTION_WORD_MAX]) {
        size_t n = 0;

        if (strncasecmp(section, "x", 1) == 0 && section[1] && strchr("-_. ", section[1]))
                section += 2;
        for (; *section; section++) {
                char c = *section;

                if (c >= 'A' && c <= 'Z')
                        c = (char) (c - 'A' + 'a');
                if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
                        continue;
                if (n == SECTION_WORD_MAX - 1)
                        return false;
                ret[n++] = c;
        }
        ret[n] = 0;
        return true;
}

// Whether one letter that is missing, too many, another one, or in the place of its neighbour, is all that
// is different.
static bool is_near(const char *a, const char *b) {
        while (*a && *a == *b)
                a++, b++;
        if (streq(a, b))
                return true;
        if ((*a && streq(a + 1, b)) || (*b && streq(a, b + 1)) || (*a && *b && streq(a + 1, b + 1)))
                return true;
        return a[0] && a[1] && a[1] == b[0] && a[0] == b[1] && streq(a + 2, b + 2);
}

const char *unit_file_section_meant(const char *section) {
        static const struct {
                const char *word, *section;
        } own[] = {{"argosy", "X-Argosy"},
                   {"xargosy", "X-Argosy"},
                   {"fleet", "X-Fleet"},
                   {"xfleet", "X-Fleet"}};
        char word[SECTION_WORD_MAX];

        if (!reduce(section, word))
                return NULL;
        for (size_t i = 0; i < ELEMENTSOF(own); i++)
                if (is_near(word, own[i].word))
                        return streq(section, own[i].section) ? NULL : own[i].section;
        return NULL;
}

int unit_file_check_sections(const char *path, const void *content, size_t len, char **ret_why) {
        _cleanup_(ini_reader_done) IniReader reader = {0};
        IniLine line = {0};
        int r = ini_reader_init(&reader, content, unit_parts_own_len(content, len));

        if (r < 0)
                return r;
        while ((r = ini_reader_next(&reader, &line)) > 0) {
                const char *meant = line.kind == INI_SECTION ? unit_file_section_meant(line.section) : NULL;

                if (!meant)
                        continue;
                r = option_refuse(ret_why, path, line.line,
                                  "[%.64s] means nothing to argosy or systemd; write [%s]", line.section,
                                  meant);
                return ret_why && unit_parts_place(path, content, len, ret_why) < 0 ? -ENOMEM : r;
        }
        return r == -ENOMEM ? r : 0; // a header that does not end is unit_file_parse()'s to refuse
}
