// SPDX-License-Identifier: LGPL-2.1-or-later

// A gate before the disk. libraft writes terms and votes in the loop, and begins to write entries there. On
// a disk that hangs, or a file system that is frozen for a moment (a snapshot of the machine, a backup), the
// loop would hang with it: no beats, no heartbeats, a new leader, and units moved from a machine on which
// all is well.
//
// So whatever makes libraft write waits here until a worker has got through to the file system:
//
//   append, truncate    in their order; then they are libraft's. What waits goes as one append, up to
//                       GATE_BUNDLE_BYTES, and the next not before libraft has answered that
//   messages            that bring a new term, ask for a vote, win an election, hand over the lead or bring
//                       a
//                       snapshot. All others pass: heartbeats of the leader are answered as ever
//   ticks               of a candidate, who may try again with a new term: each comes after a look at the
//                       disk
//
// While it is closed, this server is a voter that is slow to vote and slow to store: the others have a
// majority or they do not. A leader goes on leading. What the others commit is committed; it answers, and
// its own log follows later. It does not hand over for that: the next term would have to be written to this
// very disk, by the loop, before anything else could go on here. After STORE_STUCK_MS raft-disk.c ends the
// process.
//
// The gate costs one turn of a worker for each write of libraft's; what comes during one is written
// together, so that is no more than one in each turn of the disk.
//
// What it cannot close: a file system that is frozen between the worker's word and libraft's call, which the
// loop makes in its next turn; that is some microseconds before each write, and as long as a turn of the
// loop at most. The call itself would have to be a worker's. libraft has such a way, but takes it only on
// file systems on which its own probe finds no asynchronous I/O (uv_fs.c, probeAsyncIO()); the outcome is
// private to it, and no option says otherwise. And io_submit(2) waits for a frozen file system whatever
// flags it is given, since it asks for the right to write before it looks at them. The same holds for what
// libraft begins when one of its own jobs has ended (the next segment is ready, the log is truncated): the
// worker that did the job has just written.
//
// A snapshot that the leader sends also waits until none is being taken here (raft-snapshot.c), which is
// given up. What waits when it is installed is not written any more.
//
// A truncation waits until libraft's disk code has written a snapshot that was taken here (guard 16): while
// that is going on, it closes the segment that is being written, notes on it what is to follow, and forgets
// it with it, unless there is more to be written to that segment. Then the log is not truncated, and the
// entries that replace others come behind them on the disk: after a crash some of the others are back, and
// those that replace them have other numbers.
//
// Messages are lost rather than kept without limit, and of snapshots, which may be long, all but one; Raft
// sends them again.
//
// Tests: store/cluster, integration/slow-disks.

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log-marker.h"
#include "process-end.h"
#include "raft-store.h"
#include "segments.h"
#include "str.h"

enum {
        GATE_MESSAGES_MAX = 16,
        // of entries that are written together; more than that only if one append has it
        GATE_BUNDLE_BYTES = 1024 * 1024,
};

#define GATE_FILE "gate" // empty; libraft leaves names alone that it does not know

typedef struct Write { // an append or a truncation (req NULL) that waits
        ListNode node;
        struct raft_io_append *req;
        const struct raft_entry *entries; // libraft's, until `done`
        unsigned n;
        raft_io_append_cb done;
        raft_index index;
        Lent lent; // of an append: guard 30
} Write;

typedef struct Bundle { // appends that libraft's disk code has as one, until it answers
        struct raft_io_append ours;
        RaftStore *owner;
        ListNode writes;
        struct raft_entry entries[]; // of all of them; their bytes stay where they are
} Bundle;

typedef struct HeldMessage {
        ListNode node;
        struct raft_message message;
        char address[TRANSPORT_ADDRESS_SIZE];
} HeldMessage;

static RaftStore *owner_of(struct raft_io *io) {
        return CONTAINER_OF(io, RaftStore, io);
}

// ---- the worker

// A write of nothing waits for the right to write and changes nothing, not even a time. (Opening a file that
// is there waits for nothing on Linux 6.12.) What fails here fails in libraft's hands, too, and is told
// there.
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
                process_abort("the pool takes no work"); // only for a NULL callback
}

// ---- writes

static void bundle_end(Bundle *b, int status) {
        while (!list_is_empty(&b->writes)) {
                Write *w = CONTAINER_OF(b->writes.next, Write, node);

                list_unlink(&w->node);
                raft_lent_end(&w->lent);
                w->done(w->req, status);
                free(w);
        }
        free(b);
}

