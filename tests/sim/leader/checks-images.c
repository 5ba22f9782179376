// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Images of containers: a registry whose tags move, which loses what it had, and which hosts do not always
// reach; what hosts have pulled; and what must be so.
//
//      leader asks a host for a digest -> registry() -> the log: digests_on_entry()
//      leader asks hosts to pull -> pull() -> an update begins: pulled_on_entry()
//
// A container with data leaves its node only if somebody says so, or if its host is none any more.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "content-image.h"
#include "macro.h"
#include "str.h"
#include "test.h"
#include "world-images.h"

enum { VERSIONS = 24 };

static struct Images {
        Draw chance;
        struct {
                unsigned version; // that the tag stands for
                char digests[VERSIONS][CONTENT_IMAGE_DIGEST_SIZE];
                bool said[VERSIONS], lost[VERSIONS];
        } of[WORLD_IMAGES + 1];
        bool has[WORLD_HOSTS_MAX + 1][WORLD_IMAGES + 1][VERSIONS];
        uint64_t placed_us[WORLD_UNITS_MAX]; // when its node became what it is
        uint32_t data[WORLD_UNITS_MAX];      // the node that has its data
} images;

static unsigned number_of(const char *image) {
        unsigned number = 0;

        (void) sscanf(image, "reg.example/box%u", &number);
        return number >= 1 && number <= WORLD_IMAGES ? number : 0;
}

static int version_of(unsigned image, const char *digest) {
        for (int i = 0; i < VERSIONS; i++)
                if (streq(images.of[image].digests[i], digest))
                        return i;
        return -1;
}

// ------------------------------------------------------------------------------- the registry, and hosts

static const char *registry(Rig *g, uint32_t host, const char *image, const char **ret_why, bool *ret_here) {
        unsigned n = number_of(image), *version = &images.of[n].version;
        Draw *d = &images.chance;

        if (n == 0)
                fail_msg("a host is asked for the image %s, which no content names", image);
        *ret_here = draw_one_in(d, 10);
        if (*ret_here || draw_one_in(d, 12)) {
                *ret_why = *ret_here ? "connection refused" : "manifest unknown";
                return NULL;
        }
        if (draw_one_in(d, 8))
                images.of[n].lost[*version] = true;
        if (*version + 1 < VERSIONS && (images.of[n].lost[*version] || draw_one_in(d, 3)))
                ++*version;
        images.of[n].said[*version] = true;
        return images.of[n].digests[*version];
}

static const char *pull(Rig *g, uint32_t host, const char *image) {
        const char *at = strchr(image, '@');
        unsigned n = number_of(image);
        int version = at ? version_of(n, at + 1) : -1;

        if (version < 0 || host > WORLD_HOSTS_MAX || images.has[host][n][version])
                return NULL;
        if (draw_one_in(&images.chance, 8))
                return "i/o timeout";
        if (images.of[n].lost[version])
                return "manifest unknown";
        images.has[host][n][version] = true;
        return NULL;
}

void images_begin(void) {
        images = (struct Images){.chance = draw_from(world.plan.chance ^ 12)};
        for (unsigned i = 1; i <= WORLD_IMAGES; i++)
                for (unsigned k = 0; k < VERSIONS; k++) {
                        char text[32];
                        Hash hash = hash_of(text, (size_t) snprintf(text, sizeof(text), "box%u %u", i, k));

                        strcpy(images.of[i].digests[k], CONTENT_IMAGE_DIGEST);
                        hash_hex(&hash, HASH_SIZE,
                                 images.of[i].digests[k] + strlen(CONTENT_IMAGE_DIGEST));
                }
        world.rig.registry = registry;
        world.rig.pull = pull;
}

// ------------------------------------------------------------------------------------------------ digests

// Of the content that the log has; NULL: it is no container's.
static bool read_image(const char *unit, const Hash *hash, ContentImage *ret) {
        const SpecEntry *spec = cluster_state_find_spec(world.rig.state, hash);

        *ret = (ContentImage){};
        if (!spec)
                return false;
        assert_int_equal(content_image_read(unit, spec->content, spec->len, ret), 0);
        return ret->kind == CONTENT_IMAGE_TAG && number_of(ret->name) > 0;
}

