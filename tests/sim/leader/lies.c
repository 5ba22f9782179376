// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a host says that has got its key and no agent: any message of ToVoter, made from the descriptors of
// the protocol, well-formed, with names, numbers and contents of this cluster or of none. A new kind of
// message or field comes by itself. What follows from such words is no fault of the leader's as far as that
// host is concerned (RigHost.lies); it is one if the leader ends, or does another host harm.
#include <string.h>

#include "asks-private.h"
#include "message.h"
#include "test.h"
#include "world.h"

enum { DEPTH_MAX = 5, LIST_MAX = 3 };

static void fill(Draw *d, ProtobufCMessage *m, unsigned depth);

static uint64_t draw_number(Draw *d) {
        switch (draw_below(d, 8)) {
        case 0:
                return 0;
        case 1:
                return 1 + draw_below(d, asks.swarm.hosts + 1);
        case 2:
                return cluster_state_revision(world.rig.state) + draw_below(d, 3) - 1;
        case 3:
                return asks_job(d);
        case 4:
                return UINT64_MAX - draw_below(d, 2);
        case 5:
                return world.rig.wall_us / (draw_one_in(d, 2) ? 1 : 1000);
        case 6:
                return draw_below(d, 8);
        default:
                return draw_log(d, 1, UINT64_MAX / 2);
        }
}

static char *draw_text(Draw *d, const char *of) {
        static const char *const any[] = {"",         "system",  "alice", "n1",       "zone",
                                          "a",        "n9",      "-",     "..",       "/etc/passwd",
                                          "10.0.0.1", "x.timer", "%n",    "@.service"};
        bool is_unit = strstr(of, "unit") || strstr(of, "name");

        if (is_unit && draw_below(d, 4) > 0)
                return (char *) world_unit_draw(d)->name;
        if (draw_one_in(d, 32)) {
                size_t len = (size_t) draw_log(d, 1, 20000);

                return memset(asks_alloc(len + 1), 'a', len);
        }
        return draw_one_in(d, 3) ? (char *) asks_node(d) : (char *) DRAW_PICK(d, any);
}

static ProtobufCBinaryData draw_bytes(Draw *d) {
        size_t len = draw_one_in(d, 3) ? draw_below(d, 80) : draw_one_in(d, 2) ? HASH_SIZE : 16;
        uint8_t *data = asks_alloc(len + 1);

        if (asks.n_contents > 0 && draw_one_in(d, 2))
                return (ProtobufCBinaryData){
                        HASH_SIZE,
                        memcpy(asks_alloc(HASH_SIZE),
                               asks.contents[draw_below(d, (unsigned) asks.n_contents)].hash.bytes,
                               HASH_SIZE)};
        for (size_t i = 0; i < len; i++)
                data[i] = (uint8_t) draw_word(d);
        return (ProtobufCBinaryData){len, data};
}

static ProtobufCMessage *draw_message(Draw *d, const ProtobufCMessageDescriptor *type, unsigned depth) {
        ProtobufCMessage *m = asks_alloc(type->sizeof_message);

        protobuf_c_message_init(type, m);
        fill(d, m, depth);
        return m;
}

static void draw_value(Draw *d, const ProtobufCFieldDescriptor *f, void *at, unsigned depth) {
        switch (f->type) {
        case PROTOBUF_C_TYPE_ENUM: {
                const ProtobufCEnumDescriptor *e = f->descriptor;

                *(int *) at = draw_one_in(d, 16) ? (int) draw_below(d, 1000)
                                                 : e->values[draw_below(d, e->n_values)].value;
                break;
        }
        case PROTOBUF_C_TYPE_BOOL:
                *(protobuf_c_boolean *) at = draw_one_in(d, 2);
                break;
        case PROTOBUF_C_TYPE_STRING:
                *(char **) at = draw_text(d, f->name);
                break;
        case PROTOBUF_C_TYPE_BYTES:
                *(ProtobufCBinaryData *) at = draw_bytes(d);
                break;
        case PROTOBUF_C_TYPE_MESSAGE:
                *(ProtobufCMessage **) at = draw_message(d, f->descriptor, depth + 1);
                break;
        default:
                if (message_field_size(f->type) == sizeof(uint64_t))
                        *(uint64_t *) at = draw_number(d);
                else
                        *(uint32_t *) at = (uint32_t) draw_number(d);
        }
}

