// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units of a story and their contents. See world-units.h.
#include "world-units.h"

#include <stdio.h>
#include <string.h>

#include "asks.h"
#include "carried-files.h"
#include "macro.h"
#include "str.h"
#include "test.h"
#include "unit-file.h"
#include "world-images.h"
#include "world-options.h"

const char *const world_zones[] = {"a", "b"}, *const world_roles[] = {"web", "batch", "default"},
                  *const world_pools[] = {"fast", "slow"}, *const world_secrets[] = {"db", "tls"};

// Every third is an instance of one of a few templates.
void world_units_begin(Draw *d) {
        asks.n_units = asks.swarm.units;
        for (unsigned i = 0; i < asks.n_units; i++) {
                WorldUnit *u = &asks.units[i];

                if (draw_one_in(d, 3)) {
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

// What the client adds to a text whose files it has read.
static void put_manifest(Buf *text, const WorldContent *c, const char *name) {
        static const char *const names[WORLD_FILES_MAX] = {"a.conf", "conf/b"};
        _cleanup_carried_files_ CarriedFiles files = {};
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        _cleanup_free_ char *why = NULL;

        for (unsigned i = 0; i < c->n_files; i++) {
                ProtobufCBinaryData body = world_body(c->files[i]);
                Hash hash = hash_of(body.data, body.len);

                assert_int_equal(carried_files_add(&files, names[i], false, body.len, &hash), 0);
        }
        if (unit_file_parse(name, text->data, text->len, &file, &why) == 0)
                assert_int_equal(carried_files_compose(name, file, &files, text, &why), 0);
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

static void put_guard(Draw *d, Buf *text, WorldContent *c) {
        c->picky = c->cut_off_stop = true;
        assert_int_equal(buf_printf(text, "[X-Argosy]\nCutOff=stop\nCutOffSec=%u\n", draw_below(d, 6)), 0);
}

static void put_manager(Buf *text, WorldContent *c) {
        c->picky = true;
        c->managers = "user@*";
        assert_int_equal(buf_printf(text, "[X-Argosy]\nManager=%s\n", c->managers), 0);
}

static const WorldContent *content_again(Draw *d, const WorldUnit *u) {
        const WorldContent *c = &asks.contents[draw_below(d, (unsigned) asks.n_contents)];

        return !c->of || strcmp(c->of->file, u->file) == 0 ? c : NULL;
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
        if (asks.swarm.containers > 0 && draw_below(d, 64) < asks.swarm.containers)
                world_images_put(d, &text, c);
        else
                put_service(d, &text, c);
        if (c->image > 0)
                ;
        else if (asks.swarm.guarded > 0 && draw_below(d, 64) < asks.swarm.guarded)
                put_guard(d, &text, c);
        else if (asks.swarm.of_users > 0 && draw_below(d, 64) < asks.swarm.of_users)
                put_manager(&text, c);
        else if (asks.swarm.loads[LOAD_options] && draw_below(d, 64) < asks.swarm.loads[LOAD_options]) {
                c->of = u;
                world_options_put(d, &text, c, u);
        }
        if (c->n_files > 0)
                put_manifest(&text, c, u->file);
        return keep(c, &text);
}
