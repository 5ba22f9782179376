// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A content is walked line by line, as systemd reads it. Only what names a drop-in, behind an empty line,
// and comes before a section begins a part; what merely looks like it stays the comment that it is, so that
// no file of anybody's means something else than before. Composing is refused where splitting would not give
// the same parts back.

#include "unit-parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "quadlet.h"
#include "str.h"
#include "unit-name.h"

#define SUFFIX ".conf"
#define LAST "/" UNIT_PART_LAST
#define DIRECTORY_SUFFIX ".d"

// ------------------------------------------------------------------------------------------------ names

static bool name_is_valid(const char *name, size_t len) {
        size_t suffix = strlen(SUFFIX);

        if (len <= suffix || len > UNIT_DROP_IN_NAME_MAX || *name == '.' ||
            memcmp(name + len - suffix, SUFFIX, suffix) != 0)
                return false;
        for (size_t i = 0; i < len; i++)
                if ((unsigned char) name[i] < 0x20 || name[i] == 0x7f || name[i] == '/')
                        return false;
        return true;
}

bool unit_drop_in_name_is_valid(const char *name) {
        return name_is_valid(name, strlen(name));
}

static bool directory_is_valid(const char *name, size_t len) {
        size_t suffix = strlen(DIRECTORY_SUFFIX);
        char unit[UNIT_NAME_MAX + 1];

        if (len <= suffix || len - suffix > UNIT_NAME_MAX ||
            memcmp(name + len - suffix, DIRECTORY_SUFFIX, suffix) != 0)
                return false;
        memcpy(unit, name, len - suffix);
        unit[len - suffix] = 0;
        return strlen(unit) == len - suffix &&
               (unit_name_kind(unit, NULL) != UNIT_NAME_INVALID || quadlet_is_container(unit));
}

bool unit_drop_in_directory_is_valid(const char *name) {
        return directory_is_valid(name, strlen(name));
}

// The name of a drop-in without its directory.
static const char *base_of(const UnitPart *p, size_t *ret_len) {
        const char *slash = memrchr(p->path, '/', p->path_len), *base = slash ? slash + 1 : p->path;

        *ret_len = p->path_len - (size_t) (base - p->path);
        return base;
}

bool unit_part_is_beside(const UnitPart *part) {
        return part->path && !memchr(part->path, '/', part->path_len);
}

static bool is_last(const UnitPart *part) {
        size_t len = strlen(LAST);

        return part->path_len > len && memcmp(part->path + part->path_len - len, LAST, len) == 0;
}

// 1: it is behind the files that stand beside a container's; -1: before them.
static int side_of(const UnitPart *part) {
        return unit_part_is_beside(part) ? 0 : is_last(part) ? 1 : -1;
}

int unit_drop_in_compare(const UnitPart *a, const UnitPart *b) {
        size_t a_len, b_len;
        const char *a_base = base_of(a, &a_len), *b_base = base_of(b, &b_len);
        bool beside = unit_part_is_beside(a) || unit_part_is_beside(b);
        int side = beside ? side_of(a) - side_of(b) : 0,
            r = side ? side : memcmp(a_base, b_base, MIN_OF(a_len, b_len));

        return r ? r : (a_len > b_len) - (a_len < b_len);
}

bool unit_part_is_of(const UnitPart *part, const char *unit) {
        const char *slash = memchr(part->path, '/', part->path_len);
        size_t len = slash ? (size_t) (slash - part->path) : 0, suffix = strlen(DIRECTORY_SUFFIX);
        char name[UNIT_NAME_MAX + 3];

        if (len <= suffix || len - suffix >= sizeof(name) ||
            memcmp(slash - suffix, DIRECTORY_SUFFIX, suffix) != 0)
                return false;
        memcpy(name, part->path, len - suffix);
        name[len - suffix] = 0;
        quadlet_unit_in_place(name);
        return streq(name, unit);
}

static int compare(const void *a, const void *b) {
        return unit_drop_in_compare(a, b);
}

size_t unit_parts_pick(const UnitPart *all, size_t n, const char *unit, const char *template, UnitPart *ret,
                       uint8_t *used) {
        size_t n_own = 0, n_ret;

        for (size_t i = 0; i < n; i++)
                if (unit_part_is_of(&all[i], unit)) {
                        ret[n_own++] = all[i];
                        if (used)
                                used[i] = 1;
                }
        n_ret = n_own;
        for (size_t i = 0; template && i < n; i++) {
                bool replaced = false;

                if (!unit_part_is_of(&all[i], template))
                        continue;
                for (size_t k = 0; k < n_own; k++)
                        replaced |= unit_drop_in_compare(&ret[k], &all[i]) == 0;
                if (!replaced)
                        ret[n_ret++] = all[i];
                if (used)
                        used[i] = 1;
        }
        if (n_ret > 1)
                qsort(ret, n_ret, sizeof(*ret), compare);
        return n_ret;
}

// ------------------------------------------------------------------------------------------------ split

