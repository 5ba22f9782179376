// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A content is split into its parts (unit-parts.h), the part with the pin is put in, replaced or left out,
// and the parts are composed again, which gives the same bytes for all others. Reading takes what holds at
// the end: the last Image= and Rootfs= of [Container], and the last ImagePin= of [X-Argosy]. Nothing here
// fails but for memory and for a content that has as many drop-ins as it can have.

#include "content-image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ini-reader.h"
#include "quadlet-parser.h"
#include "quadlet-words.h"
#include "quadlet.h"
#include "specifier.h"
#include "str.h"
#include "unit-name.h"
#include "unit-parts.h"

#define NAME_IN_PATH "/" CONTENT_IMAGE_DROP_IN

void content_image_done(ContentImage *i) {
        free(i->name);
        i->name = NULL;
}

bool content_image_digest_is_valid(const char *digest) {
        return str_has_prefix(digest, CONTENT_IMAGE_DIGEST) &&
               strlen(digest) == CONTENT_IMAGE_DIGEST_SIZE - 1 &&
               strspn(digest + strlen(CONTENT_IMAGE_DIGEST), "0123456789abcdef") == 64; // as podman has it
}

char *content_image_pulled(const char *name, const char *digest) {
        const char *base = strrchr(name, '/') ?: name;
        size_t len = (size_t) (base - name) + strcspn(base, ":@"); // it may have a tag, a digest, or both

        return str_printf("%.*s@%s", (int) len, name, digest);
}

// ------------------------------------------------------------------------------------------------ reading

typedef struct Lines {
        char *image, *pin; // as written
        bool rootfs;
} Lines;

static void lines_done(Lines *l) {
        free(l->image);
        free(l->pin);
}

static int set(char **where, const char *value) {
        char *copy = *value ? strdup(value) : NULL;

        if (*value && !copy)
                return -ENOMEM;
        free(*where);
        *where = copy;
        return 0;
}

static int take_line(Lines *l, const IniLine *line) {
        _cleanup_free_ char *value = NULL;

        if (line->kind != INI_ASSIGNMENT)
                return 0;
        if (streq(line->section, "X-Argosy"))
                return streq(line->key, "ImagePin") ? set(&l->pin, line->value) : 0;
        if (!streq(line->section, "Container"))
                return 0;
        if (!streq(line->key, "Rootfs") && !streq(line->key, "Image"))
                return 0;
        value = quadlet_plain(line->value);
        if (!value)
                return -ENOMEM;
        if (streq(line->key, "Rootfs"))
                l->rootfs = *value;
        return streq(line->key, "Image") ? set(&l->image, value) : 0;
}

static int read_lines(const void *content, size_t len, Lines *ret) {
        _cleanup_(ini_reader_done) IniReader reader = {};
        IniLine line;
        int r = ini_reader_init(&reader, content, unit_parts_own_len(content, len)), more = 0;

        while (r >= 0 && (more = ini_reader_next(&reader, &line)) > 0)
                r = take_line(ret, &line);
        return r == -ENOMEM || more == -ENOMEM ? -ENOMEM : 0; // what cannot be read is refused elsewhere
}

static ContentImageKind kind_of(const char *unit, const Lines *l) {
        const char *bad;
        bool depends = false;

        if (l->rootfs || !l->image || str_has_prefix(l->image, "localhost/") ||
            str_has_prefix(l->image, CONTENT_IMAGE_DIGEST))
                return CONTENT_IMAGE_LOCAL;
        if (strstr(l->image, "@" CONTENT_IMAGE_DIGEST))
                return CONTENT_IMAGE_DIGEST_GIVEN;
        if (specifier_check(l->image, &depends, &bad) == 0 && depends &&
            unit_name_kind(unit, NULL) == UNIT_NAME_TEMPLATE)
                return CONTENT_IMAGE_VARIES;
        return CONTENT_IMAGE_TAG;
}

// The digest behind the name that it pins; "" if that is another one.
static void take_pin(ContentImage *i, const char *pin) {
        const char *at = strrchr(pin, '@');

        if (at && (size_t) (at - pin) == strlen(i->name) && memcmp(pin, i->name, strlen(i->name)) == 0 &&
            content_image_digest_is_valid(at + 1))
                memcpy(i->digest, at + 1, CONTENT_IMAGE_DIGEST_SIZE);
}

static int read_image(const char *unit, const void *content, size_t len, ContentImage *ret) {
        _cleanup_(lines_done) Lines lines = {};
        int r = read_lines(content, len, &lines);

        if (r < 0)
                return r;
        ret->kind = kind_of(unit, &lines);
        if (!lines.image)
                return 0;
        ret->name = ret->kind == CONTENT_IMAGE_VARIES ? TAKE_PTR(lines.image)
                                                      : specifier_expand(lines.image, unit);
        if (!ret->name)
                return -ENOMEM;
        if (ret->kind == CONTENT_IMAGE_TAG && lines.pin)
                take_pin(ret, lines.pin);
        if (ret->kind == CONTENT_IMAGE_DIGEST_GIVEN)
                str_copy(ret->digest, sizeof(ret->digest), strstr(ret->name, CONTENT_IMAGE_DIGEST));
        return 0;
}

int content_image_read(const char *unit, const void *content, size_t len, ContentImage *ret) {
        *ret = (ContentImage){};
        return quadlet_is(content, len) ? read_image(unit, content, len, ret) : 0;
}