static void draw_list(Draw *d, const ProtobufCFieldDescriptor *f, ProtobufCMessage *m, unsigned depth) {
        size_t n = draw_below(d, LIST_MAX + 1), size = message_field_size(f->type);
        char *values = n > 0 ? asks_alloc(n * size) : NULL;

        for (size_t i = 0; i < n; i++)
                draw_value(d, f, values + i * size, depth);
        *(size_t *) ((char *) m + f->quantifier_offset) = n;
        *(void **) ((char *) m + f->offset) = values;
}

static void draw_field(Draw *d, const ProtobufCFieldDescriptor *f, ProtobufCMessage *m, unsigned depth) {
        if (f->type == PROTOBUF_C_TYPE_MESSAGE && depth >= DEPTH_MAX)
                return;
        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
                draw_list(d, f, m, depth);
                return;
        }
        if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) // the last one that is drawn is it
                *(uint32_t *) ((char *) m + f->quantifier_offset) = f->id;
        draw_value(d, f, (char *) m + f->offset, depth);
}

static void fill(Draw *d, ProtobufCMessage *m, unsigned depth) {
        const ProtobufCMessageDescriptor *type = m->descriptor;
        const ProtobufCFieldDescriptor *one = NULL;
        unsigned n_of_one = 0;

        for (unsigned i = 0; i < type->n_fields; i++) {
                const ProtobufCFieldDescriptor *f = &type->fields[i];

                if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
                        if (draw_one_in(d, ++n_of_one))
                                one = f;
                } else if (draw_below(d, 4) > 0)
                        draw_field(d, f, m, depth);
        }
        if (one)
                draw_field(d, one, m, depth);
}

// Who asks by way of this host is nobody of whom it is known what he may do: what he asked would be his
// right, and no lie.
static void ask_as_a_stranger(Argosy__ToVoter *m) {
        if (m->msg_case != ARGOSY__TO_VOTER__MSG_FORWARD)
                return;
        m->forward->author = ASKS_NEW(Argosy__Author, argosy__author__init);
        m->forward->author->uid = 1000 + AUTHOR_STRANGER;
        m->forward->author->user = (char *) world_authors[AUTHOR_STRANGER];
}

// What is about a unit of this host is believed more often if the rest of it is true.
static void make_likely(Draw *d, const RigHost *h, Argosy__ToVoter *m) {
        Argosy__UnitReport **reports = NULL;
        size_t n = 0;

        if (m->msg_case == ARGOSY__TO_VOTER__MSG_REPORTS) {
                reports = m->reports->reports;
                n = m->reports->n_reports;
        } else if (m->msg_case == ARGOSY__TO_VOTER__MSG_ATTACH) {
                reports = m->attach->held;
                n = m->attach->n_held;
                m->attach->parts &= draw_one_in(d, 4);
        } else if (m->msg_case == ARGOSY__TO_VOTER__MSG_CALL_REPLY && draw_one_in(d, 2))
                m->call_reply->id = h->last_call;
        for (size_t i = 0; i < n; i++)
                if (draw_below(d, 4) > 0)
                        reports[i]->node = h->virtual.node;
}

Argosy__ToVoter *lies_draw(Draw *d, const RigHost *h) {
        Argosy__ToVoter m = ARGOSY__TO_VOTER__INIT, *ret;

        fill(d, &m.base, 0);
        ask_as_a_stranger(&m);
        make_likely(d, h, &m);
        ret = message_copy(&m);
        arena_reset(&asks.arena);
        assert_non_null(ret);
        return ret;
}
