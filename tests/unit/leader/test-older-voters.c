// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A cluster in the middle of an upgrade: a leader that knows everything, and voters that do not. Whatever is asked of it, the
// log and its snapshots have nothing that the oldest of them cannot read; and once all have the newer build, what is asked is
// kept as jobs. The requests are random messages of every kind that the leader answers, made from their descriptors, so
// that a kind or a field that comes later is among them.
//
// A failure prints its seed; `test-leader-older-voters SEED` plays that life alone.
#include "cluster-encoder.h"
#include "feature-skip.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "log.h"
#include "request-kind.h"

#define ONE "[Service]\nExecStart=/bin/sleep 1\n"
#define TWO "[Service]\nExecStart=/bin/sleep 2\n[X-Argosy]\nRole=web\n"

enum { LIVES = 100, STEPS = 120, HOSTS = 4, DEPTH = 3, PIECES_MAX = 1024 };

static Rig g;
static unsigned seed, random_state;
static void *pieces[PIECES_MAX]; // of the request that is made
static size_t n_pieces;
static unsigned n_changed;   // requests that came back well and were to change something
static unsigned n_with_jobs; // lives at whose end there were jobs

static unsigned dice(unsigned n) {
        random_state = random_state * 1103515245u + 12345u;
        return (random_state >> 16) % n;
}

// ------------------------------------------------------------------------------------------------ random requests

static void *piece(size_t size) {
        void *p = calloc(1, size);

        assert_non_null(p);
        assert_true(n_pieces < PIECES_MAX);
        return pieces[n_pieces++] = p;
}

static char *some_hash(void) {
        const char *content = dice(2) ? ONE : TWO;
        Hash hash = hash_of(content, strlen(content));
        char *hex = piece(HASH_HEX_SIZE);

        hash_hex(&hash, HASH_SIZE, hex);
        return hex;
}

static char *some_text(const char *field) {
        static const char *const units[] = {"a.service", "b.service", "w@.service", "w@1.service",
                                            "w@2.service"};
        static const char *const words[] = {"",          "n2",  "n3",    "web",   "shop",
                                            "a.service", "w@*", "alice", "nobody"};

        if (streq(field, "revs") || streq(field, "rev"))
                return some_hash();
        if (strstr(field, "name") || strstr(field, "unit") || strstr(field, "path"))
                return (char *) units[dice(ELEMENTSOF(units))];
        return (char *) words[dice(2) ? dice(ELEMENTSOF(words)) : 0];
}

static ProtobufCBinaryData some_bytes(const char *field) {
        const char *content = dice(2) ? ONE : TWO;
        uint8_t *bytes;

        if (streq(field, "content"))
                return (ProtobufCBinaryData){strlen(content), (uint8_t *) content};
        if (dice(8) == 0)
                return (ProtobufCBinaryData){};
        bytes = piece(HASH_SIZE);
        if (streq(field, "id")) {
                bytes[0] = (uint8_t) dice(200);
                bytes[15] = 1; // nobody else's
                return (ProtobufCBinaryData){16, bytes};
        }
        *(Hash *) (void *) bytes = hash_of(content, strlen(content));
        return (ProtobufCBinaryData){HASH_SIZE, bytes};
}

static ProtobufCMessage *some_message(const ProtobufCMessageDescriptor *type, unsigned depth);

static void some_value(const ProtobufCFieldDescriptor *f, void *at, unsigned depth) {
        switch (f->type) {
        case PROTOBUF_C_TYPE_STRING:
                *(char **) at = some_text(f->name);
                break;
        case PROTOBUF_C_TYPE_BYTES:
                *(ProtobufCBinaryData *) at = some_bytes(f->name);
                break;
        case PROTOBUF_C_TYPE_MESSAGE:
                *(ProtobufCMessage **) at = some_message(f->descriptor, depth + 1);
                break;
        case PROTOBUF_C_TYPE_ENUM: {
                const ProtobufCEnumDescriptor *e = f->descriptor;

                *(int *) at = e->values[dice(e->n_values)].value;
                break;
        }
        case PROTOBUF_C_TYPE_BOOL:
                *(protobuf_c_boolean *) at = dice(4) == 0;
                break;
        case PROTOBUF_C_TYPE_UINT64:
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_FIXED64:
                *(uint64_t *) at = dice(3) ? 0 : dice(40);
                break;
        default:
                *(uint32_t *) at = dice(3) ? 0 : dice(40);
        }
}