void digests_on_entry(const Argosy__LogBatch *batch) {
        for (size_t i = 0; asks.swarm.containers > 0 && i < log_truth.n_touched; i++) {
                const struct LogTouched *t = &log_truth.touched[i];
                const char *name = asks.units[t->unit].name;
                _cleanup_content_image_ ContentImage image = {};
                int version;

                if (!t->after.exists || !read_image(name, &t->after.spec, &image))
                        continue;
                if (!*image.digest && !asks.unpinned)
                        check_fail("digests-are-the-registrys", "%s has no digest of %s", name, image.name);
                if (!*image.digest)
                        continue;
                version = version_of(number_of(image.name), image.digest);
                if (version < 0 || !images.of[number_of(image.name)].said[version])
                        check_fail("digests-are-the-registrys",
                                   "%s has the digest %s, which no registry has said of %s", name,
                                   image.digest, image.name);
                check_says("digests-are-the-registrys");
        }
}

// ------------------------------------------------------------------------------------------------ updates

static bool is_left_out(const Argosy__RolloutRecord *r, uint32_t node) {
        for (size_t i = 0; i < r->n_without; i++)
                if (r->without[i] == node)
                        return true;
        return false;
}

static bool is_of(const Argosy__RolloutRecord *r, unsigned unit) {
        return streq(r->name, asks.units[unit].name) || streq(r->name, asks.units[unit].file);
}

// It was there when the hosts were asked, which took no longer than this.
static bool was_there(unsigned i) {
        enum { ASKED_US = 1000000 };
        const LogUnit *u = &log_truth.units_before[i];

        return u->exists && !u->global && u->target == ARGOSY__TARGET__TARGET_LAUNCHED && u->node > 0 &&
               images.placed_us[i] + ASKED_US < world.rig.now_us;
}

static void one_update(const Argosy__RolloutRecord *r, const ContentImage *image) {
        unsigned n = number_of(image->name);
        int version = version_of(n, image->digest);

        for (unsigned i = 0; i < asks.n_units; i++) {
                uint32_t host = is_of(r, i) && was_there(i) ? places_host_of(log_truth.units_before[i].node)
                                                            : 0;

                if (!host || host > asks.swarm.hosts || !places_is_certain(host) ||
                    rig_host(&world.rig, host)->mute)
                        continue;
                check_says("images-come-before-updates");
                if (!images.has[host][n][version] && !is_left_out(r, log_truth.units_before[i].node))
                        check_fail("images-come-before-updates",
                                   "an update of %s begins, and n%u, which has %s, has not the image",
                                   r->name, host, asks.units[i].name);
        }
}

static void note_places(void) {
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                const struct LogTouched *t = &log_truth.touched[i];

                if (!t->before.exists || t->before.node != t->after.node)
                        images.placed_us[t->unit] = world.rig.now_us;
        }
}

void pulled_on_entry(const Argosy__LogBatch *batch) {
        for (size_t i = 0; asks.swarm.containers > 0 && i < batch->n_ops; i++) {
                const Argosy__LogOp *op = batch->ops[i];
                const Argosy__RolloutRecord *r =
                        op->op_case == ARGOSY__LOG_OP__OP_ROLLOUT ? op->rollout : NULL;
                _cleanup_content_image_ ContentImage image = {};
                Hash hash;

                if (!r || r->revision > 0 || r->kind != ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE ||
                    r->phase != ARGOSY__ROLLOUT_PHASE__ROLLOUT_RUNNING || r->spec.len != HASH_SIZE)
                        continue;
                memcpy(hash.bytes, r->spec.data, HASH_SIZE);
                if (read_image(r->name, &hash, &image) && *image.digest)
                        one_update(r, &image);
        }
        note_places();
}

// ------------------------------------------------------------------------------------------------ data

static bool may_go(const struct LogTouched *t, uint32_t from) {
        return heard_was_refused(t->unit) || places_host_of(from) == 0 || places_lies(from) ||
               places_has_deadline(from);
}

static bool has_data(const LogUnit *u) {
        const WorldContent *c = u->exists && !u->global ? world_content_find(u->spec.bytes) : NULL;

        return c && c->data;
}

void data_on_entry(const Argosy__LogBatch *batch) {
        for (size_t i = 0; asks.swarm.containers > 0 && i < log_truth.n_touched; i++) {
                const struct LogTouched *t = &log_truth.touched[i];
                uint32_t *home = &images.data[t->unit];

                if (!has_data(&t->before))
                        *home = 0;
                else if (t->before.node)
                        *home = t->before.node;
                if (!*home || !has_data(&t->after))
                        continue;
                check_says("data-stays");
                if (t->after.node && t->after.node != *home && !may_go(t, *home))
                        check_fail("data-stays", "%s leaves n%" PRIu32 ", where its data is",
                                   asks.units[t->unit].name, *home);
                if (!t->after.node && may_go(t, *home))
                        *home = 0;
        }
}
