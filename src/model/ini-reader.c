// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Lines of a unit file or of the configuration, as systemd reads them: a backslash at the end joins the next
// line, comments may stand between such lines, ends of lines may be of any kind, a byte order mark is
// skipped. In Quadlet's sections lines are joined as podman joins them. What is neither section nor
// assignment is handed over as garbage, and the caller says what that means; a section without its bracket
// is -EBADMSG. Keys and values are valid until the next line.

#include "ini-reader.h"

#include <errno.h>

static const char BLANKS[] = " \t\n\r";

int ini_reader_init(IniReader *r, const char *content, size_t len) {
        static const char mark[] = "\xef\xbb\xbf";

        *r = (IniReader){.at = content, .end = content + len};
        if (len >= 3 && memcmp(content, mark, 3) == 0)
                r->at += 3;
        return buf_append(&r->section, "", 1);
}

void ini_reader_done(IniReader *r) {
        buf_done(&r->text);
        buf_done(&r->section);
}

// The next physical line without its end, or NULL.
static const char *next_physical(IniReader *r, size_t *ret_len) {
        const char *start = r->at, *p = start;

        if (start == r->end)
                return NULL;
        while (p < r->end && *p != '\n' && *p != '\r')
                p++;
        *ret_len = (size_t) (p - start);
        if (p < r->end && *p++ == '\r' && p < r->end && *p == '\n')
                p++;
        r->at = p;
        r->line++;
        return start;
}

static bool is_comment(const char *p, size_t len) {
        while (len > 0 && strchr(BLANKS, *p))
                p++, len--;
        return len > 0 && (*p == '#' || *p == ';');
}

// Whether a backslash at the end is not itself escaped. Pairs are counted from the left, as systemd does;
// what came before this piece ends in the blank that replaced its backslash, so each piece can be looked at
// alone.
static bool is_continued(const char *p, size_t len) {
        bool escaped = false;

        for (size_t i = 0; i < len; i++)
                escaped = !escaped && p[i] == '\\';
        return escaped;
}

// Sections that podman's generator reads and systemd does not.
static bool is_quadlet_s(const IniReader *r) {
        static const char *const sections[] = {"Container", "Volume", "Network"};

        for (size_t i = 0; i < ELEMENTSOF(sections); i++)
                if (streq((const char *) r->section.data, sections[i]))
                        return true;
        return false;
}

// Puts the next logical line into r->text, NUL-terminated. 1, 0 at the end, -ENOMEM.
static int next_logical(IniReader *r, unsigned *ret_line) {
        bool continued = false, tight = is_quadlet_s(r);
        const char *piece;
        size_t len;

        r->text.len = 0;
        while ((piece = next_physical(r, &len))) {
                if (is_comment(piece, len))
                        continue;
                if (!continued)
                        *ret_line = r->line;
                for (; continued && tight && len > 0 && strchr(BLANKS, *piece); piece++)
                        len--;
                if (buf_append(&r->text, piece, len) < 0)
                        return -ENOMEM;
                continued = is_continued(piece, len);
                if (!continued)
                        break;
                if (tight)
                        r->text.len--;
                else
                        r->text.data[r->text.len - 1] = ' ';
        }
        if (!piece && !continued)
                return 0;
        return buf_append(&r->text, "", 1) < 0 ? -ENOMEM : 1;
}

static char *strip(char *s) {
        size_t len;

        s += strspn(s, BLANKS);
        for (len = strlen(s); len > 0 && strchr(BLANKS, s[len - 1]); len--)
                ;
        s[len] = 0;
        return s;
}

static int begin_section(IniReader *r, char *text, IniLine *ret) {
        size_t len = strlen(text);

        if (text[len - 1] != ']')
                return -EBADMSG;
        text[len - 1] = 0;
        r->section.len = 0;
        if (buf_append(&r->section, text + 1, len - 1) < 0)
                return -ENOMEM;
        ret->kind = INI_SECTION;
        ret->section = (const char *) r->section.data;
        return 1;
}

int ini_reader_next(IniReader *r, IniLine *ret) {
        unsigned line = 0;
        char *text, *equals;
        int k;

        do {
                k = next_logical(r, &line);
                if (k <= 0)
                        return k;
                text = strip((char *) r->text.data);
        } while (!*text);

        *ret = (IniLine){.kind = INI_GARBAGE, .section = (const char *) r->section.data, .line = line};
        if (*text == '[')
                return begin_section(r, text, ret);
        equals = strchr(text, '=');
        if (!equals || equals == text)
                return 1;
        *equals = 0;
        ret->kind = INI_ASSIGNMENT;
        ret->key = strip(text);
        ret->value = strip(equals + 1);
        return 1;
}
