// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units of a story and their contents. See world-units.h.
#include "world-units.h"

#include <stdio.h>
#include <string.h>

#include "asks.h"
#include "macro.h"
#include "str.h"
#include "test.h"
#include "world-images.h"
#include "world-options.h"
#include "world-parts.h"

const char *const world_zones[] = {"a", "b"}, *const world_roles[] = {"web", "batch", "default"},
                  *const world_pools[] = {"fast", "slow"}, *const world_secrets[] = {"db", "tls"};

static bool is_drawn(Draw *d, unsigned of_64) {
        return of_64 > 0 && draw_below(d, 64) < of_64;
}

// What activates the service before it.
static bool draw_activator(Draw *d, unsigned i) {
        static const char *const types[] = {"timer", "timer", "socket", "path"};
        const WorldUnit of = asks.units[i - 1];
        WorldUnit *u = &asks.units[i];
        const char *type = DRAW_PICK(d, types);

        if (world_unit_activates(&of))
                return false;
        snprintf(u->name, sizeof(u->name), "%.*s.%s", (int) strcspn(of.name, "."), of.name, type);
        snprintf(u->file, sizeof(u->file), "%.*s.%s", (int) strcspn(of.file, "."), of.file, type);
        return true;
}

bool world_unit_activates(const WorldUnit *u) {
        return !strstr(u->name, ".service");
}

int world_unit_partner(unsigned i) {
        if (world_unit_activates(&asks.units[i]))
                return (int) i - 1;
        return i + 1 < asks.n_units && world_unit_activates(&asks.units[i + 1]) ? (int) i + 1 : -1;
}

// Every third is an instance of one of a few templates.
void world_units_begin(Draw *d) {
        asks.n_units = asks.swarm.units;
        for (unsigned i = 0; i < asks.n_units; i++) {
                WorldUnit *u = &asks.units[i];

                if (i > 0 && is_drawn(d, asks.swarm.activators) && draw_activator(d, i))
                        continue;
                if (is_drawn(d, asks.swarm.siblings)) {
                        snprintf(u->name, sizeof(u->name), "t0@%u.service", i);
                        snprintf(u->file, sizeof(u->file), "t0@.service");
                } else if (draw_one_in(d, 3)) {
                        unsigned template = draw_below(d, 3);

                        snprintf(u->name, sizeof(u->name), "t%u@%u.service", template, i);
                        snprintf(u->file, sizeof(u->file), "t%u@.service", template);
                } else {
                        snprintf(u->name, sizeof(u->name), "u%u.service", i);
                        snprintf(u->file, sizeof(u->file), "u%u.service", i);
                }
        }
        for (unsigned i = 0; i < asks.swarm.crowd; i++) {
                snprintf(asks.crowd[i].name, sizeof(asks.crowd[i].name), "c@%u.service", i);
                snprintf(asks.crowd[i].file, sizeof(asks.crowd[i].file), "c@.service");
        }
}

const WorldUnit *world_unit_draw(Draw *d) {
        if (asks.swarm.crowd > 0 && draw_one_in(d, 6))
                return &asks.crowd[draw_below(d, asks.swarm.crowd)];
        if (asks.focus_n > 0 && draw_below(d, 6) > 0)
                return &asks.units[(asks.focus_first + draw_below(d, asks.focus_n)) % asks.n_units];
        return &asks.units[draw_below(d, (unsigned) asks.n_units)];
}

int world_unit_index(const char *name) {
        for (size_t i = 0; i < asks.n_units; i++)
                if (streq(asks.units[i].name, name))
                        return (int) i;
        return -1;
}

static uint32_t *bucket_of(const uint8_t hash[HASH_SIZE]) {
        return &asks.by_hash[(hash[0] | hash[1] << 8) % WORLD_CONTENT_BUCKETS];
}

