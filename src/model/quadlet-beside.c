// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Files that a container names and that go with it: which they are, and what is wrong in them.
//
//      lines of [Container] -> quadlet_named_add() -> quadlet_take_beside(): parts of the content -> claims
//
// A content has each file that its [Container] names, and no other one. Their lines are podman's to judge,
// but for what would make units of other names than a node looks for, and for options that only units that
// are placed can have. Failures: -EINVAL with "PATH:LINE: reason", -ENOMEM.

#include <errno.h>
#include <string.h>

#include "array.h"
#include "hash.h"
#include "quadlet-kind.h"
#include "quadlet-parser.h"
#include "quadlet.h"
#include "str.h"
#include "unit-name.h"
#include "unit-options-private.h"
#include "unit-parts.h"

// -------------------------------------------------------------------------------------------- what is named

void quadlet_named_drop(QuadletParser *q, const char *key) {
        size_t kept = 0;

        for (size_t i = 0; i < q->n_named; i++)
                if (key && !streq(q->named[i].key, key))
                        q->named[kept++] = q->named[i];
                else
                        free(q->named[i].file);
        q->n_named = kept;
}

int quadlet_named_add(QuadletParser *q, const char *path, const IniLine *line, const char *key,
                      const char *file, size_t len, char **ret_why) {
        _cleanup_free_ char *name = NULL;

        if (!quadlet_is_beside(file, len))
                return option_refuse(
                        ret_why, path, line->line,
                        "%s=%.200s: a file beside the container's has a plain name, without '@' and '%%'",
                        line->key, line->value);
        name = strndup(file, len);
        if (!name || ARRAY_GROW(q->named, q->named_allocated, q->n_named + 1) < 0)
                return -ENOMEM;
        q->named[q->n_named++] = (QuadletNamed){.file = TAKE_PTR(name), .line = line->line, .key = key};
        return 0;
}

static bool is_first(const QuadletParser *q, size_t i) {
        for (size_t k = 0; k < i; k++)
                if (streq(q->named[k].file, q->named[i].file))
                        return false;
        return true;
}

int quadlet_beside_each(const void *content, size_t len, int (*each)(const char *file, void *userdata),
                        void *userdata) {
        _cleanup_(quadlet_parser_done) QuadletParser q = {.is_container = true};
        _cleanup_(ini_reader_done) IniReader reader = {};
        int r = ini_reader_init(&reader, content, unit_parts_own_len(content, len)), more = 0;
        IniLine line;

        while (r >= 0 && (more = ini_reader_next(&reader, &line)) > 0)
                if (line.kind == INI_ASSIGNMENT && streq(line.section, "Container")) {
                        r = quadlet_on_container(&q, "", &line, NULL);
                        r = r == -EINVAL ? 0 : r; // whoever reads the options says so
                }
        if (r < 0 || more == -ENOMEM)
                return r < 0 ? r : more;
        for (size_t i = 0; i < q.n_named && r == 0; i++)
                if (is_first(&q, i))
                        r = each(q.named[i].file, userdata);
        return r;
}

// ------------------------------------------------------------------------------------------------ what came

static bool part_is(const UnitPart *part, const char *file) {
        return strlen(file) == part->path_len && memcmp(file, part->path, part->path_len) == 0;
}

bool quadlet_beside_find(const void *content, size_t len, const char *file, UnitPart *ret) {
        UnitParts p;

        unit_parts_begin(&p, content, len);
        while (unit_parts_next(&p, ret))
                if (unit_part_is_beside(ret) && part_is(ret, file))
                        return true;
        return false;
}

Hash quadlet_beside_hash(const UnitPart *part) {
        size_t len = part->len;

        while (len > 0 && strchr(" \t\r\n", part->content[len - 1]))
                len--;
        return hash_of(part->content, len);
}

bool quadlet_beside_is_other(const void *content, size_t len, const char *file, const Hash *of) {
        UnitPart part;
        Hash hash;

        if (!quadlet_beside_find(content, len, file, &part))
                return false;
        hash = quadlet_beside_hash(&part);
        return !hash_equal(&hash, of);
}

bool quadlet_beside_names_next(const char **at, const char **ret, size_t *ret_len) {
        if (!*at)
                return false;
        *ret = *at + strspn(*at, " ");
        *ret_len = strcspn(*ret, " ");
        *at = *ret + *ret_len;
        return *ret_len > 0;
}

static int refuse_next(const UnitPart *part, const QuadletKind *kind, char **ret_why) {
        int stem = (int) (part->path_len - strlen(kind->suffix)), len = (int) part->path_len;

        return str_refuse(
                ret_why,
                "%.*s is not as it was, and the %s that is there stays as it was made; call the new one "
                "otherwise, as %.*s-2%s, and it is made beside the other one, empty",
                len, part->path, kind->is, stem, part->path, kind->suffix);
}

typedef struct Changes {
        const char *suffix;
        int (*each)(const char *file, const UnitPart *part, void *userdata);
        void *userdata;
} Changes;

static bool is_changed(const void *content, size_t len, const char *file, const UnitPart *next) {
        Hash hash = quadlet_beside_hash(next);

        return quadlet_beside_is_other(content, len, file, &hash);
}

