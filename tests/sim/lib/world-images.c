// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Contents of containers. See world-images.h.
//
//      world_images_put() -> a content with a tag -> the leader puts a digest into it -> the log has another
//      hash -> world_images_find(): the content that it was made of
//
// What was found is remembered: the log forgets contents that nobody has any more.
#include "world-images.h"

#include <stdio.h>
#include <string.h>

#include "asks.h"
#include "content-image.h"
#include "macro.h"
#include "test.h"

enum { KNOWN_MAX = 4096 };

static struct Known {
        Hash hash;
        const WorldContent *source;
} known[KNOWN_MAX];
static size_t n_known;

void world_images_begin(void) {
        n_known = 0;
}

const char *world_image_tag(unsigned number) {
        return asks_printf("reg.example/box%u:1", number);
}

// Of no registry's tag: with the digest that somebody has written, or of no registry.
static const char *draw_other_image(Draw *d, unsigned number) {
        char name[16], hex[HASH_HEX_SIZE];
        Hash hash = hash_of(name, (size_t) snprintf(name, sizeof(name), "own %u", number));

        hash_hex(&hash, HASH_SIZE, hex);
        switch (draw_below(d, 3)) {
        case 0:
                return asks_printf("localhost/box%u:1", number);
        case 1:
                return asks_printf("reg.example/box%u@" CONTENT_IMAGE_DIGEST "%s", number, hex);
        default:
                return asks_printf("reg.example/box%u:1@" CONTENT_IMAGE_DIGEST "%s", number, hex);
        }
}

// A port of the host, a name and a file of a volume are one unit's on a node; a registry may ask who it is.
static void put_more(Draw *d, Buf *text) {
        switch (draw_below(d, 4)) {
        case 0:
                assert_int_equal(buf_printf(text, "PublishPort=808%u:80\n", draw_below(d, 3)), 0);
                break;
        case 1:
                assert_int_equal(buf_printf(text, "ContainerName=box%u\n", draw_below(d, 2)), 0);
                break;
        case 2:
                assert_int_equal(buf_printf(text, "PublishPort=80\n"), 0);
                break;
        default:
                break;
        }
}

static const char *draw_auth(Draw *d) {
        return draw_one_in(d, 3) ? asks_printf("RegistryAuth=%s\n", DRAW_PICK(d, world_secrets)) : "";
}

static bool is_otherwise(Draw *d) {
        return asks.swarm.named > 0 && draw_below(d, 64) < asks.swarm.named;
}

void world_images_put(Draw *d, Buf *text, WorldContent *c) {
        static const char *const volumes[] = {"", "Volume=/srv/conf:/conf:ro\n", "Volume=data:/data\n",
                                              "Mount=type=volume,source=more,destination=/more\n"};
        unsigned volume = draw_below(d, ELEMENTSOF(volumes));
        bool writes = volume >= 2, accepts = writes && draw_one_in(d, 3), budget = draw_one_in(d, 2);

        unsigned network = draw_one_in(d, 2) ? 1 + draw_below(d, WORLD_NETWORKS) : 0,
                 subnet = draw_below(d, WORLD_SUBNETS);
        bool global = !writes && draw_one_in(d, 8), otherwise = is_otherwise(d);

        c->picky = true; // a host without podman cannot run it
        c->global = global;
        c->image = 1 + draw_below(d, WORLD_IMAGES);
        c->data = c->stays = writes && !accepts;
        c->max_unavailable = budget ? 2 : 0;
        c->node_lost = c->data ? "never" : NULL;
        assert_int_equal(buf_printf(text, "[Container]\nImage=%s\n%sExec=/bin/%s %u\n",
                                    otherwise && draw_one_in(d, 2) ? draw_other_image(d, c->image)
                                                                   : world_image_tag(c->image),
                                    volumes[volume], c->bad ? "false" : "sleep",
                                    1000 + draw_below(d, 3)),
                         0);
        if (otherwise)
                put_more(d, text);
        if (network > 0)
                assert_int_equal(buf_printf(text, "Network=net%u.network\n", network), 0);
        assert_int_equal(buf_printf(text, "[X-Argosy]\n%s%s%s%s", accepts ? "VolumeLoss=accept\n" : "",
                                    budget ? "MaxUnavailable=2\n" : "", global ? "Global=yes\n" : "",
                                    otherwise ? draw_auth(d) : ""),
                         0);
        if (network == 0)
                return;
        c->own = text->len;
        assert_int_equal(buf_printf(text, "\n# net%u.network\n[Network]\nSubnet=10.9.%u.0/24\n", network,
                                    subnet),
                         0);
}

// Who shares a network may have got the file of another content.
static const WorldContent *find_with_other_network(const Buf *source) {
        for (size_t i = 0; i < asks.n_contents; i++) {
                const WorldContent *c = &asks.contents[i];

                if (c->own > 0 && source->len > c->own && memcmp(c->text, source->data, c->own) == 0 &&
                    memcmp(c->text + c->own, source->data + c->own, strlen("\n# net")) == 0)
                        return c;
        }
        return NULL;
}

static const WorldContent *find_source(const SpecEntry *spec) {
        _cleanup_buf_ Buf source = {};
        Hash hash;

        assert_int_equal(content_image_unpin(spec->content, spec->len, &source), 0);
        hash = hash_of(source.data, source.len);
        return world_content_written(hash.bytes) ?: find_with_other_network(&source);
}

const WorldContent *world_images_find(const uint8_t hash[HASH_SIZE]) {
        const SpecEntry *spec;
        Hash key;

        for (size_t i = 0; i < n_known; i++)
                if (memcmp(known[i].hash.bytes, hash, HASH_SIZE) == 0)
                        return known[i].source;
        memcpy(key.bytes, hash, HASH_SIZE);
        spec = cluster_state_find_spec(asks.port->state(), &key);
        if (!spec || n_known == KNOWN_MAX)
                return spec ? find_source(spec) : NULL;
        known[n_known] = (struct Known){key, find_source(spec)};
        return known[n_known++].source;
}

bool world_images_same_but_network(const uint8_t a[HASH_SIZE], const uint8_t b[HASH_SIZE]) {
        const WorldContent *x = world_content_find(a), *y = world_content_find(b);

        return x && y && x->own > 0 && x->own == y->own && memcmp(x->text, y->text, x->own) == 0;
}