static size_t size_of(const ProtobufCFieldDescriptor *f) {
        switch (f->type) {
        case PROTOBUF_C_TYPE_BYTES:
                return sizeof(ProtobufCBinaryData);
        case PROTOBUF_C_TYPE_BOOL:
                return sizeof(protobuf_c_boolean);
        case PROTOBUF_C_TYPE_STRING:
        case PROTOBUF_C_TYPE_MESSAGE:
        case PROTOBUF_C_TYPE_UINT64:
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_FIXED64:
                return sizeof(uint64_t);
        default:
                return sizeof(uint32_t);
        }
}

static void some_list(const ProtobufCFieldDescriptor *f, ProtobufCMessage *m, unsigned depth) {
        size_t n = dice(4), size = size_of(f);
        char *items = piece(n * size + 1);

        static_assert(sizeof(char *) == sizeof(uint64_t));
        for (size_t i = 0; i < n; i++)
                some_value(f, items + i * size, depth);
        *(size_t *) (void *) ((char *) m + f->quantifier_offset) = n;
        *(void **) (void *) ((char *) m + f->offset) = items;
}

// Of a choice nothing, but of messages in messages always everything: what is not there is no news.
static ProtobufCMessage *some_message(const ProtobufCMessageDescriptor *type, unsigned depth) {
        ProtobufCMessage *m = piece(type->sizeof_message);

        protobuf_c_message_init(type, m);
        for (unsigned i = 0; i < type->n_fields && depth <= DEPTH; i++) {
                const ProtobufCFieldDescriptor *f = &type->fields[i];

                if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
                        continue;
                if (f->label == PROTOBUF_C_LABEL_REPEATED)
                        some_list(f, m, depth);
                else if (f->type != PROTOBUF_C_TYPE_MESSAGE || dice(2))
                        some_value(f, (char *) m + f->offset, depth);
        }
        return m;
}

// Who is a member is another story, and its requests are older than all levels.
static bool is_for_this(const RequestKind *kind) {
        static const char *const not [] = {"join", "cluster_remove", "cluster_role", "cluster_voters"};

        for (size_t i = 0; i < ELEMENTSOF(not ); i++)
                if (kind && streq(kind->name, not [i]))
                        return false;
        return kind && kind->by == REQUEST_BY_LEADER;
}

static const ProtobufCFieldDescriptor *some_kind(void) {
        for (;;) {
                const ProtobufCFieldDescriptor *f =
                        &argosy__request__descriptor.fields[dice(argosy__request__descriptor.n_fields)];

                if (is_for_this(request_kind((Argosy__Request__WhatCase) f->id)))
                        return f;
        }
}

static RigAnswer *ask_something(void) {
        const ProtobufCFieldDescriptor *f = some_kind();
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        RigAnswer *a;

        q.what_case = (Argosy__Request__WhatCase) f->id;
        *(ProtobufCMessage **) (void *) ((char *) &q + f->offset) = some_message(f->descriptor, 0);
        if (dice(2))
                q.job = (Argosy__Request__Job *) some_message(&argosy__request__job__descriptor, 0);
        a = rig_ask(&g, &q);
        while (n_pieces > 0)
                free(pieces[--n_pieces]);
        return a;
}

