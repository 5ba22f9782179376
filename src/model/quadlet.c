// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Names, the copy of a content that a generator reads, and the head of what it makes.
//
// The copy differs from the content in single lines only, so that a generator makes of it what it would
// make of the file: the content is walked line by line, a line that goes on behind a backslash as one. What
// was made carries a hash of its own text, so that a node that finds the file again knows whose it is, and
// whether it is as it was written, without asking a generator. Nothing here fails but for memory.

#include "quadlet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ini-reader.h"
#include "macro.h"
#include "quadlet-kind.h"
#include "str.h"
#include "unit-name.h"

#define SERVICE ".service"
#define HEAD "# Made by podman "
#define OF " of the content "
#define TEXT ", text "

// ------------------------------------------------------------------------------------------------ names

char *quadlet_unit(const char *file) {
        size_t len = strlen(file), suffix = strlen(QUADLET_CONTAINER);

        if (len <= suffix || !str_has_suffix(file, QUADLET_CONTAINER))
                return strdup(file);
        return str_printf("%.*s" SERVICE, (int) (len - suffix), file);
}

void quadlet_unit_in_place(char *file) {
        size_t len = strlen(file), suffix = strlen(QUADLET_CONTAINER);

        if (len > suffix && str_has_suffix(file, QUADLET_CONTAINER))
                memcpy(file + len - suffix, SERVICE, strlen(SERVICE) + 1);
}

char *quadlet_file(const char *unit) {
        size_t len = strlen(unit) - (str_has_suffix(unit, SERVICE) ? strlen(SERVICE) : 0);

        return str_printf("%.*s" QUADLET_CONTAINER, (int) len, unit);
}

bool quadlet_is_container(const char *file) {
        char unit[UNIT_NAME_MAX + 1];
        size_t len = strlen(file), suffix = strlen(QUADLET_CONTAINER);

        if (len <= suffix || !str_has_suffix(file, QUADLET_CONTAINER))
                return false;
        if (snprintf(unit, sizeof(unit), "%.*s" SERVICE, (int) (len - suffix), file) >= (int) sizeof(unit))
                return false;
        return unit_name_kind(unit, NULL) != UNIT_NAME_INVALID;
}

int quadlet_file_template(const char *file, char **ret) {
        _cleanup_free_ char *unit = quadlet_unit(file), *template = NULL;

        *ret = NULL;
        if (!unit)
                return -ENOMEM;
        if (unit_name_kind(unit, NULL) != UNIT_NAME_INSTANCE)
                return 0;
        template = unit_name_template(unit);
        if (template)
                *ret = quadlet_is_container(file) ? quadlet_file(template) : TAKE_PTR(template);
        return *ret ? 0 : -ENOMEM;
}

// ---------------------------------------------------------------------------- names of files that go along

static const QuadletKind kinds[] = {
        {QUADLET_VOLUME, "-volume.service", "volume"},
        {QUADLET_NETWORK, QUADLET_NETWORK_UNIT, "network"},
        {QUADLET_CONTAINER, ".service", NULL},
};

const QuadletKind *quadlet_kind(const char *name, size_t len) {
        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                size_t n = strlen(kinds[i].suffix);

                if (len > n && memcmp(name + len - n, kinds[i].suffix, n) == 0)
                        return &kinds[i];
        }
        return NULL;
}

static char *unit_of(const QuadletKind *kind, const char *name, size_t len) {
        return str_printf("%.*s%s", (int) (len - strlen(kind->suffix)), name, kind->unit);
}

bool quadlet_is_beside(const char *name, size_t len) {
        const QuadletKind *kind = len <= UNIT_NAME_MAX ? quadlet_kind(name, len) : NULL;
        _cleanup_free_ char *unit = kind ? unit_of(kind, name, len) : NULL;

        return unit && *name != '.' && unit_name_kind(unit, NULL) == UNIT_NAME_PLAIN;
}

char *quadlet_beside_unit(const char *name, size_t len) {
        const QuadletKind *kind = quadlet_kind(name, len);

        return kind && kind->is ? unit_of(kind, name, len) : NULL;
}

bool quadlet_may_have_beside(const void *content, size_t len) {
        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                const char *suffix = kinds[i].suffix;
                const char *at = content, *end = at + len, *found;

                for (; at < end && (found = memmem(at, (size_t) (end - at), suffix, strlen(suffix)));
                     at = found + 1)
                        if (found + strlen(suffix) < end && found[strlen(suffix)] == '\n')
                                return true;
        }
        return false;
}

// ------------------------------------------------------------------------------------------------ contents

bool quadlet_is(const void *content, size_t len) {
        static const char section[] = "[Container]";
        _cleanup_(ini_reader_done) IniReader reader = {};
        IniLine line;

        if (len == 0 || !memmem(content, len, section, strlen(section)) ||
            ini_reader_init(&reader, content, len) < 0)
                return false;
        while (ini_reader_next(&reader, &line) > 0)
                if (line.kind == INI_SECTION && streq(line.section, "Container"))
                        return true;
        return false;
}

