// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Drop-ins and files are sorted in both contents, so one walk over both of each finds what came, went and
// changed. The manifest of the files (carried-files.h) is no part of its own: it says the same as the files
// and the unit file.
//
// Cost: each byte of both contents once; files are compared by their hashes.

#include "content-difference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "carried-files.h"
#include "content-image.h"
#include "message.h"
#include "unit-parts.h"

typedef struct Difference {
        ContentDifferenceEach each;
        void *userdata;
} Difference;

const char *part_change_to_string(PartChange change) {
        static const char *const words[] = {
                [PART_ADDED] = "added", [PART_CHANGED] = "changed", [PART_REMOVED] = "removed"};

        return words[change];
}

static int compare_paths(const UnitPart *a, const UnitPart *b) {
        int r = unit_drop_in_compare(a, b);

        r = r ? r : memcmp(a->path, b->path, MIN_OF(a->path_len, b->path_len));
        return r ? r : (a->path_len > b->path_len) - (a->path_len < b->path_len);
}

static bool is_same_part(const UnitPart *a, const UnitPart *b) {
        return a->len == b->len && (a->len == 0 || memcmp(a->content, b->content, a->len) == 0);
}

static int tell_part(const Difference *d, const UnitPart *a, const UnitPart *b) {
        static const UnitPart image = {.path = "image", .path_len = 5};
        const UnitPart *named = a ? a : b;

        if (a && b && is_same_part(a, b))
                return 0;
        if (content_image_is_pin(named))
                named = &image;
        return d->each(named->path, named->path_len,
                       !a   ? PART_ADDED
                       : !b ? PART_REMOVED
                            : PART_CHANGED,
                       d->userdata);
}

static int walk_parts(const Difference *d, const char *name, UnitParts *before, UnitParts *after) {
        UnitPart a, b;
        bool has_a = unit_parts_next(before, &a), has_b = unit_parts_next(after, &b);
        int r;

        a.path = b.path = name; // the first of each is the unit file
        a.path_len = b.path_len = strlen(name);
        r = tell_part(d, has_a ? &a : NULL, has_b ? &b : NULL);
        has_a = unit_parts_next(before, &a);
        has_b = unit_parts_next(after, &b);
        while (r >= 0 && (has_a || has_b)) {
                int order = !has_a ? 1 : !has_b ? -1 : compare_paths(&a, &b);

                r = tell_part(d, order <= 0 ? &a : NULL, order >= 0 ? &b : NULL);
                if (order <= 0)
                        has_a = unit_parts_next(before, &a);
                if (order >= 0)
                        has_b = unit_parts_next(after, &b);
        }
        return r;
}

static int tell_file(const CarriedFile *before, const CarriedFile *after, void *userdata) {
        const Difference *d = userdata;
        const char *name = before ? before->name : after->name;

        return d->each(name, strlen(name),
                       !before  ? PART_ADDED
                       : !after ? PART_REMOVED
                                : PART_CHANGED,
                       d->userdata);
}

int content_difference(const char *name, const void *before, size_t before_len, const void *after,
                       size_t after_len, ContentDifferenceEach each, void *userdata) {
        Difference d = {each, userdata};
        _cleanup_carried_files_ CarriedFiles a = {}, b = {};
        UnitParts p, q;
        int r;

        unit_parts_begin(&p, before, carried_files_text_len(before, before_len));
        unit_parts_begin(&q, after, carried_files_text_len(after, after_len));
        r = walk_parts(&d, name, &p, &q);
        if (r < 0)
                return r;
        if (carried_files_read(before, before_len, &a) == -ENOMEM ||
            carried_files_read(after, after_len, &b) == -ENOMEM)
                return -ENOMEM;
        return carried_files_difference(&a, &b, tell_file, &d);
}

// --------------------------------------------------------------------------------------------- as a message

static int add_part(const char *part, size_t len, PartChange change, void *userdata) {
        Argosy__Response__Parts *parts = userdata;
        uint32_t *counts[] = {[PART_ADDED] = &parts->added,
                              [PART_CHANGED] = &parts->changed,
                              [PART_REMOVED] = &parts->removed};
        Argosy__Response__PartRow *row;

        ++*counts[change];
        if (parts->n_rows == CONTENT_PARTS_NAMED)
                return 0;
        row = malloc(sizeof(*row));
        if (!row)
                return -ENOMEM;
        argosy__response__part_row__init(row);
        parts->rows[parts->n_rows++] = row;
        row->part = strndup(part, len);
        row->change = strdup(part_change_to_string(change));
        return row->part && row->change ? 0 : -ENOMEM;
}

int content_difference_parts(const void *before, size_t before_len, const void *after, size_t after_len,
                             Argosy__Response__Parts **ret) {
        Argosy__Response__Parts *parts;
        int r;

        *ret = NULL;
        if (!unit_parts_has_drop_ins(before, before_len) && !unit_parts_has_drop_ins(after, after_len))
                return 0;
        parts = malloc(sizeof(*parts));
        if (!parts)
                return -ENOMEM;
        argosy__response__parts__init(parts);
        parts->rows = calloc(CONTENT_PARTS_NAMED, sizeof(*parts->rows));
        r = parts->rows
                    ? content_difference("unit file", before, before_len, after, after_len, add_part, parts)
                    : -ENOMEM;
        if (r < 0)
                message_free(parts);
        else
                *ret = parts;
        return r;
}