// One that is sure to be good, so that there is something that the others can be about.
static RigAnswer *change_something(void) {
        static const char *const units[] = {"a.service", "b.service", "w@1.service"};
        static const Argosy__Verb verbs[] = {ARGOSY__VERB__VERB_START, ARGOSY__VERB__VERB_STOP,
                                             ARGOSY__VERB__VERB_DESTROY};

        return rig_change_with(&g, verbs[dice(ELEMENTSOF(verbs))], units[dice(ELEMENTSOF(units))],
                               dice(2) ? ONE : TWO, dice(2), NULL);
}

// ------------------------------------------------------------------------------------------------ lives

static void install(uint32_t host) {
        rig_host_off(&g, host);
        rig_host(&g, host)->feature_level = FEATURE_NEWEST;
        rig_host_on(&g, host, false);
        rig_settle(&g);
        rig_pass_ms(&g, RIG_BEAT_MS);
}

// By a voter that reads no more than `level`.
static void assert_image_is_readable(uint32_t level) {
        ClusterState *older = cluster_state_new();
        _cleanup_buf_ Buf image = {};
        int r;

        cluster_state_set_build_level(older, level);
        assert_int_equal(cluster_state_encode(g.state, &image), 0);
        r = cluster_state_restore(older, image.data, image.len);
        if (r < 0)
                fail_msg("seed %u: a voter of level %u cannot read the snapshot: %s", seed, level,
                         cluster_state_unreadable(older));
        cluster_state_free(older);
}

static void step(void) {
        RigAnswer *a = NULL;
        bool sure = false;

        switch (dice(8)) {
        case 0:
                rig_depose(&g);
                rig_turns(&g, 3);
                rig_elect(&g);
                break;
        case 1:
                rig_pass_ms(&g, 100 + dice(RIG_BEAT_MS));
                break;
        case 2:
                a = change_something();
                sure = true;
                break;
        default:
                a = ask_something();
        }
        rig_settle(&g);
        // What cannot be kept is left out, and nothing refused for it; but for a limit that somebody has just set.
        if (sure && rig_last(a)->status != 0 && cluster_state_queue(g.state)->open_max == 0)
                fail_msg("seed %u: %s", seed, rig_last(a)->message);
        if (a && a->error == 0 && !a->final)
                leader_cancel(g.leader, a->cancel);
        n_changed += a && a->final && rig_last(a)->status == 0;
}

// The state is one of the oldest voter's: what that cannot read it does not apply, which ends the test.
static void live(unsigned s) {
        unsigned newest = 2;

        seed = random_state = s;
        rig_start_at(&g, HOSTS, FEATURE_BASE);
        cluster_state_set_build_level(g.state, FEATURE_BASE);
        for (unsigned i = 0; i < STEPS; i++) {
                step();
                if (newest < HOSTS && dice(STEPS / 8) == 0)
                        install(newest++);
        }
        assert_image_is_readable(FEATURE_BASE);
        if (cluster_state_last_job(g.state) || cluster_state_access_revision(g.state))
                fail_msg("seed %u: there are jobs or rights that an older voter does not know", seed);
        cluster_state_set_build_level(g.state, FEATURE_NEWEST);
        while (newest <= HOSTS)
                install(newest++);
        assert_int_equal(cluster_state_feature_level(g.state), FEATURE_NEWEST);
        for (unsigned i = 0; i < STEPS; i++)
                step();
        assert_image_is_readable(FEATURE_NEWEST);
        n_with_jobs += cluster_state_last_job(g.state) > 0;
        rig_stop(&g);
}

static void the_log_has_what_its_oldest_voter_can_read(void **state) {
        SKIP_BELOW(FEATURE_NEWEST);
        for (unsigned s = 1; s <= LIVES; s++)
                live(s);
        print_message("%u requests were answered well, and there were jobs in %u lives\n", n_changed, n_with_jobs);
        assert_true(n_changed > LIVES * STEPS / 4); // it is not about refusals
        assert_true(n_with_jobs > LIVES * 9 / 10);  // in a few lives nobody asks for anything that can be done
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_log_has_what_its_oldest_voter_can_read),
        };

        log_set_level(LOG_ERR);
        if (argc > 1) {
                live((unsigned) atoi(argv[1]));
                return 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