int content_image_of(const char *unit, const void *content, size_t len, char **ret) {
        _cleanup_content_image_ ContentImage image = {};
        int r = content_image_read(unit, content, len, &image);

        *ret = NULL;
        if (r < 0 || !*image.digest)
                return r;
        *ret = content_image_pulled(image.name, image.digest);
        return *ret ? 0 : -ENOMEM;
}

// Also by Image= itself, but for what a template may say otherwise for each instance.
static bool is_pinned(const char *unit, const ContentImage *i) {
        if (i->kind == CONTENT_IMAGE_DIGEST_GIVEN)
                return content_image_digest_is_valid(i->digest) &&
                       unit_name_kind(unit, NULL) != UNIT_NAME_TEMPLATE;
        return i->kind == CONTENT_IMAGE_TAG && *i->digest;
}

int content_image_for_generator(const char *unit, const void *content, size_t len, Buf *ret) {
        _cleanup_content_image_ ContentImage image = {};
        _cleanup_free_ char *pulled = NULL;
        int r = content_image_read(unit, content, len, &image);

        if (r < 0)
                return r;
        if (is_pinned(unit, &image)) {
                pulled = content_image_pulled(image.name, image.digest);
                if (!pulled)
                        return -ENOMEM;
        }
        return quadlet_source(content, len, pulled, ret);
}

int content_image_on_pin(QuadletParser *q, const char *path, const IniLine *line, char **ret_why) {
        const char *at = strrchr(line->value, '@');

        if (*line->value && (!at || at == line->value || !content_image_digest_is_valid(at + 1)))
                return option_refuse(
                        ret_why, path, line->line,
                        "ImagePin=%.64s is not NAME@sha256:DIGEST; argosy writes this line itself",
                        line->value);
        q->pin_line = *line->value ? line->line : 0;
        return 0;
}

// ------------------------------------------------------------------------------------------------ composing

bool content_image_is_pin(const UnitPart *part) {
        size_t len = strlen(NAME_IN_PATH);

        return part->path && part->path_len > len &&
               memcmp(part->path + part->path_len - len, NAME_IN_PATH, len) == 0;
}

// The file, and its drop-ins but the pin.
static size_t split(const void *content, size_t len, UnitPart *ret_file,
                    UnitPart ret[static UNIT_DROP_INS_MAX]) {
        UnitPart part;
        UnitParts p;
        size_t n = 0;

        unit_parts_begin(&p, content, len);
        (void) unit_parts_next(&p, ret_file);
        while (unit_parts_next(&p, &part))
                if (!content_image_is_pin(&part))
                        ret[n++] = part;
        return n;
}

static int insert(UnitPart *parts, size_t n, const UnitPart *pin) {
        size_t at = n;

        if (n == UNIT_DROP_INS_MAX)
                return -E2BIG;
        while (at > 0 && unit_drop_in_compare(&parts[at - 1], pin) > 0)
                at--;
        memmove(&parts[at + 1], &parts[at], (n - at) * sizeof(*parts));
        parts[at] = *pin;
        return 0;
}

int content_image_pin(const char *unit, const void *content, size_t len, const char *name,
                      const char *digest, Buf *ret, char **ret_why) {
        _cleanup_free_ char *file_name = quadlet_file(unit),
                            *path = file_name ? str_printf("%s.d" NAME_IN_PATH, file_name) : NULL,
                            *text = str_printf("[X-Argosy]\nImagePin=%s@%s\n", name, digest);
        UnitPart file, parts[UNIT_DROP_INS_MAX + 1];
        size_t n = split(content, len, &file, parts);
        _cleanup_buf_ Buf why = {};
        UnitPart pin;
        int r;

        if (!path || !text)
                return -ENOMEM;
        pin = (UnitPart){.path = path, .path_len = strlen(path), .content = text, .len = strlen(text)};
        r = insert(parts, n, &pin);
        if (r == 0)
                r = unit_parts_compose(file.content, file.len, parts, n + 1, ret, &why);
        if (r != -EINVAL && r != -E2BIG)
                return r;
        *ret_why = str_printf("the digest of its image has no room: %s",
                              r == -E2BIG ? "it has as many drop-ins as a unit may have"
                                          : (buf_append(&why, "", 1) == 0 ? (const char *) why.data : ""));
        return *ret_why ? -EINVAL : -ENOMEM;
}

int content_image_unpin(const void *content, size_t len, Buf *ret) {
        UnitPart file, parts[UNIT_DROP_INS_MAX + 1];
        _cleanup_buf_ Buf why = {};
        size_t n;
        int r;

        if (len == 0 || !memmem(content, len, NAME_IN_PATH "\n", strlen(NAME_IN_PATH "\n")))
                return buf_append(ret, content, len);
        n = split(content, len, &file, parts);
        r = unit_parts_compose(file.content, file.len, parts, n, ret, &why);
        return r == -ENOMEM ? r : 0; // what could be composed with the pin can be without it
}

// A text that had no line end before the pin was put behind it has one now.
static size_t len_of_lines(const Buf *text) {
        return text->len > 0 && text->data[text->len - 1] == '\n' ? text->len - 1 : text->len;
}

int content_image_same_source(const void *a, size_t a_len, const void *b, size_t b_len) {
        _cleanup_buf_ Buf x = {}, y = {};
        int r = content_image_unpin(a, a_len, &x) ?: content_image_unpin(b, b_len, &y);

        if (r < 0)
                return r;
        return len_of_lines(&x) == len_of_lines(&y) &&
               (len_of_lines(&x) == 0 || memcmp(x.data, y.data, len_of_lines(&x)) == 0);
}
