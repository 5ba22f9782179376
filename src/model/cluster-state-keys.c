// SPDX-License-Identifier: LGPL-2.1-or-later

// Ids of requests, so that none is carried out twice: at least the newest CLUSTER_KEYS_MIN of them, each
// with the number of its job and a hash of what it asked for.
//
// They stand in segments of KEY_SEGMENT_SIZE, in the order in which they came; each segment has an index of
// its own. A key is looked for in all segments, newest first: at most KEY_SEGMENTS_MAX looks. What is too
// old goes as a whole segment, when the newest one is full and there are KEY_SEGMENTS_MAX. So no key is ever
// moved, no entry of the log costs more than a few microseconds however many keys there are (one in a
// segment a tenth of a millisecond, see below), and every voter forgets the same ones. Of what is forgotten
// the time of the newest stays: who repeats an older request cannot be told what became of it. In its large
// index each key makes another page resident, so a segment has a small one until it has FIRST_KEYS, as most
// clusters never do; these are hashed again then.
//
// A key in a segment is never changed, so a snapshot needs no copy of them. Those of requests of which only
// a part is in the log stand apart, OPEN_KEYS_MAX of them, and come to a segment with the last part. Those
// of jobs that were held back stand in both until then, since their jobs were there before.
//
// When there are more, one of those is given up whose jobs have ended, since nobody has gone on with them;
// without such a one that which was gone on with the longest ago. It comes to a segment with GIVEN_UP in the
// number of its job, so a repeated request is told that it was begun, and it is not carried out from its
// beginning once more. An id that stands in segments twice is as the later one says.
//
// In the image a segment is one string of its keys as they stand in memory: id, content and job, the last
// two little-endian.

#include <errno.h>

#include "array.h"
#include "cluster-state-private.h"
#include "job-state.h"
#include "message-of.h"
#include "message.h"

#define GIVEN_UP (UINT64_C(1) << 63)

enum {
        FIRST_KEYS = 2048,
        FIRST_INDEX_SIZE = 2 * FIRST_KEYS,
        INDEX_SIZE = 2 * KEY_SEGMENT_SIZE,
};
static_assert((FIRST_INDEX_SIZE & (FIRST_INDEX_SIZE - 1)) == 0 && (INDEX_SIZE & (INDEX_SIZE - 1)) == 0);

typedef struct KeyEntry {
        uint8_t id[REQUEST_ID_SIZE], content[8], job[8];
} KeyEntry;
static_assert(sizeof(KeyEntry) == REQUEST_ID_SIZE + 16);

struct KeySegment {
        size_t n;
        uint64_t newest_us; // counted time when the last of them came
        KeyEntry keys[KEY_SEGMENT_SIZE];
        uint32_t first_index[FIRST_INDEX_SIZE]; // place in `keys` + 1, 0: free; open addressing
        uint32_t index[INDEX_SIZE];             // the same, as soon as there are more than FIRST_KEYS
};

static void put_u64(uint8_t p[8], uint64_t value) {
        for (size_t i = 0; i < sizeof value; i++)
                p[i] = (uint8_t) (value >> (8 * i));
}

static uint64_t get_u64(const uint8_t p[8]) {
        uint64_t value = 0;

        for (size_t i = 0; i < sizeof value; i++)
                value |= (uint64_t) p[i] << (8 * i);
        return value;
}

static uint32_t *look_in(uint32_t *index, size_t size, const KeyEntry *keys, uint64_t hash,
                         const uint8_t id[REQUEST_ID_SIZE]) {
        size_t i = hash & (size - 1);

        while (index[i] > 0 && memcmp(keys[index[i] - 1].id, id, REQUEST_ID_SIZE) != 0)
                i = (i + 1) & (size - 1);
        return &index[i];
}

static uint64_t job_of(const KeyEntry *key) {
        return get_u64(key->job) & ~GIVEN_UP;
}

static bool is_given_up(const KeyEntry *key) {
        return get_u64(key->job) & GIVEN_UP;
}

// The place of the id in the index that counts, or where it would go.
static uint32_t *look(KeySegment *segment, uint64_t hash, const uint8_t id[REQUEST_ID_SIZE]) {
        if (segment->n <= FIRST_KEYS)
                return look_in(segment->first_index, FIRST_INDEX_SIZE, segment->keys, hash, id);
        return look_in(segment->index, INDEX_SIZE, segment->keys, hash, id);
}

static const KeyEntry *find(const KeyTable *t, const uint8_t id[REQUEST_ID_SIZE]) {
        uint64_t hash = map_hash(id, REQUEST_ID_SIZE);

        for (size_t i = t->n; i-- > 0;) {
                uint32_t at = *look(t->segments[i], hash, id);

                if (at > 0)
                        return &t->segments[i]->keys[at - 1];
        }
        return NULL;
}