static void on_written(struct raft_io_append *ours, int status) {
        Bundle *b = CONTAINER_OF(ours, Bundle, ours);
        RaftStore *s = b->owner;

        // libraft would forget them, and number what comes next on the disk as if they had never been.
        (void) raft_disk_must_work(s, status, "entries");
        bundle_end(b, status);
        s->gate.writing = false; // not before: what `done` makes libraft write waits for the worker, too
        raft_snapshot_go_on(s);
        if (!list_is_empty(&s->gate.writes))
                knock(s);
}

static size_t bytes_of(const Write *w) {
        size_t bytes = 0;

        for (unsigned i = 0; i < w->n; i++)
                bytes += w->entries[i].buf.len;
        return bytes;
}

// How many appends at the head of the queue go together, and how many entries they have.
static size_t plan_bundle(const RaftStore *s, size_t *ret_entries) {
        size_t n = 0, bytes = 0;

        *ret_entries = 0;
        list_foreach (i, &s->gate.writes) {
                const Write *w = CONTAINER_OF(i, Write, node);

                bytes += bytes_of(w);
                if (!w->req || (n > 0 && bytes > GATE_BUNDLE_BYTES))
                        break;
                n++;
                *ret_entries += w->n;
        }
        return n;
}

static void give_appends(RaftStore *s) {
        size_t n_entries, n = plan_bundle(s, &n_entries), k = 0;
        Bundle *b = malloc(sizeof(*b) + n_entries * sizeof(*b->entries));
        int r;

        if (!b)
                raft_store_fatal(s, "out of memory");
        b->owner = s;
        list_init(&b->writes);
        for (size_t i = 0; i < n; i++) {
                Write *w = CONTAINER_OF(s->gate.writes.next, Write, node);

                list_unlink(&w->node);
                list_append(&b->writes, &w->node);
                memcpy(b->entries + k, w->entries, w->n * sizeof(*w->entries));
                k += w->n;
        }
        s->gate.writing = true;
        r = raft_disk_must_work(s, s->uv_io.append(&s->io, &b->ours, b->entries, (unsigned) k, on_written),
                                "entries");
        // closing, libraft's disk may have ended already for other reasons; then the requests are over
        if (r != 0) {
                s->gate.writing = false;
                bundle_end(b, RAFT_CANCELED);
        }
}

static int truncate_log(RaftStore *s, raft_index index) {
        s->gate.truncated = index;
        return raft_disk_must_work(s, s->uv_io.truncate(&s->io, index), "truncation");
}

static void give_truncation(RaftStore *s) {
        Write *w = CONTAINER_OF(s->gate.writes.next, Write, node);

        list_unlink(&w->node);
        (void) truncate_log(s, w->index);
        s->gate.putting = false; // the barrier was ours
        free(w);
}

static bool next_is_append(const RaftStore *s) {
        return CONTAINER_OF(s->gate.writes.next, Write, node)->req;
}

// Guard 16.
static bool waits_for_snapshot(const RaftStore *s) {
        return s->gate.putting && !list_is_empty(&s->gate.writes) && !next_is_append(s);
}

// At the end all of it becomes libraft's, whose close answers what it has not written: on a full disk that
// would be waited for without end.
static void give_writes(RaftStore *s) {
        while ((!s->gate.writing || s->closing) && !list_is_empty(&s->gate.writes) && !waits_for_snapshot(s))
                if (next_is_append(s))
                        give_appends(s);
                else
                        give_truncation(s);
}

// libraft does not want them any more either, and the disk is to go on behind the snapshot.
void raft_gate_drop_writes(RaftStore *s) {
        while (!list_is_empty(&s->gate.writes)) {
                Write *w = CONTAINER_OF(s->gate.writes.next, Write, node);

                list_unlink(&w->node);
                if (w->req) {
                        raft_lent_end(&w->lent);
                        w->done(w->req, 0);
                }
                free(w);
        }
        s->gate.next_index = 0;
}

// store_open() is to tell what fails, and at the end it is over anyway.
static bool is_open(const RaftStore *s) {
        return s->opening || s->raft_closing;
}

static int queue_write(RaftStore *s, Write write) {
        Write *w = malloc(sizeof(*w));

        if (!w)
                return RAFT_NOMEM;
        *w = write;
        if (w->req)
                raft_lent_begin(s, &w->lent, w->index, w->entries, w->n);
        list_append(&s->gate.writes, &w->node);
        if (!s->gate.writing)
                knock(s);
        return 0;
}

