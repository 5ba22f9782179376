// SPDX-License-Identifier: LGPL-2.1-or-later

// A gate before the disk. libraft writes terms and votes in the loop, and begins to write entries there. On a
// disk that hangs, or a file system that is frozen for a moment (a snapshot of the machine, a backup), the loop
// would hang with it: no beats, no heartbeats, a new leader, and units moved from a machine on which all is well.
//
// So whatever makes libraft write waits here until a worker has got through to the file system:
//
//   append, truncate    in their order; then they are libraft's
//   messages            that bring a new term, ask for a vote, win an election, hand over the lead or bring a
//                       snapshot. All others pass: heartbeats of the leader are answered as ever
//   ticks               of a candidate, who would try again with a new term
//
// While it is closed, this server is a voter that is slow to vote and slow to store: the others have a majority
// or they do not. A leader goes on leading. What the others commit is committed; it answers, and its own log
// follows later. It does not hand over for that: the next term would have to be written to this very disk, by
// the loop, before anything else could go on here. After STORE_STUCK_MS raft-disk.c ends the process.
//
// The gate costs one turn of a worker for all that is written in one turn of the loop, and nothing while libraft has
// entries under way: it begins with more only when the disk has taken those, and that is as good as the worker's word.
// A disk that begins to hang between such an answer and libraft's call is not noticed; that is microseconds in an hour.
//
// Messages are lost rather than kept without limit, and of snapshots, which may be long, all but one; Raft sends them
// again.
//
// Tests: store/cluster, integration/slow-disks.

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "raft-store.h"
#include "str.h"

enum { GATE_MESSAGES_MAX = 16 };

#define GATE_FILE "gate" // empty; libraft leaves names alone that it does not know

typedef struct Write { // an append, until libraft's disk code has answered it, or a truncation (req NULL)
        ListNode node;
        RaftStore *owner;
        struct raft_io_append ours; // what libraft's disk code answers
        struct raft_io_append *req;
        const struct raft_entry *entries; // libraft's, until `done`
        unsigned n;
        raft_io_append_cb done;
        raft_index index;
} Write;

typedef struct HeldMessage {
        ListNode node;
        struct raft_message message;
        char address[TRANSPORT_ADDRESS_SIZE];
} HeldMessage;

static RaftStore *owner_of(struct raft_io *io) {
        return CONTAINER_OF(io, RaftStore, io);
}

// ---- the worker

// A write of nothing waits for the right to write and changes nothing, not even a time. (Opening a file that is
// there waits for nothing on Linux 6.12.) What fails here fails in libraft's hands, too, and is told there.
static void on_knock(uv_work_t *work) {
        const RaftStore *s = CONTAINER_OF(work, RaftStore, gate.work);
        ssize_t n = write(s->gate.fd, "", 0);

        (void) n;
}

static void on_opened(uv_work_t *work, int status);

static void knock(RaftStore *s) {
        if (s->gate.closed)
                return;
        s->gate.closed = true;
        if (uv_queue_work(s->loop, &s->gate.work, on_knock, on_opened) < 0)
                abort(); // only for a NULL callback
}

// ---- writes

static void on_written(struct raft_io_append *ours, int status) {
        Write *w = CONTAINER_OF(ours, Write, ours);
        RaftStore *s = w->owner;

        w->done(w->req, status);
        s->gate.n_writing--; // not before: what `done` makes libraft write follows a write that got through
        free(w);
}

// Takes the write.
static int give_write(Write *w) {
        RaftStore *s = w->owner;
        int r;

        if (!w->req) {
                r = raft_disk_must_work(s, s->uv_io.truncate(&s->io, w->index), "truncation");
                free(w);
                return r;
        }
        s->gate.n_writing++;
        r = raft_disk_must_work(s, s->uv_io.append(&s->io, &w->ours, w->entries, w->n, on_written),
                                "entries");
        if (r != 0) {
                s->gate.n_writing--;
                free(w);
        }
        return r;
}

static int queue_write(RaftStore *s, Write write) {
        Write *w = malloc(sizeof(*w));

        if (!w)
                return RAFT_NOMEM;
        *w = write;
        w->owner = s;
        // store_open() is to tell what fails; or it is over anyway
        if (s->opening || s->raft_closing || (!s->gate.closed && s->gate.n_writing > 0))
                return give_write(w);
        list_append(&s->gate.writes, &w->node);
        knock(s);
        return 0;
}

static int on_append(struct raft_io *io, struct raft_io_append *req, const struct raft_entry entries[],
                     unsigned n, raft_io_append_cb done) {
        return queue_write(owner_of(io), (Write){.req = req, .entries = entries, .n = n, .done = done});
}