bool quadlet_is_made(const void *content, size_t len) {
        static const char section[] = "\n[X-Container]\n";

        return len > 0 && memmem(content, len, section, strlen(section));
}

// ------------------------------------------------------------------------------------------------ the copy

static const struct {
        const char *file, *unit;
} suffixes[] = {{QUADLET_CONTAINER, SERVICE},
                {QUADLET_VOLUME, "-volume" SERVICE},
                {QUADLET_NETWORK, "-network" SERVICE}};

static int append_unit(const char *word, size_t len, Buf *ret) {
        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++) {
                size_t n = strlen(suffixes[i].file);

                if (len > n && memcmp(word + len - n, suffixes[i].file, n) == 0)
                        return buf_printf(ret, "%.*s%s", (int) (len - n), word, suffixes[i].unit);
        }
        return buf_append(ret, word, len);
}

int quadlet_units(const char *words, Buf *ret) {
        static const char blanks[] = " \t\n\r";
        int r = 0;

        for (const char *at = words; *at && r == 0;) {
                size_t gap = strspn(at, blanks), len = strcspn(at + gap, blanks);

                r = buf_append(ret, at, gap);
                if (r == 0)
                        r = append_unit(at + gap, len, ret);
                at += gap + len;
        }
        return r;
}

static bool names_units(const char *key, size_t len) {
        static const char *const keys[] = {
                "Wants",
                "Requires",
                "Requisite",
                "BindsTo",
                "PartOf",
                "Upholds",
                "Conflicts",
                "Before",
                "After",
                "OnFailure",
                "OnSuccess",
                "PropagatesReloadTo",
                "ReloadPropagatedFrom",
                "PropagatesStopTo",
                "StopPropagatedFrom",
                "JoinsNamespaceOf",
        };

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (strlen(keys[i]) == len && memcmp(keys[i], key, len) == 0)
                        return true;
        return false;
}

static bool is_comment(const char *line, const char *end) {
        while (line < end && (*line == ' ' || *line == '\t'))
                line++;
        return line < end && (*line == '#' || *line == ';');
}

static const char *end_of_line(const char *at, const char *end) {
        const char *lf = at < end ? memchr(at, '\n', (size_t) (end - at)) : NULL;

        return lf ? lf + 1 : end;
}

static bool goes_on(const char *line, const char *end) {
        size_t n = 0;

        while (end > line && (end[-1] == '\n' || end[-1] == '\r'))
                end--;
        while (end > line && *--end == '\\')
                n++;
        return n % 2 == 1;
}

// The end of the line and of those that continue it; comments in between do not end it.
static const char *end_of_logical(const char *at, const char *end) {
        const char *stop = end_of_line(at, end);
        bool more = goes_on(at, stop);

        while (more && stop < end) {
                const char *line = stop;

                stop = end_of_line(line, end);
                more = is_comment(line, stop) || goes_on(line, stop);
        }
        return stop;
}

typedef struct Section {
        const char *name;
        size_t len;
        const char *image; // that is pinned, with its digest; NULL: none is
} Section;

static bool section_is(const Section *s, const char *name) {
        return s->len == strlen(name) && memcmp(s->name, name, s->len) == 0;
}

static int copy_units(const char *line, const char *stop, Buf *ret) {
        _cleanup_free_ char *text = strndup(line, (size_t) (stop - line));

        return text ? quadlet_units(text, ret) : -ENOMEM;
}

static bool key_is(const char *key, const char *end, const char *name) {
        return (size_t) (end - key) == strlen(name) && memcmp(key, name, strlen(name)) == 0;
}

// AutoUpdate= would change the image, and so would Pull= of one that is pinned.
static int copy_of_container(const Section *section, const char *key, const char *key_end, const char *line,
                             const char *stop, Buf *ret) {
        if (key_is(key, key_end, "AutoUpdate") || (section->image && key_is(key, key_end, "Pull")))
                return 0;
        if (section->image && key_is(key, key_end, "Image"))
                return buf_printf(ret, "Image=%s\nPull=missing\n", section->image);
        return buf_append(ret, line, (size_t) (stop - line));
}

static int copy_line(const Section *section, const char *line, const char *stop, Buf *ret) {
        const char *equal = memchr(line, '=', (size_t) (stop - line)), *key = line, *key_end = equal;

        while (equal && key < equal && (*key == ' ' || *key == '\t'))
                key++;
        while (equal && key_end > key && (key_end[-1] == ' ' || key_end[-1] == '\t'))
                key_end--;
        if (equal && section_is(section, "Container"))
                return copy_of_container(section, key, key_end, line, stop, ret);
        if (equal && section_is(section, "Unit") && names_units(key, (size_t) (key_end - key)))
                return copy_units(line, stop, ret);
        return buf_append(ret, line, (size_t) (stop - line));
}

