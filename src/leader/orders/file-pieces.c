// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A host that was told of a unit whose content names files asks for those that it does not have, by their hashes, one piece after the other: so
// at most one piece is on its way to a host, a slow link sets the pace, and nothing is remembered here. What another leader has begun goes on.
//
// Only what a content names as a file is given out, and what is not there any more is said to be not there.

#include "file-pieces.h"

#include "cluster-state.h"
#include "host-link.h"
#include "tables.h"

static const SpecEntry *find_file(const Leader *l, const ProtobufCBinaryData *field) {
        const SpecEntry *spec;
        Hash hash;

        spec = hash_from_bytes(field->data, field->len, &hash) ? cluster_state_find_spec(l->state, &hash) : NULL;
        return spec && spec->is_file ? spec : NULL;
}

void file_pieces_on_ask(Leader *l, Host *h, const Argosy__ToVoter__FileAsk *ask) {
        const SpecEntry *file = find_file(l, &ask->hash);
        Argosy__ToHost__FilePiece piece = ARGOSY__TO_HOST__FILE_PIECE__INIT;
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;

        piece.hash = ask->hash;
        piece.from = ask->from;
        if (file && ask->from <= file->len) {
                piece.size = file->len;
                piece.there = true;
                piece.piece.data = file->content + ask->from;
                piece.piece.len = MIN_OF(file->len - ask->from, (size_t) FILE_PIECE_BYTES);
        }
        m.msg_case = ARGOSY__TO_HOST__MSG_FILE_PIECE;
        m.file_piece = &piece;
        (void) leader_to_host(l, h, &m);
}
