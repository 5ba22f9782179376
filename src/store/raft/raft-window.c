// SPDX-License-Identifier: LGPL-2.1-or-later

// What a leader has sent a member and the member has not taken.
//
// It is bounded: without that, a big state over a slow link fills the leader's memory. Losing a message is
// within Raft's rules; libraft tries again.
//
// And it is not sent twice (guard 23). To a member that has said nothing for one heartbeat, since it is busy
// with what it was sent, libraft sends all that it has not acknowledged, with each heartbeat again. Over a
// slow link entries of half a megabyte take longer than that, and their copies are then all that the link
// has time for: nothing is committed, and the leader is not heard. A connection keeps the order, so a repeat
// begins behind the last entry that was handed to the connection; where nothing is left of it, it is a
// heartbeat that names this entry. A member that lacks it, whatever became of it, says so by refusing, and
// then gets all. A connection that ends takes with it what was on its way.
//
// Tests: store/repeat (the rule), store/slow-link, integration/slow-links.

#include <stdlib.h>

#include "raft-store.h"

enum {
        WINDOW_BYTES = 8 * 1024 * 1024, // that one member has not taken; beyond it no more entries are sent
        REPEAT_BYTES = 64 * 1024,       // shorter messages cost nothing worth mentioning when they are sent
                                        // twice
};

typedef struct Send {
        struct raft_io_send ours;
        struct raft_io_send *req;
        raft_io_send_cb done;
        RaftStore *owner;
        SendWindow *window;
        size_t bytes;
} Send;

static SendWindow *find_window(RaftStore *s, uint32_t raft_id) {
        for (size_t i = 0; i < STORE_MEMBERS_MAX; i++)
                if (s->windows[i].raft_id == raft_id)
                        return &s->windows[i];
        return NULL;
}

// NULL: all are in use, by members of before whose connections libraft still waits for.
static SendWindow *make_window(RaftStore *s, uint32_t raft_id) {
        SendWindow *w = find_window(s, raft_id);

        for (size_t i = 0; !w && i < STORE_MEMBERS_MAX; i++)
                if (s->windows[i].bytes == 0 && !raft_member_find(s, s->windows[i].raft_id)) {
                        w = &s->windows[i];
                        *w = (SendWindow){.raft_id = raft_id};
                }
        return w;
}

// ---- what is on its way

static bool is_on_its_way(const RaftStore *s, const SendWindow *w, uint64_t term) {
        if (w->through == 0 || w->term != term)
                return false;
        return w->bytes > 0 ||
               (w->connection > 0 && w->connection == transport_connection(&s->transport, w->raft_id));
}

const struct raft_message *raft_window_skip(RaftStore *s, const struct raft_message *message,
                                            struct raft_message *ret_changed) {
        const struct raft_append_entries *m = &message->append_entries;
        struct raft_append_entries *rest = &ret_changed->append_entries;
        const SendWindow *w;
        unsigned n;

        w = message->type == RAFT_APPEND_ENTRIES ? find_window(s, (uint32_t) message->server_id) : NULL;
        if (!w || w->through <= m->prev_log_index || !is_on_its_way(s, w, m->term) ||
            raft_window_bytes(message) < REPEAT_BYTES)
                return message;
        n = (unsigned) MIN_OF(w->through - m->prev_log_index, (uint64_t) m->n_entries);
        *ret_changed = *message;
        rest->prev_log_index += n;
        rest->prev_log_term = m->entries[n - 1].term;
        rest->entries += n;
        rest->n_entries -= n;
        return ret_changed;
}

void raft_window_on_answer(RaftStore *s, uint32_t raft_id, const struct raft_append_entries_result *answer) {
        SendWindow *w = answer->rejected > 0 ? find_window(s, raft_id) : NULL;

        if (w)
                w->through = 0;
}

// ---- sending

size_t raft_window_bytes(const struct raft_message *message) {
        size_t bytes = 0;

        if (message->type == RAFT_INSTALL_SNAPSHOT)
                bytes = message->install_snapshot.data.len;
        else if (message->type == RAFT_APPEND_ENTRIES)
                for (unsigned i = 0; i < message->append_entries.n_entries; i++)
                        bytes += message->append_entries.entries[i].buf.len;
        return bytes;
}

static void on_sent(struct raft_io_send *ours, int status) {
        Send *send = ours->data;
        SendWindow *w = send->window;

        w->bytes -= send->bytes;
        if (status != 0)
                w->through = 0;
        else
                w->connection = transport_connection(&send->owner->transport, w->raft_id);
        send->done(send->req, status);
        free(send);
}

static bool has_room_for(const SendWindow *w, const struct raft_message *message) {
        return w->bytes == 0 || (message->type == RAFT_APPEND_ENTRIES && w->bytes <= WINDOW_BYTES);
}

int raft_window_send(RaftStore *s, struct raft_io_send *req, const struct raft_message *message,
                     size_t bytes, raft_io_send_cb done) {
        const struct raft_append_entries *m = &message->append_entries;
        SendWindow *w = make_window(s, (uint32_t) message->server_id);
        bool goes_on = w && is_on_its_way(s, w, m->term);
        Send *send;
        int r;

        if (!w)
                return s->uv_io.send(&s->io, req, message, done);
        send = has_room_for(w, message) ? malloc(sizeof(*send)) : NULL;
        if (!send) {
                done(req, RAFT_NOCONNECTION); // lost on the way
                return 0;
        }
        *send = (Send){.ours.data = send, .req = req, .done = done, .owner = s, .window = w, .bytes = bytes};
        w->bytes += bytes;
        r = s->uv_io.send(&s->io, &send->ours, message, on_sent);
        if (r != 0) {
                w->bytes -= bytes;
                free(send);
        } else if (message->type == RAFT_APPEND_ENTRIES) {
                w->term = m->term;
                w->through = MAX_OF(m->prev_log_index + m->n_entries, goes_on ? w->through : 0);
        }
        return r;
}
