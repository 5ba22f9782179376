// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A host that was told of a unit whose content names files asks for those that it does not have, by their
// hashes, one piece after the other: so at most one piece is on its way to a host, and a slow link sets the
// pace. What another leader has begun goes on.
//
//      asked -> noted, one piece of each host -> at the end of a turn the pieces of some hosts leave, in the
//      order in which they asked
//
// All hosts may ask in the same turn, and what they get is packed and encrypted in it: hence some. A host
// that has much to take by then gets its piece when it takes more. A session that ends takes its question
// along.
//
// A host gets only files of units that it was told to have: it says which unit a file is for, and all that
// it asks for beside that is said to be not there, as is what is not there any more. That is judged when a
// piece leaves: the log may have gone on since it was asked for. Cost: a look-up, and one comparison for
// each file of that unit.

#include "file-pieces.h"

#include "cluster-state.h"
#include "host-link.h"
#include "host-marks.h"
#include "message-of.h"
#include "registry.h"
#include "rollout-content.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-name.h"
#include "unit-on-node.h"

// Under the host's system manager: no other has units with files. An order that is held back has not brought
// another content yet.
static bool is_reported_to_have(const Host *h, const Unit *u, uint32_t *ret_node) {
        list_foreach (i, &h->nodes) {
                const Node *n = CONTAINER_OF(i, Node, of_host);
                const UnitOnNode *s = streq(n->manager, "system") ? unit_on_node_find(u, n) : NULL;

                if (!s)
                        continue;
                *ret_node = n->number;
                return unit_on_node_is_to_have(s);
        }
        return false;
}

static bool may_have(const Leader *l, const Host *h, const char *unit, const Hash *hash) {
        const UnitEntry *e = cluster_state_find_unit(l->state, unit);
        const SpecEntry *file = cluster_state_find_spec(l->state, hash);
        const Unit *u = unit_find(l, unit);
        uint32_t node;

        if (!e || !file || !u || !is_reported_to_have(h, u, &node))
                return false;
        return spec_entry_names(e->spec, file) || spec_entry_names(rollout_content(l, e, node).spec, file);
}

static void send_piece(Leader *l, Host *h) {
        const FileQuestion *q = &h->ordering.file_question;
        const SpecEntry *file =
                may_have(l, h, q->unit, &q->hash) ? cluster_state_find_spec(l->state, &q->hash) : NULL;
        Argosy__ToHost__FilePiece piece = MESSAGE_OF(
                to_host__file_piece, .hash = (ProtobufCBinaryData){HASH_SIZE, (uint8_t *) q->hash.bytes},
                .from = q->from);
        Argosy__ToHost m = TO_HOST_OF(FILE_PIECE, file_piece, &piece);

        if (file && file->is_file && q->from <= file->len) {
                piece.size = file->len;
                piece.there = true;
                piece.piece.data = file->content + q->from;
                piece.piece.len = MIN_OF(file->len - q->from, (size_t) l->limits.file_piece_bytes);
        }
        (void) leader_to_host(l, h, &m);
}

void file_pieces_on_ask(Leader *l, Host *h, const Argosy__ToVoter__FileAsk *ask) {
        FileQuestion *q = &h->ordering.file_question;
        bool is_hash = hash_from_bytes(ask->hash.data, ask->hash.len, &q->hash);

        str_fit(q->unit, sizeof(q->unit), "%s",
                is_hash && strlen(ask->unit) <= UNIT_NAME_MAX ? ask->unit : "");
        q->from = ask->from;
        q->held = false;
        host_mark_now(l, h, HOST_FILE_QUESTION);
}

void file_pieces_on_drained(Leader *l, Host *h) {
        if (!h->ordering.file_question.held)
                return;
        h->ordering.file_question.held = false;
        host_mark(l, h, HOST_FILE_QUESTION);
}

void file_pieces_on_session_ended(Host *h) {
        h->ordering.file_question.held = false;
        host_unmark(h, HOST_FILE_QUESTION);
}

void file_pieces_turn(Leader *l) {
        Host *h;

        for (unsigned n = 0; n < l->limits.file_pieces && (h = host_take_marked(l, HOST_FILE_QUESTION));) {
                h->ordering.file_question.held = l->ops.host_is_full(h->number, l->userdata);
                if (h->ordering.file_question.held)
                        continue;
                send_piece(l, h);
                n++;
        }
        if (hosts_have_mark(l, HOST_FILE_QUESTION))
                leader_mark(l);
}
