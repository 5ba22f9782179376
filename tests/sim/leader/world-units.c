// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units of a story and their contents. See world.h.
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "macro.h"
#include "str.h"
#include "test.h"

const char *const world_zones[] = {"a", "b"}, *const world_roles[] = {"web", "batch", "default"}, *const world_pools[] = {"fast", "slow"},
                  *const world_secrets[] = {"db", "tls"};

// Every third is an instance of one of a few templates.
void world_units_begin(Draw *d) {
        world.n_units = world.swarm.units;
        for (unsigned i = 0; i < world.n_units; i++) {
                WorldUnit *u = &world.units[i];

                if (draw_one_in(d, 3)) {
                        unsigned template = draw_below(d, 3);

                        snprintf(u->name, sizeof(u->name), "t%u@%u.service", template, i);
                        snprintf(u->file, sizeof(u->file), "t%u@.service", template);
                } else {
                        snprintf(u->name, sizeof(u->name), "u%u.service", i);
                        snprintf(u->file, sizeof(u->file), "u%u.service", i);
                }
        }
}

const WorldUnit *world_unit_draw(Draw *d) {
        return &world.units[draw_below(d, (unsigned) world.n_units)];
}

int world_unit_index(const char *name) {
        for (size_t i = 0; i < world.n_units; i++)
                if (streq(world.units[i].name, name))
                        return (int) i;
        return -1;
}

const WorldContent *world_content_find(const uint8_t hash[HASH_SIZE]) {
        for (size_t i = 0; i < world.n_contents; i++)
                if (memcmp(world.contents[i].hash.bytes, hash, HASH_SIZE) == 0)
                        return &world.contents[i];
        return NULL;
}

static void put_demands(Draw *d, Buf *text, WorldContent *c) {
        static const char *const zones[] = {"a", "b"};

        assert_int_equal(buf_printf(text, "[X-Argosy]\n"), 0);
        c->picky = true;
        if (draw_one_in(d, 3)) {
                unsigned host = draw_below(d, world.swarm.hosts);

                c->hosts = 1u << host;
                assert_int_equal(buf_printf(text, "Host=n%u\n", host + 1), 0);
        }
        if (draw_one_in(d, 4)) {
                c->zone = DRAW_PICK(d, zones);
                assert_int_equal(buf_printf(text, "RequireLabel=zone=%s\n", c->zone), 0);
        }
        if (draw_one_in(d, 3)) {
                unsigned other = draw_below(d, (unsigned) world.n_units);

                c->conflicts = 1u << other;
                assert_int_equal(buf_printf(text, "Conflicts=%s\n", world.units[other].name), 0);
        }
}

// Few contents, so that the same one comes again.
const WorldContent *world_content_draw(Draw *d, const WorldUnit *u) {
        WorldContent *c = &world.contents[world.n_contents];
        _cleanup_buf_ Buf text = {};
        const WorldContent *same;

        assert_true(world.n_contents < WORLD_CONTENTS_MAX);
        *c = (WorldContent){.bad = draw_one_in(d, 12)};
        assert_int_equal(buf_printf(&text, "[Service]\nExecStart=/bin/%s %u\n", c->bad ? "false" : "sleep", 1000 + draw_below(d, 4)), 0);
        if (world.swarm.loads[LOAD_options] && draw_below(d, 64) < world.swarm.loads[LOAD_options])
                put_demands(d, &text, c);
        c->hash = hash_of(text.data, text.len);
        if ((same = world_content_find(c->hash.bytes)))
                return same;
        c->text = buf_take_string(&text);
        assert_non_null(c->text);
        world.n_contents++;
        return c;
}
