// SPDX-License-Identifier: LGPL-2.1-or-later

// Guard 30: entries that libraft has lent to its disk and network code.
//
// It counts who holds an entry by index and term, also after the entry was truncated. If the same one comes
// again while somebody holds it from before, its log refuses it (RAFT_BUSY), and nobody is told: its other
// half, the trail of terms, has taken the entry. From then on this server says that it has all that it is
// sent, never stores any of it, and crashes at the next entry that is new to both.
//
// By Raft's rules that takes five voters: one leads and has an entry on two, another one is elected by the
// other three and replaces it on one of these, and then the second of the two leads. The entry is still
// being written, or sent over a slow link, where it was replaced.
//
// So a message ends before such an entry, as if the rest had been lost; the leader sends that again.

#include <stdlib.h>

#include "raft-store.h"

typedef struct LentSend {
        Lent lent;
        struct raft_io_send ours;
        struct raft_io_send *req;
        raft_io_send_cb done;
} LentSend;

void raft_lent_begin(RaftStore *s, Lent *lent, raft_index index, const struct raft_entry *entries,
                     unsigned n) {
        *lent = (Lent){.index = index, .entries = entries, .n = n, .cut = index + n};
        list_append(&s->lent, &lent->node);
}

void raft_lent_end(Lent *lent) {
        list_unlink(&lent->node);
}

void raft_lent_note_truncation(RaftStore *s, raft_index index) {
        list_foreach (i, &s->lent) {
                Lent *lent = CONTAINER_OF(i, Lent, node);

                lent->cut = MIN_OF(lent->cut, index);
        }
}

static bool is_held_from_before(const RaftStore *s, raft_index index, raft_term term) {
        list_foreach (i, &s->lent) {
                const Lent *lent = CONTAINER_OF(i, Lent, node);

                if (index >= lent->cut && index >= lent->index && index - lent->index < lent->n &&
                    lent->entries[index - lent->index].term == term)
                        return true;
        }
        return false;
}

static unsigned count_up_to_held(const RaftStore *s, const struct raft_append_entries *m) {
        for (unsigned i = 0; i < m->n_entries; i++)
                if (is_held_from_before(s, m->prev_log_index + 1 + i, m->entries[i].term))
                        return i;
        return m->n_entries;
}

void raft_lent_cut_message(const RaftStore *s, struct raft_append_entries *m) {
        unsigned n = count_up_to_held(s, m);

        if (n == 0 && m->n_entries > 0) {
                raft_free(m->entries[0].batch);
                raft_free(m->entries);
                m->entries = NULL;
        }
        m->n_entries = n;
}

// ---- sending

static void on_sent(struct raft_io_send *ours, int status) {
        LentSend *send = CONTAINER_OF(ours, LentSend, ours);

        raft_lent_end(&send->lent);
        send->done(send->req, status);
        free(send);
}

int raft_lent_send(RaftStore *s, struct raft_io_send *req, const struct raft_message *message,
                   raft_io_send_cb done, RaftSend *pass) {
        const struct raft_append_entries *m = &message->append_entries;
        LentSend *send;
        int r;

        if (message->type != RAFT_APPEND_ENTRIES || m->n_entries == 0)
                return pass(s, req, message, done);
        send = malloc(sizeof(*send));
        if (!send) {
                done(req, RAFT_NOCONNECTION); // lost on the way
                return 0;
        }
        send->req = req;
        send->done = done;
        raft_lent_begin(s, &send->lent, m->prev_log_index + 1, m->entries, m->n_entries);
        r = pass(s, &send->ours, message, on_sent);
        if (r != 0) {
                raft_lent_end(&send->lent);
                free(send);
        }
        return r;
}