const WorldContent *world_content_written(const uint8_t hash[HASH_SIZE]) {
        const WorldContent *c;

        for (uint32_t n = *bucket_of(hash); n > 0; n = c->next) {
                c = &asks.contents[n - 1];
                if (memcmp(c->hash.bytes, hash, HASH_SIZE) == 0)
                        return c;
        }
        return NULL;
}

const WorldContent *world_content_find(const uint8_t hash[HASH_SIZE]) {
        const WorldContent *c = world_content_written(hash);

        return c || asks.swarm.containers == 0 ? c : world_images_find(hash);
}

const WorldContent *world_content_sent(const Argosy__NamedFile *file) {
        Hash hash = hash_of(file->content.data, file->content.len);

        return world_content_find(hash.bytes);
}

// `c` is the one behind the last of those that are kept: it becomes one of them, unless its text is one.
static const WorldContent *keep(WorldContent *c, Buf *text) {
        uint32_t *bucket;
        const WorldContent *same;

        c->hash = hash_of(text->data, text->len);
        if ((same = world_content_find(c->hash.bytes)))
                return same;
        c->text = buf_take_string(text);
        assert_non_null(c->text);
        bucket = bucket_of(c->hash.bytes);
        c->next = *bucket;
        *bucket = (uint32_t) ++asks.n_contents;
        return c;
}

ProtobufCBinaryData world_body(unsigned number) {
        static const size_t sizes[WORLD_BODIES] = {0, 7, 900, 5000};
        static uint8_t bytes[5000];

        assert_true(number < WORLD_BODIES);
        for (size_t i = 0; bytes[1] == 0 && i < sizeof(bytes); i++)
                bytes[i] = (uint8_t) (i * 7 + i / 251);
        return (ProtobufCBinaryData){sizes[number], bytes};
}

static void put_service(Draw *d, Buf *text, WorldContent *c) {
        bool options = asks.swarm.loads[LOAD_options];

        c->oneshot = options && draw_one_in(d, 10);
        assert_int_equal(buf_printf(text, "[Service]\n%sExecStart=/bin/%s %u\n",
                                    c->oneshot ? "Type=oneshot\n" : "", c->bad ? "false" : "sleep",
                                    1000 + draw_below(d, 4)),
                         0);
        if (options && draw_one_in(d, 6))
                assert_int_equal(
                        buf_printf(text, "ExecReload=/bin/true\nTimeoutStopSec=%u\n", 1 + draw_below(d, 3)),
                        0);
}

// What systemd does with a unit on its node, and the cluster with what it names there.
static void put_beside(Draw *d, Buf *text) {
        const char *other = asks.units[draw_below(d, (unsigned) asks.n_units)].name;

        switch (draw_below(d, 5)) {
        case 0:
                assert_int_equal(buf_printf(text, "[Unit]\nRequires=%s\nAfter=%s\n", other, other), 0);
                break;
        case 1:
                assert_int_equal(buf_printf(text, "[Unit]\nPartOf=%s\n", other), 0);
                break;
        case 2:
                assert_int_equal(
                        buf_printf(text, "[Unit]\nOnFailure=t%u@%%n.service\n", draw_below(d, 3)), 0);
                break;
        case 3:
                assert_int_equal(buf_printf(text, "[Install]\nWantedBy=multi-user.target\nAlso=%s\n", other),
                                 0);
                break;
        default:
                assert_int_equal(buf_printf(text, "[Install]\nWantedBy=app.target\n"), 0);
        }
}

static void put_activator(Draw *d, Buf *text, WorldContent *c, const WorldUnit *u) {
        static const char *const sections[][2] = {{".timer", "[Timer]\nOnCalendar=daily\n"},
                                                  {".socket", "[Socket]\nListenStream=/run/box\n"},
                                                  {".path", "[Path]\nPathExists=/run/box\n"}};

        c->of = u;
        c->activates = true;
        for (size_t i = 0; i < ELEMENTSOF(sections); i++)
                if (strstr(u->name, sections[i][0]))
                        assert_int_equal(buf_printf(text, "%s", sections[i][1]), 0);
        // so that some contents differ
        assert_int_equal(buf_printf(text, "[Unit]\nDescription=%u\n", draw_below(d, 4)), 0);
}