static Argosy__OpenKey **find_open(const KeyTable *t, const uint8_t id[REQUEST_ID_SIZE]) {
        for (size_t i = 0; i < t->n_open; i++)
                if (memcmp(t->open[i]->id.data, id, REQUEST_ID_SIZE) == 0)
                        return &t->open[i];
        return NULL;
}

bool cluster_state_find_key(const ClusterState *s, const uint8_t id[REQUEST_ID_SIZE], RequestKey *ret) {
        Argosy__OpenKey **open = find_open(&s->keys, id);
        const KeyEntry *key = open ? NULL : find(&s->keys, id);

        if (open)
                *ret = (RequestKey){.job = (*open)->job,
                                    .content = (*open)->content,
                                    .more = true,
                                    .done = (*open)->done};
        else if (key)
                *ret = (RequestKey){
                        .job = job_of(key), .content = get_u64(key->content), .given_up = is_given_up(key)};
        return open || key;
}

bool cluster_state_job_is_partial(const ClusterState *s, uint64_t number) {
        for (size_t i = 0; i < s->keys.n_open; i++)
                if (s->keys.open[i]->job == number)
                        return true;
        return false;
}

bool cluster_state_takes_open_keys(const ClusterState *s, size_t n) {
        size_t room = OPEN_KEYS_MAX - s->keys.n_open;

        for (size_t i = 0; i < s->keys.n_open && room < n; i++)
                room += !job_state_is_open(cluster_state_job_state(s, s->keys.open[i]->job));
        return room >= n;
}

bool cluster_state_may_have_forgotten(const ClusterState *s, uint64_t age_ms) {
        uint64_t forgotten_us = s->keys.forgotten_us;

        return forgotten_us > 0 &&
               (age_ms >= s->counted_us / 1000 || s->counted_us - age_ms * 1000 <= forgotten_us);
}

static void forget_oldest(ClusterState *s) {
        KeyTable *t = &s->keys;

        t->forgotten_us = MAX_OF(t->forgotten_us, t->segments[0]->newest_us);
        state_retire(s, t->segments[0], sizeof *t->segments[0]);
        t->n--;
        memmove(t->segments, t->segments + 1, t->n * sizeof *t->segments);
}

// One that has room.
static KeySegment *newest(ClusterState *s) {
        KeyTable *t = &s->keys;
        KeySegment *segment = t->n > 0 ? t->segments[t->n - 1] : NULL;

        if (segment && segment->n < KEY_SEGMENT_SIZE)
                return segment;
        segment = calloc(1, sizeof *segment);
        if (!segment)
                return NULL;
        if (t->n == KEY_SEGMENTS_MAX)
                forget_oldest(s);
        return t->segments[t->n++] = segment;
}

// The key behind those that the index knows.
static void index_next(KeyTable *t, KeySegment *segment) {
        uint32_t place = (uint32_t) segment->n++;

        for (uint32_t i = segment->n == FIRST_KEYS + 1 ? 0 : place; i <= place; i++) {
                const KeyEntry *key = &segment->keys[i];

                *look(segment, map_hash(key->id, REQUEST_ID_SIZE), key->id) = i + 1;
        }
        t->n_in_newest = segment->n;
        t->newest_us = segment->newest_us;
}

static int add(ClusterState *s, const uint8_t id[REQUEST_ID_SIZE], const RequestKey *key) {
        KeySegment *segment = newest(s);
        KeyEntry *entry;

        if (!segment)
                return -ENOMEM;
        entry = &segment->keys[segment->n];
        memcpy(entry->id, id, REQUEST_ID_SIZE);
        put_u64(entry->content, key->content);
        put_u64(entry->job, key->job | (key->given_up ? GIVEN_UP : 0));
        segment->newest_us = s->counted_us;
        index_next(&s->keys, segment);
        return 0;
}

static void drop_open(ClusterState *s, Argosy__OpenKey **at) {
        KeyTable *t = &s->keys;

        state_retire_message(s, *at);
        memmove(at, at + 1, (size_t) (t->open + --t->n_open - at) * sizeof *at);
}

// They stand in the order in which they were gone on with.
static Argosy__OpenKey **find_victim(ClusterState *s) {
        KeyTable *t = &s->keys;

        for (size_t i = 0; i < t->n_open; i++)
                if (!job_state_is_open(cluster_state_job_state(s, t->open[i]->job)))
                        return &t->open[i];
        return t->open;
}

static int give_up_one(ClusterState *s) {
        Argosy__OpenKey **victim = find_victim(s);
        RequestKey key = {.job = (*victim)->job, .content = (*victim)->content, .given_up = true};
        const KeyEntry *known = find(&s->keys, (*victim)->id.data);
        int r = known && is_given_up(known) ? 0 : add(s, (*victim)->id.data, &key);

        if (r == 0)
                drop_open(s, victim);
        return r;
}

