// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Words of tests about an agent whose units have files of their own.

#include "agent-world.h"

#include "agent-private.h"
#include "buf.h"
#include "carried-files.h"
#include "clock.h"
#include "messages.h"
#include "plan.h"
#include "printed.h"

enum { PIECE = 64 * 1024, LARGE = 2 * PIECE + 1000 };

static uint8_t small[] = "COLOUR=red\n";

// What the test answers with, and its file with the manifest of one file: fake PID 1 runs it as any other.
typedef struct Carried {
        const char *unit;
        const uint8_t *bytes;
        size_t len;
        Hash hash;
        Buf content; // with a zero behind it
} Carried;

static inline void carried_done(Carried *c) {
        buf_done(&c->content);
}

static inline Carried carried_beside(const char *unit, const char *text, const uint8_t *bytes, size_t len) {
        _cleanup_carried_files_ CarriedFiles files = {};
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        _cleanup_free_ char *why = NULL;
        Carried c = {.unit = unit, .bytes = bytes, .len = len, .hash = hash_of(bytes, len)};

        assert_int_equal(unit_file_parse(unit, text, strlen(text), &file, &why), 0);
        assert_int_equal(carried_files_add(&files, "data", false, len, &c.hash), 0);
        assert_int_equal(buf_append(&c.content, text, strlen(text)), 0);
        assert_int_equal(carried_files_compose(unit, file, &files, &c.content, &why), 0);
        assert_int_equal(buf_append(&c.content, "", 1), 0);
        return c;
}

static inline Carried carried(const char *unit, const uint8_t *bytes, size_t len) {
        return carried_beside(unit, "[Service]\nExecStart=/bin/sleep 3\n[X-Argosy]\nFile=data\n", bytes,
                              len);
}

static inline void order(const Carried *c, uint64_t revision) {
        send_order((Order){.name = c->unit,
                           .content = (const char *) c->content.data,
                           .revision = revision,
                           .start = revision});
}

static inline void meet(const Carried *c, uint64_t revision) {
        const Order o = {.name = c->unit,
                         .content = (const char *) c->content.data,
                         .revision = revision,
                         .start = revision};

        w.term++;
        meet_leader(&o, 1);
}

// ---------------------------------------------------------------------------------------- the leader's side

static inline void send_piece(const Hash *hash, uint64_t from, uint64_t size, const uint8_t *bytes,
                              size_t len, bool there) {
        Argosy__ToHost__FilePiece piece = MESSAGE_OF(
                to_host__file_piece, .hash = (ProtobufCBinaryData){HASH_SIZE, (uint8_t *) hash->bytes},
                .from = from, .size = size, .piece = (ProtobufCBinaryData){len, (uint8_t *) bytes},
                .there = there);
        Argosy__ToHost m =
                MESSAGE_OF(to_host, .msg_case = ARGOSY__TO_HOST__MSG_FILE_PIECE, .file_piece = &piece);

        agent_on_message(w.agent, &m);
}

// As the leader does it.
static inline void answer(const Carried *c) {
        uint64_t from = w.file_asked_from;

        assert_true(hash_equal(&w.file_asked, &c->hash));
        send_piece(&c->hash, from, c->len, c->bytes + from, MIN_OF(c->len - from, (size_t) PIECE), true);
}

static inline void await_ask(unsigned number) {
        loop_until(w.n_file_asks >= number);
        assert_int_equal(w.n_file_asks, number);
}

// ---------------------------------------------------------------------------------------------- on the disk

static inline bool is_there(const char *path) {
        return access(printed("%s/%s", w.dir, path), F_OK) == 0;
}

static inline bool store_has(const Carried *c) {
        char hex[HASH_HEX_SIZE];
        _cleanup_free_ char *path = NULL;

        hash_hex(&c->hash, HASH_SIZE, hex);
        path = str_printf("files/%s", hex);
        return is_there(path);
}

static inline void answer_all(const Carried *c, uint64_t revision) {
        for (unsigned n = w.n_file_asks; !store_has(c); n++) {
                answer(c);
                loop_until(store_has(c) || w.n_file_asks > n);
        }
        loop_until(answered(c->unit, revision));
}

static inline const char *error_of(const char *unit) {
        const Argosy__UnitReport *r = report_of(unit);

        return r && r->error ? r->error : "";
}

static inline AgentUnit *find(const char *unit) {
        return agent_unit_find(CONTAINER_OF(w.agent->nodes.next, AgentNode, in_agent), unit);
}

// The same word is reported once.
static inline void await_failure(const char *unit, unsigned number, const char *why) {
        loop_until(find(unit) && find(unit)->work && find(unit)->work->failures == number);
        loop_until(*error_of(unit));
        assert_string_equal(error_of(unit), why);
}

static inline void try_again_now(const char *unit) {
        AgentUnit *u = find(unit);

        assert_non_null(u->work);
        assert_true(u->work->retry_us > 0);
        u->work->retry_us = clock_boot_us();
        agent_unit_mark(u);
}