static void put_guard(Draw *d, Buf *text, WorldContent *c) {
        c->picky = c->cut_off_stop = true;
        assert_int_equal(buf_printf(text, "[X-Argosy]\nCutOff=stop\nCutOffSec=%u\n", draw_below(d, 6)), 0);
        if (asks.swarm.stops_within > 0)
                assert_int_equal(buf_printf(text, "[Service]\nTimeoutStopSec=%u\n",
                                            1 + draw_below(d, asks.swarm.stops_within)),
                                 0);
}

static void put_manager(Buf *text, WorldContent *c) {
        c->picky = true;
        c->managers = "user@*";
        assert_int_equal(buf_printf(text, "[X-Argosy]\nManager=%s\n", c->managers), 0);
}

static const WorldContent *content_again(Draw *d, const WorldUnit *u) {
        const WorldContent *c = &asks.contents[draw_below(d, (unsigned) asks.n_contents)];

        return c->of ? (strcmp(c->of->file, u->file) == 0 ? c : NULL) : (world_unit_activates(u) ? NULL : c);
}

static bool is_of_crowd(const WorldUnit *u) {
        return u >= asks.crowd && u < asks.crowd + asks.swarm.crowd;
}

// It says nothing of nodes, nor of other units.
static const WorldContent *draw_crowd_content(Draw *d) {
        static const char *const budgets[] = {"",
                                              "[X-Argosy]\nMaxUnavailable=3\n",
                                              "[X-Argosy]\nMaxUnavailable=10%\n"};
        WorldContent *c = &asks.contents[asks.n_contents];
        _cleanup_buf_ Buf text = {};

        assert_true(asks.n_contents < WORLD_CONTENTS_MAX);
        *c = (WorldContent){.bad = draw_one_in(d, 24), .of = &asks.crowd[0]};
        assert_int_equal(buf_printf(&text, "[Service]\nExecStart=/bin/%s %u\n%s", c->bad ? "false" : "sleep",
                                    1000 + draw_below(d, 3), DRAW_PICK(d, budgets)),
                         0);
        return keep(c, &text);
}

// Few contents, so that the same one comes again.
const WorldContent *world_content_draw(Draw *d, const WorldUnit *u) {
        WorldContent *c = &asks.contents[asks.n_contents];
        _cleanup_buf_ Buf text = {};
        const WorldContent *same = asks.n_contents > 0 && draw_one_in(d, 4) ? content_again(d, u) : NULL;

        if (same)
                return same;
        if (is_of_crowd(u))
                return draw_crowd_content(d);
        assert_true(asks.n_contents < WORLD_CONTENTS_MAX);
        *c = (WorldContent){.bad = draw_one_in(d, 12)};
        if (world_unit_activates(u))
                put_activator(d, &text, c, u);
        else if (is_drawn(d, asks.swarm.containers))
                world_images_put(d, &text, c);
        else
                put_service(d, &text, c);
        if (c->image > 0)
                ;
        else if (!c->activates && is_drawn(d, asks.swarm.guarded))
                put_guard(d, &text, c);
        else if (!c->activates && is_drawn(d, asks.swarm.of_users))
                put_manager(&text, c);
        else if (asks.swarm.loads[LOAD_options] && draw_below(d, 64) < asks.swarm.loads[LOAD_options]) {
                c->of = u;
                world_options_put(d, &text, c, u);
        }
        if (c->image == 0 && !c->activates && is_drawn(d, asks.swarm.beside))
                put_beside(d, &text);
        if (c->image == 0 && !c->activates && is_drawn(d, asks.swarm.parts))
                world_parts_put_drop_ins(d, &text, c, u);
        if (c->n_files > 0)
                world_parts_put_manifest(&text, c, u->file);
        return keep(c, &text);
}