static int on_append(struct raft_io *io, struct raft_io_append *req, const struct raft_entry entries[],
                     unsigned n, raft_io_append_cb done) {
        RaftStore *s = owner_of(io);

        if (is_open(s)) {
                s->gate.next_index = 0;
                return raft_disk_must_work(s, s->uv_io.append(io, req, entries, n, done), "entries");
        }
        if (s->gate.next_index)
                s->gate.next_index += n;
        return queue_write(s, (Write){.req = req,
                                      .entries = entries,
                                      .n = n,
                                      .done = done,
                                      .index = s->gate.append_index});
}

// libraft truncates before each append, nearly always behind the last entry: that changes nothing.
static int on_truncate(struct raft_io *io, raft_index index) {
        RaftStore *s = owner_of(io);

        s->gate.append_index = index;
        raft_lent_note_truncation(s, index);
        if (index == s->gate.next_index)
                return 0;
        s->gate.next_index = index;
        if (is_open(s))
                return truncate_log(s, index);
        return queue_write(s, (Write){.index = index});
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

// Guard 11.
static bool has_to_wait(RaftStore *s, const HeldMessage *h) {
        if (h->message.type != RAFT_INSTALL_SNAPSHOT || !s->taking)
                return false;
        (void) raft_snapshot_give_up(s);
        return true;
}

static HeldMessage *next_message(RaftStore *s) {
        list_foreach (i, &s->gate.messages) {
                HeldMessage *h = CONTAINER_OF(i, HeldMessage, node);

                if (!has_to_wait(s, h))
                        return h;
        }
        return NULL;
}

// One after the other, as long as none of them makes libraft write: what comes next may need that written
// first.
static void give_messages(RaftStore *s) {
        HeldMessage *h;

        while (!s->gate.closed && (h = next_message(s))) {
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

bool raft_gate_holds_tick(RaftStore *s) {
        if (is_open(s) || s->closing || raft_state(&s->raft) != RAFT_CANDIDATE)
                return false;
        s->gate.tick_held = true;
        knock(s);
        return true;
}

static void give_tick(RaftStore *s) {
        if (!s->gate.tick_held || s->gate.closed)
                return;
        s->gate.tick_held = false;
        if (!s->closing)
                s->tick(&s->io);
}

// ---- life

void raft_gate_go_on(RaftStore *s) {
        if ((!list_is_empty(&s->gate.messages) || !list_is_empty(&s->gate.writes)) && !s->raft_closing)
                knock(s);
}

bool raft_gate_ends(RaftStore *s) {
        if (waits_for_snapshot(s))
                return false; // its end marks the drain
        if (list_is_empty(&s->gate.writes))
                return !s->gate.closed && !s->gate.truncating;
        knock(s);
        return false;
}

// Guard 20: the marker stands while a worker truncates, and stays if that fails.
static void mark_truncation(RaftStore *s, bool begins) {
        int r = 0;

        if (begins)
                r = log_marker_put(s->dir, TRUNCATION_MARKER, s->gate.truncated);
        else if (segments_are_truncated(s->dir, s->gate.truncated))
                r = log_marker_remove(s->dir, TRUNCATION_MARKER);
        else if (!s->raft_closing)
                // libraft goes on after a failure, with what replaces the entries behind them (guard 8). No
                // other has been written yet.
                raft_store_fatal(s, "cannot truncate the log");
        if (r < 0)
                raft_store_fatal(s, "cannot mark the log as being truncated: %s", strerror(-r));
}

void raft_gate_note_truncation(RaftStore *s, bool begins) {
        mark_truncation(s, begins);
        s->gate.truncating = begins;
        if (s->closing && !begins)
                drain_mark(&s->drain); // the close waited for this
}

void raft_gate_note_barrier(RaftStore *s, bool begins) {
        s->gate.putting = begins && s->taking;
}

static void on_opened(uv_work_t *work, int status) {
        RaftStore *s = CONTAINER_OF(work, RaftStore, gate.work);

        s->gate.closed = false;
        give_writes(s);
        give_messages(s);
        give_tick(s);
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
        while (s->gate.messages.next && !list_is_empty(&s->gate.messages)) {
                HeldMessage *h = CONTAINER_OF(s->gate.messages.next, HeldMessage, node);

                list_unlink(&h->node);
                message_free(&h->message);
                free(h);
        }
        if (s->gate.fd >= 0)
                close(s->gate.fd);
}