// Of parts of one kind.
static int each_changed(const void *content, size_t len, const void *next, size_t next_len,
                        const Changes *c) {
        UnitPart part;
        UnitParts p;
        int r = 0;

        if (!quadlet_may_have_beside(content, len) || !quadlet_may_have_beside(next, next_len))
                return 0;
        unit_parts_begin(&p, next, next_len);
        while (r == 0 && unit_parts_next(&p, &part)) {
                const QuadletKind *kind =
                        unit_part_is_beside(&part) ? quadlet_kind(part.path, part.path_len) : NULL;
                _cleanup_free_ char *file = NULL;

                if (!kind || !streq(kind->suffix, c->suffix))
                        continue;
                file = strndup(part.path, part.path_len);
                if (!file)
                        return -ENOMEM;
                if (is_changed(content, len, file, &part))
                        r = c->each(file, &part, c->userdata);
        }
        return r;
}

static int on_volume(const char *file, const UnitPart *part, void *userdata) {
        return refuse_next(part, quadlet_kind(part->path, part->path_len), userdata);
}

int quadlet_beside_check_next(const void *content, size_t len, const void *next, size_t next_len,
                              char **ret_why) {
        return each_changed(content, len, next, next_len, &(Changes){QUADLET_VOLUME, on_volume, ret_why});
}

int quadlet_networks_changed(const void *content, size_t len, const void *next, size_t next_len,
                             int (*each)(const char *file, const UnitPart *part, void *userdata),
                             void *userdata) {
        return each_changed(content, len, next, next_len, &(Changes){QUADLET_NETWORK, each, userdata});
}

int quadlet_beside_put(const void *content, size_t len, const char *file, const UnitPart *part, Buf *ret) {
        const char *end = (const char *) content + len, *rest;
        bool ends = part->len > 0 && part->content[part->len - 1] == '\n';
        UnitPart own;
        int r;

        if (!quadlet_beside_find(content, len, file, &own))
                return -ENOENT;
        rest = own.content + own.len;
        r = buf_append(ret, content, (size_t) (own.content - (const char *) content)) ?:
            buf_append(ret, part->content, part->len);
        if (r == 0 && rest < end && part->len > 0 && !ends) // an empty line comes before the next part
                r = buf_append(ret, "\n", 1);
        return r ?: buf_append(ret, rest, (size_t) (end - rest));
}

static unsigned lines_before(const char *begin, const char *at) {
        unsigned n = 0;

        for (; begin < at; begin++)
                n += *begin == '\n';
        return n;
}

typedef struct Check {
        QuadletParser *q;
        const char *path, *content;
        char **ret_why;
} Check;

// `before`: lines of the content above the part.
static int check_lines(const Check *c, const UnitPart *part, unsigned before) {
        _cleanup_(ini_reader_done) IniReader reader = {};
        IniLine line = {};
        int r = ini_reader_init(&reader, part->content, part->len), more = 0;

        while (r >= 0 && (more = ini_reader_next(&reader, &line)) > 0) {
                if (str_has_prefix(line.section, "X-Argosy") || str_has_prefix(line.section, "X-Fleet"))
                        return !quadlet_kind(part->path, part->path_len)->is
                                       ? 0
                                       : option_refuse(c->ret_why, c->path, before + line.line,
                                                       "[%s] has no meaning here: what a container names "
                                                       "goes where that goes",
                                                       line.section);
                if (line.kind == INI_ASSIGNMENT && streq(line.key, "ServiceName") && *line.value)
                        return option_refuse(c->ret_why, c->path, before + line.line,
                                             "ServiceName=: the unit is called as its file is");
        }
        return more == -EBADMSG ? option_refuse(c->ret_why, c->path, before + line.line,
                                                "this section header does not end with ']'")
               : r < 0          ? r
                                : MIN_OF(more, 0);
}

// A node has one of each name: others with the same content may be beside it.
static int claim(const Check *c, const UnitPart *part) {
        const QuadletKind *kind = quadlet_kind(part->path, part->path_len);
        char hex[HASH_HEX_SIZE];
        Hash hash = quadlet_beside_hash(part);

        if (!kind->is)
                return 0;
        hash_hex(&hash, 8, hex);
        return quadlet_add_claim(c->q, lines_before(c->content, part->path) + 1,
                                 str_printf("%c%s %.*s=%s", UNIT_SHARED_CLAIM, kind->is,
                                            (int) (part->path_len - strlen(kind->suffix)), part->path,
                                            hex));
}

static int take_part(const Check *c, const UnitPart *part) {
        unsigned before = lines_before(c->content, part->content);
        QuadletNamed *first = NULL;
        int r;

        for (size_t i = 0; i < c->q->n_named; i++)
                if (part_is(part, c->q->named[i].file)) {
                        first = first ?: &c->q->named[i];
                        c->q->named[i].came = true;
                }
        if (!first)
                return option_refuse(c->ret_why, c->path, before + 1,
                                     "%.*s came with the container, which does not name it",
                                     (int) part->path_len, part->path);
        r = check_lines(c, part, before);
        return r ?: claim(c, part);
}

int quadlet_take_beside(QuadletParser *q, const char *path, const void *content, size_t len,
                        char **ret_why) {
        Check c = {.q = q, .path = path, .content = content, .ret_why = ret_why};
        UnitPart part;
        UnitParts p;
        int r = 0;

        unit_parts_begin(&p, content, len);
        while (r == 0 && unit_parts_next(&p, &part))
                if (unit_part_is_beside(&part))
                        r = take_part(&c, &part);
        for (size_t i = 0; i < q->n_named && r == 0; i++)
                if (!q->named[i].came)
                        r = option_refuse(ret_why, path, q->named[i].line,
                                          "%s= names %.200s, which did not come with the container's file",
                                          q->named[i].key, q->named[i].file);
        return r;
}
