// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See world-parts.h. A drop-in means what its lines would mean at the end of the unit file, and so does what
// only looks like one: facts of the content follow from the lines alone.
#include "world-parts.h"

#include <string.h>

#include "asks.h"
#include "carried-files.h"
#include "macro.h"
#include "test.h"
#include "unit-file.h"

static const char *const files[WORLD_FILES_MAX] = {"a.conf", "conf/b"};

static bool is_drawn(Draw *d, unsigned of_64) {
        return of_64 > 0 && draw_below(d, 64) < of_64;
}

// ------------------------------------------------------------------------------------------------ files

// How File= may name each of them: where it is only in the unit's folder, and where it has a place as well.
static const char *const sources[WORLD_FILES_MAX][6] = {
        {"a.conf:/etc/box/a.conf", "*.conf:/etc/box", "a.conf:/srv/box/a.conf", "a.conf:/etc/box.conf",
         "a.*:/etc/box/of", "*.conf"},
        {"conf:/etc/box.d", "conf/b:/etc/box.d/b", "conf/*:/etc/box.d", "conf/b:/opt/box/b",
         "conf:/etc/default/box", "conf"},
};

void world_parts_name_files(Draw *d, Buf *lines, WorldContent *c, const WorldUnit *u) {
        c->n_files = 1 + draw_below(d, WORLD_FILES_MAX);
        for (unsigned i = 0; i < c->n_files; i++) {
                const char *source = files[i];

                c->files[i] = draw_below(d, WORLD_BODIES);
                if (is_drawn(d, asks.swarm.places)) {
                        c->executable |= draw_below(d, 2) << i;
                        source = DRAW_PICK(d, sources[i]);
                        if (draw_one_in(d, 4) && strchr(u->file, '@'))
                                source = i == 0 ? "a.conf:/etc/box/%i.conf" : "conf:/etc/box-%i.d";
                }
                assert_int_equal(buf_printf(lines, "File=%s\n", source), 0);
        }
}

void world_parts_put_manifest(Buf *text, const WorldContent *c, const char *name) {
        _cleanup_carried_files_ CarriedFiles carried = {};
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        _cleanup_free_ char *why = NULL;

        for (unsigned i = 0; i < c->n_files; i++) {
                ProtobufCBinaryData body = world_body(c->files[i]);
                Hash hash = hash_of(body.data, body.len);

                assert_int_equal(
                        carried_files_add(&carried, files[i], c->executable >> i & 1, body.len, &hash), 0);
        }
        if (unit_file_parse(name, text->data, text->len, &file, &why) == 0)
                assert_int_equal(carried_files_compose(name, file, &carried, text, &why), 0);
}

// ------------------------------------------------------------------------------------------------ drop-ins

static void put_lines(Draw *d, Buf *text, WorldContent *c) {
        switch (draw_below(d, 6)) {
        case 0:
                c->max_unavailable = 1 + draw_below(d, 2);
                c->max_unavailable_percent = false;
                assert_int_equal(
                        buf_printf(text, "[X-Argosy]\nMaxUnavailable=%u\n", c->max_unavailable), 0);
                break;
        case 1:
                c->wants = c->part_of = 0;
                assert_int_equal(buf_printf(text, "[X-Argosy]\nWants=\nPartOf=\nPreferLabel=\n"), 0);
                break;
        default:
                assert_int_equal(buf_printf(text, "[Service]\nNice=%u\n", draw_below(d, 4)), 0);
        }
}

void world_parts_put_drop_ins(Draw *d, Buf *text, WorldContent *c, const WorldUnit *u) {
        static const char *const names[] = {"05-first", "10-limits", "10-limits", "50-more", "~1-last"};

        c->of = u;
        for (unsigned n = 1 + draw_below(d, 3); n > 0; n--) {
                assert_int_equal(
                        buf_printf(text, "\n# %s.d/%s.conf\n", u->file, DRAW_PICK(d, names)), 0);
                put_lines(d, text, c);
        }
}
