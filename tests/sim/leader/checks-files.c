// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of files that hosts are sent in pieces: a host gets those of units that it is to have, by the log or
// by an update of theirs, or that it was told to have, and no others.
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "hash.h"
#include "test.h"

static bool has_file(const Hash *spec, const uint8_t *file) {
        const WorldContent *c = world_content_find(spec->bytes);

        for (unsigned i = 0; c && i < c->n_files; i++) {
                ProtobufCBinaryData body = world_body(c->files[i]);
                Hash hash = hash_of(body.data, body.len);

                if (memcmp(hash.bytes, file, HASH_SIZE) == 0)
                        return true;
        }
        return false;
}

static bool is_there(const LogUnit *u, uint32_t host) {
        return u->exists && (u->global || places_host_of(u->node) == host);
}

// The unit has a content with that file, or is about to get one.
static bool names_file(const LogUnit *u, unsigned i, const uint8_t *file) {
        const LogRollout *o = log_rollout_of(log_truth.rollouts, i);

        return has_file(&u->spec, file) ||
               (o && (has_file(&o->spec, file) || has_file(&o->spec_before, file)));
}

static bool may_have(uint32_t host, const uint8_t *file) {
        for (unsigned i = 0; i < asks.n_units; i++) {
                const VirtualUnit *v =
                        virtual_host_find(&rig_host(&world.rig, host)->virtual, asks.units[i].name);

                if (is_there(&log_truth.units[i], host) && names_file(&log_truth.units[i], i, file))
                        return true;
                // until it has the files it does not go by the order
                if (v && (v->ordered || list_is_linked(&v->awaits)) && has_file(&v->order.spec, file))
                        return true;
        }
        return false;
}

void files_on_order(uint32_t host, const Argosy__ToHost *m) {
        const Argosy__ToHost__FilePiece *p =
                m->msg_case == ARGOSY__TO_HOST__MSG_FILE_PIECE ? m->file_piece : NULL;

        if (!p || p->hash.len != HASH_SIZE || !p->there || host > asks.swarm.hosts)
                return;
        check_says("files-are-ones-own");
        if (!may_have(host, p->hash.data))
                check_fail("files-are-ones-own", "n%u is sent a file of %zu bytes that no unit of it names",
                           host, p->piece.len);
}