static int on_truncate(struct raft_io *io, raft_index index) {
        return queue_write(owner_of(io), (Write){.index = index});
}

static void give_writes(RaftStore *s) {
        while (!list_is_empty(&s->gate.writes)) {
                Write *w = CONTAINER_OF(s->gate.writes.next, Write, node), write = *w;

                list_unlink(&w->node);
                // Closing, libraft's disk may have ended already for other reasons; then the request is over.
                if (give_write(w) != 0 && write.req)
                        write.done(write.req, RAFT_CANCELED);
        }
}

// ---- messages

static raft_term term_of(const struct raft_message *m) {
        switch (m->type) {
        case RAFT_APPEND_ENTRIES:
                return m->append_entries.term;
        case RAFT_APPEND_ENTRIES_RESULT:
                return m->append_entries_result.term;
        default:
                return 0;
        }
}

static bool makes_us_write(RaftStore *s, const struct raft_message *m) {
        switch (m->type) {
        case RAFT_APPEND_ENTRIES: // entries go through the gate by themselves
        case RAFT_APPEND_ENTRIES_RESULT:
                return term_of(m) > raft_current_term(&s->raft);
        default:
                return true;
        }
}

static void message_free(struct raft_message *m) {
        if (m->type == RAFT_APPEND_ENTRIES && m->append_entries.n_entries > 0) {
                raft_free(m->append_entries.entries[0].batch);
                raft_free(m->append_entries.entries);
        } else if (m->type == RAFT_INSTALL_SNAPSHOT) {
                raft_free(m->install_snapshot.data.base);
                raft_configuration_close(&m->install_snapshot.conf);
        }
}

static bool has_room_for(const RaftStore *s, const struct raft_message *m) {
        if (m->type == RAFT_INSTALL_SNAPSHOT)
                list_foreach (i, &s->gate.messages)
                        if (CONTAINER_OF(i, HeldMessage, node)->message.type == RAFT_INSTALL_SNAPSHOT)
                                return false;
        return s->gate.n_messages < GATE_MESSAGES_MAX;
}

static void hold_message(RaftStore *s, struct raft_message *m) {
        HeldMessage *h = has_room_for(s, m) ? malloc(sizeof(*h)) : NULL;

        if (!h || !str_copy(h->address, sizeof(h->address), m->server_address)) {
                free(h);
                message_free(m);
                return;
        }
        h->message = *m;
        h->message.server_address = h->address; // the connection may be gone by then
        list_append(&s->gate.messages, &h->node);
        s->gate.n_messages++;
}

bool raft_gate_takes(RaftStore *s, struct raft_message *message) {
        if (s->opening || s->raft_closing || s->gate.delivering || !makes_us_write(s, message))
                return false;
        if (s->closing)
                message_free(message);
        else {
                hold_message(s, message);
                knock(s);
        }
        return true;
}

// One after the other, as long as none of them makes libraft write: what comes next may need that written
// first.
static void give_messages(RaftStore *s) {
        while (!s->gate.closed && !list_is_empty(&s->gate.messages)) {
                HeldMessage *h = CONTAINER_OF(s->gate.messages.next, HeldMessage, node);

                list_unlink(&h->node);
                s->gate.n_messages--;
                s->gate.delivering = true;
                if (s->closing)
                        message_free(&h->message);
                else
                        raft_disk_receive(&s->io, &h->message);
                s->gate.delivering = false;
                free(h);
        }
}

bool raft_gate_holds_tick(const RaftStore *s) {
        return s->gate.closed && raft_state((struct raft *) &s->raft) == RAFT_CANDIDATE;
}

// ---- life

static void on_opened(uv_work_t *work, int status) {
        RaftStore *s = CONTAINER_OF(work, RaftStore, gate.work);

        s->gate.closed = false;
        give_writes(s);
        give_messages(s);
        if (s->closing)
                drain_mark(&s->drain); // the close waited for this
}

int raft_gate_init(RaftStore *s) {
        _cleanup_free_ char *path = str_printf("%s/" GATE_FILE, s->dir);

        if (!path)
                return -ENOMEM;
        s->gate.fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (s->gate.fd < 0)
                return -errno;
        list_init(&s->gate.writes);
        list_init(&s->gate.messages);
        s->io.append = on_append;
        s->io.truncate = on_truncate;
        return 0;
}

void raft_gate_done(RaftStore *s) {
        if (s->gate.fd >= 0)
                close(s->gate.fd);
}
