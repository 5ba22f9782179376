// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A part of trials (trials.c): a list has a tag, and who says that he has it is told that nothing has
// changed, and no rows. Before and behind each trial lists are asked for in that way, and then as a whole:
// rows that are not those of before have another tag.
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "checks-private.h"
#include "macro.h"
#include "str.h"
#include "test.h"
#include "trials.h"

enum { KINDS = 3, TAG_SIZE = 64 };

static struct {
        char tag[TAG_SIZE]; // ""; there was none
        Buf rows;
} lists[KINDS];

static const char *const names[KINDS] = {"units", "unit files", "nodes"};

// The list as a whole, or what is new to who has that tag.
static const Argosy__Response *ask(unsigned kind, const char *known) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__ListUnits units = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request__ListUnitFiles files = ARGOSY__REQUEST__LIST_UNIT_FILES__INIT;
        Argosy__Request__ListNodes nodes = ARGOSY__REQUEST__LIST_NODES__INIT;
        Argosy__ListFilter filter = ARGOSY__LIST_FILTER__INIT;
        const RigAnswer *a;

        filter.tagged = true;
        filter.known = (char *) known;
        units.filter = files.filter = nodes.filter = &filter;
        switch (kind) {
        case 0:
                request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
                request.list_units = &units;
                break;
        case 1:
                request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES;
                request.list_unit_files = &files;
                break;
        default:
                request.what_case = ARGOSY__REQUEST__WHAT_LIST_NODES;
                request.list_nodes = &nodes;
        }
        a = rig_ask(&world.rig, &request);
        rig_settle(&world.rig);
        return !a->error && a->n > 0 && a->final && a->responses[a->n - 1]->status == 0
                       ? a->responses[a->n - 1]
                       : NULL;
}

static void pack(unsigned kind, const Argosy__Response *r, Buf *ret) {
        const ProtobufCMessage *m = kind == 0   ? &r->units->base
                                    : kind == 1 ? &r->unit_files->base
                                                : &r->nodes->base;
        size_t len = protobuf_c_message_get_packed_size(m);
        uint8_t *to = buf_reserve(ret, len + 1);

        assert_non_null(to);
        (void) protobuf_c_message_pack(m, to);
        ret->len = len;
}

static void look(unsigned kind) {
        const Argosy__Response *r = ask(kind, lists[kind].tag), *whole;
        _cleanup_buf_ Buf rows = {};

        if (!r || !(whole = ask(kind, "")))
                return;
        if (strcmp(r->tag, whole->tag) != 0) // something has changed in between
                return;
        pack(kind, whole, &rows);
        if (*lists[kind].tag && streq(lists[kind].tag, whole->tag)) {
                check_says("tags-are-true");
                if (rows.len != lists[kind].rows.len ||
                    (rows.len > 0 && memcmp(rows.data, lists[kind].rows.data, rows.len) != 0))
                        check_fail("tags-are-true",
                                   "the list of %s is another one, and has the tag of before", names[kind]);
        } else if (r->unchanged) {
                check_fail("tags-are-true",
                           "who has no list of %s with the tag that it has is told that it is unchanged",
                           names[kind]);
        }
        snprintf(lists[kind].tag, sizeof(lists[kind].tag), "%s", whole->tag);
        buf_done(&lists[kind].rows);
        lists[kind].rows = rows;
        rows = (Buf){};
}

void trials_look_at_tags(void) {
        for (unsigned i = 0; i < KINDS && world_is_well(); i++)
                look(i);
}