static int add_open(ClusterState *s, const uint8_t id[REQUEST_ID_SIZE], const RequestKey *key) {
        Argosy__OpenKey open = ARGOSY__OPEN_KEY__INIT, *copy;
        KeyTable *t = &s->keys;
        int r = t->n_open == OPEN_KEYS_MAX ? give_up_one(s) : 0;

        if (r < 0)
                return r;
        open.id = (ProtobufCBinaryData){REQUEST_ID_SIZE, (uint8_t *) id};
        open.content = key->content;
        open.job = key->job;
        open.done = key->done;
        if (ARRAY_RESERVE(t->open, t->n_open + 1) < 0)
                return -ENOMEM;
        copy = message_copy(&open);
        if (!copy)
                return -ENOMEM;
        t->open[t->n_open++] = copy;
        return 0;
}

int state_put_key(ClusterState *s, const uint8_t id[REQUEST_ID_SIZE], const RequestKey *key) {
        Argosy__OpenKey **open = find_open(&s->keys, id);
        const KeyEntry *known = find(&s->keys, id);

        if (known && !open && job_of(known) != key->job)
                return 0;
        if (open)
                drop_open(s, open);
        if (key->more)
                return add_open(s, id, key);
        return known && !is_given_up(known) ? 0 : add(s, id, key);
}

void state_keys_done(ClusterState *s) {
        for (size_t i = 0; i < s->keys.n; i++)
                state_retire(s, s->keys.segments[i], sizeof *s->keys.segments[i]);
        while (s->keys.n_open > 0)
                drop_open(s, s->keys.open);
        free(s->keys.open);
        s->keys = (KeyTable){};
}

// ------------------------------------------------------------------------------------------------ the image

Argosy__KeySegment key_segment_image(const KeyTable *view, size_t i) {
        bool newest = i + 1 == view->n;
        KeyEntry *keys = view->segments[i]->keys;

        Argosy__KeySegment image = MESSAGE_OF(
                key_segment,
                .keys = (ProtobufCBinaryData){(newest ? view->n_in_newest : KEY_SEGMENT_SIZE) * sizeof *keys,
                                              (uint8_t *) keys},
                .newest_us = newest ? view->newest_us : view->segments[i]->newest_us);
        return image;
}

// None but the last has room, or it would not be where it is.
static bool fits(const ClusterState *s, const Argosy__KeySegment *image) {
        const KeyTable *t = &s->keys;
        const KeySegment *last = t->n > 0 ? t->segments[t->n - 1] : NULL;

        return t->n < KEY_SEGMENTS_MAX && image->keys.len > 0 && image->keys.len % sizeof(KeyEntry) == 0 &&
               image->keys.len / sizeof(KeyEntry) <= KEY_SEGMENT_SIZE && image->newest_us <= s->counted_us &&
               image->newest_us >= (last ? last->newest_us : t->forgotten_us) &&
               (!last || last->n == KEY_SEGMENT_SIZE);
}

// One stands there twice if it was given up.
static bool is_key(const ClusterState *s, const KeyEntry *key) {
        const KeyEntry *known = find(&s->keys, key->id);

        if (known && (job_of(known) != job_of(key) || is_given_up(known) == is_given_up(key)))
                return false;
        return job_of(key) > 0 && job_of(key) <= s->jobs.last && !find_open(&s->keys, key->id);
}

int state_load_keys(ClusterState *s, const Argosy__KeySegment *image) {
        KeySegment *segment;

        if (!fits(s, image))
                return -EBADMSG;
        segment = calloc(1, sizeof *segment);
        if (!segment)
                return -ENOMEM;
        s->keys.segments[s->keys.n++] = segment;
        segment->newest_us = image->newest_us;
        memcpy(segment->keys, image->keys.data, image->keys.len);
        while (segment->n < image->keys.len / sizeof *segment->keys) {
                const KeyEntry *key = &segment->keys[segment->n];

                if (!is_key(s, key))
                        return -EBADMSG;
                index_next(&s->keys, segment);
        }
        return 0;
}

int state_load_open_key(ClusterState *s, const Argosy__OpenKey *key) {
        RequestKey open = {.job = key->job, .content = key->content, .more = true, .done = key->done};

        const KeyEntry *known = key->id.len == REQUEST_ID_SIZE ? find(&s->keys, key->id.data) : NULL;

        if (key->id.len != REQUEST_ID_SIZE || s->keys.n_open == OPEN_KEYS_MAX ||
            find_open(&s->keys, key->id.data) || key->job == 0 || key->job > s->jobs.last ||
            (known && job_of(known) != key->job))
                return -EBADMSG;
        return add_open(s, key->id.data, &open);
}