int quadlet_source(const void *content, size_t len, const char *image, Buf *ret) {
        const char *at = content, *end = at + unit_parts_own_len(content, len);
        Section section = {.name = "", .image = image};
        int r = 0;

        while (at < end && r == 0) {
                const char *first = at, *stop;

                while (first < end && (*first == ' ' || *first == '\t'))
                        first++;
                if (is_comment(at, end)) {
                        stop = end_of_line(at, end);
                        r = buf_append(ret, at, (size_t) (stop - at));
                } else {
                        stop = end_of_logical(at, end);
                        if (first < stop && *first == '[') {
                                const char *close = memchr(first, ']', (size_t) (stop - first));

                                section.name = first + 1;
                                section.len = close ? (size_t) (close - first - 1) : 0;
                        }
                        r = copy_line(&section, at, stop, ret);
                }
                at = stop;
        }
        return r;
}

// -------------------------------------------------------------------------------------------- what was made

bool quadlet_version(const char *text, char ret[static 16]) {
        unsigned major, minor;

        text += strcspn(text, "0123456789");
        if (sscanf(text, "%3u.%3u", &major, &minor) != 2 || major < QUADLET_PODMAN_MIN)
                return false;
        snprintf(ret, 16, "%u.%u", major, minor);
        return true;
}

static bool is_source_path(const char *line, const char *stop) {
        static const char key[] = "SourcePath=";

        return (size_t) (stop - line) >= strlen(key) && memcmp(line, key, strlen(key)) == 0;
}

int quadlet_made_compose(const Hash *content, const char *podman, const void *generated, size_t len,
                         Buf *ret) {
        const char *at = generated, *end = at + len;
        char of[HASH_HEX_SIZE], of_text[HASH_HEX_SIZE];
        _cleanup_buf_ Buf text = {};
        Hash hash;
        int r = 0;

        while (at < end && r == 0) {
                const char *stop = end_of_line(at, end);

                if (!is_source_path(at, stop))
                        r = buf_append(&text, at, (size_t) (stop - at));
                at = stop;
        }
        if (r < 0)
                return r;
        hash = hash_of(text.data, text.len);
        hash_hex(content, HASH_SIZE, of);
        hash_hex(&hash, HASH_SIZE, of_text);
        r = buf_printf(ret, HEAD "%s" OF "%s" TEXT "%s\n", podman, of, of_text);
        return r < 0 ? r : buf_append(ret, text.data, text.len);
}

int quadlet_made_add(Buf *made, const char *name, const void *unit, size_t len) {
        int r = buf_append(made, "", 1);

        if (r == 0)
                r = buf_append(made, name, strlen(name) + 1);
        return r == 0 ? buf_append(made, unit, len) : r;
}

size_t quadlet_made_len(const void *made, size_t len) {
        const char *end = len > 0 ? memchr(made, 0, len) : NULL;

        return end ? (size_t) (end - (const char *) made) : len;
}

bool quadlet_made_next(const void *made, size_t len, size_t *at, QuadletMade *ret) {
        const char *end = (const char *) made + len, *name, *unit;

        if (*at >= len)
                return false;
        name = (const char *) made + *at + 1;
        unit = memchr(name, 0, (size_t) (end - name));
        if (!unit)
                return false;
        unit++;
        *ret = (QuadletMade){
                .name = name, .unit = unit, .len = quadlet_made_len(unit, (size_t) (end - unit))};
        *at = (size_t) (unit - (const char *) made) + ret->len;
        return true;
}

static bool take_hash(const char **at, const char *end, const char *mark, Hash *ret) {
        const char *found = memmem(*at, (size_t) (end - *at), mark, strlen(mark)),
                   *hex = found ? found + strlen(mark) : end;
        char text[HASH_HEX_SIZE];

        if ((size_t) (end - hex) < HASH_HEX_SIZE - 1)
                return false;
        memcpy(text, hex, HASH_HEX_SIZE - 1);
        text[HASH_HEX_SIZE - 1] = 0;
        *at = hex + HASH_HEX_SIZE - 1;
        return hex_decode(text, ret->bytes, HASH_SIZE);
}

bool quadlet_made_of(const void *file, size_t len, Hash *ret) {
        const char *at = file, *end = at + len, *line_end = len > 0 ? memchr(at, '\n', len) : NULL;
        Hash content, text, actual;

        if (!line_end || len < strlen(HEAD) || memcmp(at, HEAD, strlen(HEAD)) != 0)
                return false;
        if (!take_hash(&at, line_end, OF, &content) || !take_hash(&at, line_end, TEXT, &text) ||
            at != line_end)
                return false;
        actual = hash_of(line_end + 1, (size_t) (end - line_end - 1));
        if (!hash_equal(&actual, &text))
                return false;
        *ret = content;
        return true;
}