static bool is_blank(char c) {
        return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// What comes first that is no comment and no empty line.
static const char *skip_comments(const char *at, const char *end) {
        for (;;) {
                while (at < end && is_blank(*at))
                        at++;
                if (at == end || (*at != '#' && *at != ';'))
                        return at;
                while (at < end && *at != '\n' && *at != '\r')
                        at++;
        }
}

static bool begins_with_section(const char *at, const char *end) {
        at = skip_comments(at, end);
        return at == end || *at == '[';
}

static bool is_drop_in(const UnitPart *part) {
        const char *slash = memchr(part->path, '/', part->path_len), *base;
        size_t base_len;

        if (!slash || !directory_is_valid(part->path, (size_t) (slash - part->path)))
                return false;
        base = base_of(part, &base_len);
        return base == slash + 1 && name_is_valid(base, base_len);
}

static bool is_beside(UnitParts *p, const UnitPart *part) {
        if (!quadlet_is_beside(part->path, part->path_len))
                return false;
        if (!p->looked)
                p->container = quadlet_is(p->begin, (size_t) (p->end - p->begin));
        p->looked = true;
        return p->container;
}

// "# DIRECTORY/NAME\n" or "# NAME.volume\n" at that place, behind an empty line. Where the part's own lines
// begin; NULL: it is none.
static const char *take_head(UnitParts *p, const char *at, const char *line_end, UnitPart *ret) {
        UnitPart part = {.path = at + 2};

        if (p->n_drop_ins == UNIT_DROP_INS_MAX || at - p->begin < 2 || at[-1] != '\n' || at[-2] != '\n' ||
            line_end - at < 3 || memcmp(at, "# ", 2) != 0)
                return NULL;
        part.path_len = (size_t) (line_end - part.path);
        if (!is_drop_in(&part) && !is_beside(p, &part))
                return NULL;
        if (p->last.path && unit_drop_in_compare(&p->last, &part) >= 0)
                return NULL;
        if (!p->first || p->first < line_end + 1) // a long comment is read once, however many heads it holds
                p->first = skip_comments(line_end + 1, p->end);
        if (p->first < p->end && *p->first != '[')
                return NULL;
        p->n_drop_ins++;
        *ret = part;
        return line_end + 1;
}

void unit_parts_begin(UnitParts *p, const void *content, size_t len) {
        *p = (UnitParts){.begin = content, .at = content, .end = (const char *) content + len};
        p->last = (UnitPart){.content = content};
}

bool unit_parts_next(UnitParts *p, UnitPart *ret) {
        UnitPart next = {};

        if (!p->at)
                return false;
        for (const char *line = p->at, *line_end; (line_end = memchr(line, '\n', (size_t) (p->end - line)));
             line = line_end + 1) {
                next.content = take_head(p, line, line_end, &next);
                if (!next.content)
                        continue;
                p->last.len = (size_t) (line - 1 - p->last.content);
                *ret = p->last;
                p->last = next;
                p->at = next.content;
                return true;
        }
        p->last.len = (size_t) (p->end - p->last.content);
        *ret = p->last;
        p->at = NULL;
        return true;
}

size_t unit_parts_own_len(const void *content, size_t len) {
        UnitPart part;
        UnitParts p;

        if (!quadlet_may_have_beside(content, len))
                return len;
        unit_parts_begin(&p, content, len);
        while (unit_parts_next(&p, &part))
                if (unit_part_is_beside(&part))
                        return (size_t) (part.path - (const char *) content) - strlen("\n# ");
        return len;
}

bool unit_parts_has_drop_ins(const void *content, size_t len) {
        UnitParts p;
        UnitPart part;

        unit_parts_begin(&p, content, len);
        return unit_parts_next(&p, &part) && unit_parts_next(&p, &part);
}

// ------------------------------------------------------------------------------------------------ compose

static int append_text(const char *text, size_t len, bool is_last, Buf *ret) {
        int r = buf_append(ret, text, len);

        return r == 0 && !is_last && len > 0 && text[len - 1] != '\n' ? buf_append(ret, "\n", 1) : r;
}

static int append_part(const UnitPart *part, bool is_last, Buf *ret) {
        int r = buf_printf(ret, "\n# %.*s\n", (int) part->path_len, part->path);

        return r == 0 ? append_text(part->content, part->len, is_last, ret) : r;
}

static int refuse(Buf *why, const UnitPart *part, const char *what) {
        int r = buf_printf(why, "%.*s%s", (int) part->path_len, part->path, what);

        return r < 0 ? r : -EINVAL;
}

// Checks that splitting what was composed gives the same parts.
static int check_parts(const Buf *composed, const UnitPart *drop_ins, size_t n, Buf *why) {
        UnitParts p;
        UnitPart part;
        bool more;
        size_t at = 0;

        unit_parts_begin(&p, composed->data, composed->len);
        (void) unit_parts_next(&p, &part);
        for (; (more = unit_parts_next(&p, &part)); at++)
                if (at == n || part.path_len != drop_ins[at].path_len ||
                    memcmp(part.path, drop_ins[at].path, part.path_len) != 0)
                        break;
        if (at == n && !more)
                return 0;
        return refuse(why, &part,
                      " stands within another file: a content has each drop-in once; take that comment, or "
                      "what is below it, out");
}

int unit_parts_compose(const void *file, size_t len, const UnitPart *drop_ins, size_t n, Buf *ret,
                       Buf *why) {
        size_t before = ret->len;
        Buf composed;
        int r;

        if (n > UNIT_DROP_INS_MAX) {
                r = buf_printf(why, "%.*s is one of %zu drop-ins, and a unit may have %d",
                               (int) drop_ins[n - 1].path_len, drop_ins[n - 1].path, n, UNIT_DROP_INS_MAX);
                return r < 0 ? r : -E2BIG;
        }
        for (size_t i = 0; i < n; i++)
                if (!begins_with_section(drop_ins[i].content, drop_ins[i].content + drop_ins[i].len))
                        return refuse(why, &drop_ins[i], " does not begin with a section, as [Service]");
        r = append_text(file, len, n == 0 || len == 0, ret);
        // an empty file stays empty, and is refused as that
        for (size_t i = 0; i < n && len > 0 && r == 0; i++)
                r = append_part(&drop_ins[i], i + 1 == n, ret);
        if (r < 0 || n == 0 || len == 0)
                return r;
        composed = (Buf){.data = ret->data + before, .len = ret->len - before};
        return check_parts(&composed, drop_ins, n, why);
}

// ------------------------------------------------------------------------------------------------ places

// As ini-reader.c counts them.
static unsigned lines_before(const char *begin, const char *at) {
        unsigned n = 0;

        for (const char *p = begin; p < at; p++)
                n += *p == '\n' || (*p == '\r' && (p + 1 == at || p[1] != '\n'));
        return n;
}

void unit_parts_locate(const void *content, size_t len, unsigned line, UnitPart *ret_part,
                       unsigned *ret_line) {
        const char *at = content;
        unsigned before = 0;
        UnitPart part;
        UnitParts p;

        unit_parts_begin(&p, content, len);
        while (unit_parts_next(&p, &part)) {
                before += lines_before(at, part.content);
                at = part.content;
                if (part.path && line <= before)
                        break;
                *ret_part = part;
                *ret_line = line - before;
        }
}

char *unit_part_path(const UnitPart *part, const char *path) {
        const char *slash = strrchr(path, '/');

        if (!part->path)
                return strdup(path);
        return str_printf("%.*s%.*s", slash ? (int) (slash + 1 - path) : 0, path, (int) part->path_len,
                          part->path);
}

// One sentence, of `len` bytes.
static int append_placed(const char *path, const void *content, size_t content_len, const char *sentence,
                         size_t len, Buf *ret) {
        size_t path_len = strlen(path);
        _cleanup_free_ char *place = NULL;
        UnitPart part = {};
        unsigned in_part = 0;
        char *end = NULL;

        if (len > path_len && str_has_prefix(sentence, path) && sentence[path_len] == ':') {
                unsigned long line = strtoul(sentence + path_len + 1, &end, 10);

                if (line > 0 && line <= content_len + 1 && *end == ':')
                        unit_parts_locate(content, content_len, (unsigned) line, &part, &in_part);
        }
        if (!part.path)
                return buf_append(ret, sentence, len);
        place = unit_part_path(&part, path);
        if (!place || buf_printf(ret, "%s:%u", place, in_part) < 0)
                return -ENOMEM;
        return buf_append(ret, end, (size_t) (sentence + len - end));
}

int unit_parts_place(const char *path, const void *content, size_t len, char **why) {
        _cleanup_buf_ Buf placed = {};
        char *text;
        int r = 0;

        if (!*why || !unit_parts_has_drop_ins(content, len))
                return 0;
        for (const char *at = *why, *next; *at && r == 0; at = next) {
                next = strstr(at, ";\n");
                next = next ? next + 2 : at + strlen(at);
                r = append_placed(path, content, len, at, (size_t) (next - at), &placed);
        }
        text = r == 0 ? buf_take_string(&placed) : NULL;
        if (!text)
                return -ENOMEM;
        free(*why);
        *why = text;
        return 0;
}

unsigned unit_parts_line_of(const char *path, const void *content, size_t len, const char *sentence) {
        UnitPart part;
        UnitParts p;

        unit_parts_begin(&p, content, len);
        while (unit_parts_next(&p, &part)) {
                _cleanup_free_ char *place = unit_part_path(&part, path);
                size_t place_len = place ? strlen(place) : 0;
                unsigned long line;

                if (!place || !str_has_prefix(sentence, place) || sentence[place_len] != ':')
                        continue;
                line = strtoul(sentence + place_len + 1, NULL, 10);
                return line > 0 && line <= len + 1 ? (unsigned) line + lines_before(content, part.content)
                                                   : 0;
        }
        return 0;
}
