// SPDX-License-Identifier: LGPL-2.1-or-later

// What stands between libraft and its own disk and network code. The functions in `struct raft_io` are
// public, so ours go in front:
//
//   snapshot_put, taken here   raft-snapshot.c
//   snapshot_put, installed    the marker is written first and removed at the end (guard 3)
//   set_term, set_vote,        libraft goes on after a failure as if nothing had happened: fatal (guard 8)
//   append, truncate           the same; they wait at the gate before (raft-gate.c)
//   start                      entries of before our snapshot, and configurations among others (guards 9,
//                              10, 27), or that are held (guard 30); what each
//                              tick sends (guard 12); promotions (guards 19, 25)
//   send                       the term of who refuses a pre-vote (guard 14); what a slow member has not
//                              taken (raft-window.c)
//   tracer                     "retry failed write" is followed by a crash (wrong timer armed): fatal
//                              (guard 4); whether a worker truncates the log (guard 15), or libraft closes
//                              segments (guard 16); whether one was closed (guard 26)
//
// Beside these, the watchdog: entries that wait for the disk for STORE_STUCK_MS end the process, whatever
// the cause, unless the disk or a quota on it is full, when a restart would change nothing. A leader whose
// disk is full hands over to a voter that has written more. Every voter watches its own disk, so no message
// is needed for it.
//
// Tests: store/disk, store/log-marker, store/cluster.

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "log-marker.h"
#include "log.h"
#include "process-end.h"
#include "raft-store.h"
#include "reserve.h"
#include "str.h"

enum {
        SEGMENT_ROOM_BYTES = 16 * 1024 * 1024, // with less than this free, waiting is the disk's fullness
};

// One install is under way at a time, so its callback can stand aside in here.
typedef struct Install {
        RaftStore *owner;
        raft_io_snapshot_put_cb done;
        struct raft_io_snapshot_put *req;
        struct raft_io_snapshot_put ours;
} Install;

static RaftStore *owner_of(struct raft_io *io) {
        return CONTAINER_OF(io, RaftStore, io);
}

// ---- snapshots that the leader sent: marker, write, unlink, no marker

static void on_installed(struct raft_io_snapshot_put *ours, int status) {
        Install *install = ours->data;
        RaftStore *s = install->owner;
        int r;

        if (status == 0) {
                // Before any entry behind the snapshot can be written: the marker says that open segments
                // are old.
                r = log_marker_remove(s->dir, INSTALL_MARKER);
                if (r < 0)
                        raft_store_fatal(s, "cannot remove %s/" INSTALL_MARKER ": %s", s->dir, strerror(-r));
        } else if (!s->raft_closing)
                raft_store_fatal(s, "cannot write the snapshot that the leader sent: %s",
                                 raft_strerror(status));
        install->done(install->req, status);
        free(install);
}

static int put_installed(RaftStore *s, struct raft_io_snapshot_put *req,
                         const struct raft_snapshot *snapshot, raft_io_snapshot_put_cb done) {
        Install *install = malloc(sizeof(*install));
        int r;

        if (!install)
                raft_store_fatal(s, "out of memory");
        *install = (Install){.owner = s, .done = done, .req = req};
        install->ours.data = install;
        raft_gate_drop_writes(s); // the log goes on behind the snapshot
        r = log_marker_put(s->dir, INSTALL_MARKER, snapshot->index); // guard 3
        if (r < 0)
                raft_store_fatal(s, "cannot write %s/" INSTALL_MARKER ": %s", s->dir, strerror(-r));
        r = s->uv_io.snapshot_put(&s->io, 0, &install->ours, snapshot, on_installed);
        if (r != 0) {
                free(install);
                if (!s->raft_closing)
                        raft_store_fatal(s, "cannot write the snapshot that the leader sent: %s",
                                         raft_strerror(r));
        }
        return r;
}

static int on_snapshot_put(struct raft_io *io, unsigned trailing, struct raft_io_snapshot_put *req,
                           const struct raft_snapshot *snapshot, raft_io_snapshot_put_cb done) {
        RaftStore *s = owner_of(io);

        // Only an install asks for no trailing entries at all.
        return trailing == 0 ? put_installed(s, req, snapshot, done)
                             : raft_snapshot_put(s, trailing, req, snapshot, done);
}

// ---- guard 8: what libraft would overlook

int raft_disk_must_work(RaftStore *s, int r, const char *what) {
        if (r == 0 || s->raft_closing)
                return r;
        if (!s->opening)
                raft_store_fatal(s, "cannot write the log (%s): %s", what, s->io.errmsg);
        s->open_error = raft_store_errno(r); // libraft itself would not tell store_open()
        return r;
}

// libraft writes term and vote to two files in turn, over what is there. The second is made together with
// the first, so that from then on a full disk has room for both. If it cannot be made now, the next term
// tries again.
void raft_disk_make_room_for_terms(RaftStore *s, raft_id vote) {
        _cleanup_free_ char *first = str_printf("%s/metadata1", s->dir),
                            *second = str_printf("%s/metadata2", s->dir);

        if (first && second && access(first, F_OK) == 0 && access(second, F_OK) < 0)
                (void) s->uv_io.set_vote(&s->io, vote);
}

// libraft writes nothing before its first term, which the leader brings. But from when it is opened on a log
// is there (store_exists()), whatever happens before that. The second file comes with that term.
int raft_disk_make_exist(RaftStore *s) {
        return store_exists(s->dir) ? 0 : s->uv_io.set_term(&s->io, raft_current_term(&s->raft));
}

static int on_set_term(struct raft_io *io, raft_term term) {
        RaftStore *s = owner_of(io);
        int r = raft_disk_must_work(s, s->uv_io.set_term(io, term), "term");

        s->vote_is_none = r == 0;
        if (r == 0)
                raft_disk_make_room_for_terms(s, 0); // no candidate has our vote in a new term
        return r;
}

// After a term in which libraft is not asked for its vote it writes that it has none, which was written with
// the term: one flush less, in the loop.
static int on_set_vote(struct raft_io *io, raft_id id) {
        RaftStore *s = owner_of(io);

        if (id == 0 && s->vote_is_none)
                return 0;
        s->vote_is_none = false;
        return raft_disk_must_work(s, s->uv_io.set_vote(io, id), "vote");
}

// ---- guards 4, 15, 16 and 26: what libraft tells nobody but its tracer. Called from worker threads too,
// for these messages from the loop only. The message is in memory that all threads share, so what another
// one says must not even be read.
//
// 15: libraft's close waits for all that its workers do, but for a truncation: that goes on in memory which
// is free by then. 16: raft-gate.c. 26: libraft notes that a segment could not be closed, and never looks at
// that note. The segment keeps its name, open-N, and later ones are closed. The next start takes it for the
// newest and reads its entries a second time, behind all others. Until another one is closed, it is still
// the oldest of those that are open: libraft reads them in their order, so the process ends before that. Of
// a close a worker says that it begins, and then only what went wrong.

static void note_close(RaftStore *s, const char *message) {
        bool is_over = message && str_has_prefix(message, "uv finalize after work ");

        if (!message || str_has_prefix(message, "finalize ") || str_has_prefix(message, "truncate segment "))
                s->close_words++;
        if (is_over && atomic_exchange(&s->close_words, 0) > 1)
                raft_store_fatal(s, "the disk failed: a segment of the log could not be closed");
}

static void on_trace(struct raft_tracer *tracer, int type, const void *info) {
        RaftStore *s = CONTAINER_OF(tracer, RaftStore, tracer);
        const struct raft_tracer_info *i = info;
        uv_thread_t here = uv_thread_self();
        bool own = uv_thread_equal(&here, &s->thread);

        if (type == RAFT_TRACER_DIAGNOSTIC && str_has_suffix(i->diagnostic.file, "uv_finalize.c"))
                note_close(s, own ? i->diagnostic.message : NULL);
        if (!own || type != RAFT_TRACER_DIAGNOSTIC)
                return;
        if (strstr(i->diagnostic.message, "retry failed write"))
                raft_store_fatal(s, "the disk failed: %s", i->diagnostic.message);
        if (strcmp(i->diagnostic.message, "set truncate work") == 0)
                raft_gate_note_truncation(s, true);
        else if (strcmp(i->diagnostic.message, "clear truncate work") == 0)
                raft_gate_note_truncation(s, false);
        else if (str_has_prefix(i->diagnostic.message, "UvBarrier "))
                raft_gate_note_barrier(s, true);
}

// ---- guards 9 and 27: entries of before our snapshot
//
// 9: entries from 1 on are taken without a look at what stands before them. If this log does not begin with
// 1 any more, since a snapshot replaced its beginning, libraft takes them all for new and writes past its
// memory. It happens when a new member is slow to take the first entries, the leader repeats them once per
// heartbeat, and they are many enough for a snapshot.
//
// 27: a member whose answers are lost goes on taking entries, and snapshots. If it drops the last entry that
// the leader knows it to have, libraft refuses whatever begins there, and the leader goes back to a
// snapshot. If that is an older one than the member's own, the member says that it has it; the next entry
// begins there again, and is refused, without end.
//
// What our snapshot has is committed, so any leader has the same. Such a message becomes one that begins at
// our snapshot, with the entries behind it, if there are any; so the leader learns how far we are.

static bool begins_before_log(const struct raft *raft, const struct raft_append_entries *m) {
        return m->prev_log_index <= raft->trail.offset && m->prev_log_index < raft->trail.snapshot.index &&
               !raft->snapshot.installing;
}

static void skip_what_the_snapshot_has(struct raft *raft, struct raft_append_entries *m) {
        unsigned n =
                (unsigned) MIN_OF(raft->trail.snapshot.index - m->prev_log_index, (raft_index) m->n_entries);

        if (n > 0 && n == m->n_entries) {
                raft_free(m->entries[0].batch);
                raft_free(m->entries);
                m->entries = NULL;
        } else if (n > 0)
                memmove(m->entries, m->entries + n, (m->n_entries - n) * sizeof(*m->entries));
        m->n_entries -= n;
        m->prev_log_index = raft->trail.snapshot.index;
        m->prev_log_term = raft->trail.snapshot.term;
        m->leader_commit =
                MIN_OF(m->leader_commit, raft->commit_index); // or ours would fall back to the snapshot's
}

// ---- guard 10: configurations
//
// A follower notes a configuration under the index of the first entry of the message that brings it. If it
// is not the first itself, its commit is never noticed, and the next snapshot holds an older configuration:
// a voter that starts from it may find itself a spare. So a message ends before a configuration in its
// midst, as if the rest had been lost; the leader sends that again, and then the configuration comes first.

static unsigned count_up_to_configuration(const struct raft_append_entries *m) {
        for (unsigned i = 1; i < m->n_entries; i++)
                if (m->entries[i].type == RAFT_CHANGE)
                        return i;
        return m->n_entries;
}

// ---- guard 19: a promotion is not forgotten
//
// A new voter that has caught up is promoted by libraft while it takes that one's answer. If most voters
// have little room at this moment, that is refused, and nobody is told: who asked for it waits for good, and
// nothing else about members, no handover either, can be asked for. It is one small entry, so room does not
// matter.

static void receive_answer(RaftStore *s, struct raft_message *message) {
        unsigned short room = s->raft.capacity_threshold;

        raft_store_note_room(s, (uint32_t) message->server_id, message->append_entries_result.capacity);
        raft_set_capacity_threshold(&s->raft, 0);
        s->receive(&s->io, message);
        raft_set_capacity_threshold(&s->raft, room);
}

static LastAnswer *find_answer(RaftStore *s, uint32_t raft_id) {
        LastAnswer *free_one = &s->answers[0];

        for (size_t i = 0; i < STORE_MEMBERS_MAX; i++) {
                if (s->answers[i].raft_id == raft_id)
                        return &s->answers[i];
                if (s->answers[i].result.term < free_one->result.term)
                        free_one = &s->answers[i];
        }
        *free_one = (LastAnswer){.raft_id = raft_id};
        return free_one;
}

void raft_disk_say_again(RaftStore *s, uint32_t raft_id) {
        const LastAnswer *last = find_answer(s, raft_id);
        struct raft_message m = {.type = RAFT_APPEND_ENTRIES_RESULT, .server_id = raft_id};
        char address[TRANSPORT_ADDRESS_SIZE];
        raft_index match = 0;

        if (last->result.term != raft_current_term(&s->raft) ||
            raft_match_index(&s->raft, raft_id, &match) != 0)
                return;
        transport_address(raft_id, address);
        m.server_address = address;
        m.append_entries_result = last->result;
        m.append_entries_result.rejected = 0;
        m.append_entries_result.last_log_index = match;
        receive_answer(s, &m);
}

// A leader knows what is committed only after an entry of its own term is: the index that it sends before
// that may be as old as its last snapshot, and counts as 0.
static raft_index commit_said(const struct raft_message *message) {
        const struct raft_append_entries *m = &message->append_entries;

        if (message->type != RAFT_APPEND_ENTRIES || m->prev_log_term != m->term ||
            m->prev_log_index > m->leader_commit)
                return 0;
        return m->leader_commit;
}

// ---- guard 25: who does not know yet that it votes does
//
// Of one voter and a spare that is to be the second, both must have the entry that says so, and it holds
// from when it is written. A spare that went down before it had it is asked for its vote, as without it
// there is no leader, and libraft's answer of a spare is no, for ever. A vote that is not counted does no
// harm, and a candidate that asks has this server as a voter.

static void receive_request_vote(RaftStore *s, struct raft_message *message) {
        struct raft_server *own = raft_member_find(s, s->raft_id);
        int role = own ? own->role : RAFT_VOTER;

        if (own)
                own->role = RAFT_VOTER;
        s->receive(&s->io, message);
        own = raft_member_find(s, s->raft_id); // libraft may have gone back to its former configuration
        if (own)
                own->role = role;
}

void raft_disk_receive(struct raft_io *io, struct raft_message *message) {
        RaftStore *s = owner_of(io);
        struct raft_append_entries *m = &message->append_entries;
        bool is_answer = message->type == RAFT_APPEND_ENTRIES_RESULT;
        uint64_t term = is_answer ? message->append_entries_result.term : m->term;
        uint32_t from = (uint32_t) message->server_id;
        raft_index commit = commit_said(message);
        int type = message->type;

        if (raft_gate_takes(s, message) || !raft_authority_before(s, message))
                return;
        if (type == RAFT_APPEND_ENTRIES && begins_before_log(&s->raft, m))
                skip_what_the_snapshot_has(&s->raft, m);
        if (type == RAFT_APPEND_ENTRIES && m->n_entries > 0)
                m->n_entries = count_up_to_configuration(m);
        if (type == RAFT_APPEND_ENTRIES)
                raft_lent_cut_message(s, m);
        if (is_answer) {
                find_answer(s, from)->result = message->append_entries_result;
                raft_window_on_answer(s, from, &message->append_entries_result);
                receive_answer(s, message);
        } else if (type == RAFT_REQUEST_VOTE)
                receive_request_vote(s, message);
        else
                s->receive(io, message); // the message and what it holds are libraft's now
        if (commit > 0 && s->heard_commit == 0 && raft_authority_obeys(s, from, term))
                s->heard_commit = commit;
        raft_authority_after(s, type, from, term);
}

// ---- guard 17: each leader has a term of its own
//
// The only voter leads without an election, and libraft leaves it in the term in which it was: that of its
// last run, or of the leader that has removed itself. If it had sent an entry to a host that was to become a
// voter, and went down before it had written that itself, it gives the same number in the same term to
// another one: by Raft's rules these are the same, so the new voter keeps the first for good.

// After what may have made it the leader without an election.
int raft_disk_begin_term(RaftStore *s) {
        int r;

        if (raft_state(&s->raft) != RAFT_LEADER)
                return 0;
        s->raft.current_term++;
        s->raft.voted_for = s->raft_id;
        r = on_set_term(&s->io, s->raft.current_term);
        return r == 0 ? on_set_vote(&s->io, s->raft_id) : r;
}

// ---- guard 12: who has nothing to answer is not lost
//
// A tick of a leader takes a follower for lost that has said nothing since the tick before, and stops
// sending it entries as they come: it gets one message per heartbeat, until it has stored a new entry. But a
// tick sends no heartbeat to a follower that was sent an entry less than a heartbeat ago; that one has
// answered before the tick, has nothing to answer after it, and is "lost" at the next. So whatever was asked
// for after a pause waited for a heartbeat, 100 ms on average and in vain. With a heartbeat to everybody in
// each tick, everybody has something to answer.

static void give_tick(RaftStore *s, struct raft_io *io) {
        bool led = raft_state(&s->raft) == RAFT_LEADER;

        raft_set_heartbeat_timeout(&s->raft, 0);
        s->tick(io);
        raft_set_heartbeat_timeout(&s->raft, s->heartbeat_ms);
        if (!led)
                (void) raft_disk_begin_term(s);
}

static void on_tick(struct raft_io *io) {
        RaftStore *s = owner_of(io);

        if (!raft_gate_holds_tick(s))
                give_tick(s, io);
}

static int on_start(struct raft_io *io, unsigned msecs, raft_io_tick_cb tick, raft_io_recv_cb receive) {
        owner_of(io)->receive = receive;
        owner_of(io)->tick = tick;
        return owner_of(io)->uv_io.start(io, msecs, on_tick, raft_disk_receive);
}

// ---- guard 14: who refuses because it is in a later term says in which
//
// A candidate asks before it begins a term, and libraft's answer to that bears the term that was asked for,
// whatever the term of the voter. So a candidate that is two terms behind is refused for ever and never
// hears why. If it has more of the log than the other, it can neither win nor be won over: of three voters
// two are up, and there is no leader until the third is back. This takes a voter that voted for a candidate
// which went down before it wrote an entry. A candidate that is told a term two ahead of its own takes it,
// in libraft, too.

static const struct raft_message *tell_term(RaftStore *s, const struct raft_message *message,
                                            struct raft_message *ret_changed) {
        const struct raft_request_vote_result *answer = &message->request_vote_result;

        if (message->type != RAFT_REQUEST_VOTE_RESULT || answer->vote_granted ||
            answer->term >= raft_current_term(&s->raft))
                return message;
        *ret_changed = *message;
        ret_changed->request_vote_result.term = raft_current_term(&s->raft);
        return ret_changed;
}

// ---- sending

static int send_changed(RaftStore *s, struct raft_io_send *req, const struct raft_message *message,
                        raft_io_send_cb done) {
        struct raft_message changed, told;
        size_t bytes;

        message = raft_snapshot_send(s, message, &changed);
        message = raft_window_skip(s, message, &changed); // guard 23
        bytes = raft_window_bytes(message);
        if (bytes > 0)
                return raft_window_send(s, req, message, bytes, done);
        // heartbeats and votes always go
        return s->uv_io.send(&s->io, req, tell_term(s, raft_authority_send(s, message, &changed), &told),
                             done);
}

static int on_send(struct raft_io *io, struct raft_io_send *req, const struct raft_message *message,
                   raft_io_send_cb done) {
        RaftStore *s = owner_of(io);

        if (s->raft_closing) { // guard 18
                done(req, RAFT_CANCELED);
                return 0;
        }
        return raft_lent_send(s, req, message, done, send_changed); // guard 30
}

void raft_disk_init(RaftStore *s) {
        list_init(&s->lent);
        s->uv_io = s->io;
        s->io.snapshot_put = on_snapshot_put;
        s->io.snapshot_get = raft_snapshot_get; // guard 18
        s->io.set_term = on_set_term;
        s->io.set_vote = on_set_vote;
        s->io.start = on_start; // guards 9, 10 and 12, and the gate
        s->io.send = on_send;
        s->thread = uv_thread_self();
        s->tracer = (struct raft_tracer){.version = 2, .emit = on_trace};
        raft_uv_set_tracer(&s->io, &s->tracer);
}

// ---- watchdog

bool raft_disk_is_full(const char *dir) {
        struct statvfs v;

        return statvfs(dir, &v) == 0 && ((uint64_t) v.f_bavail * v.f_frsize < SEGMENT_ROOM_BYTES ||
                                         (v.f_files > 0 && v.f_favail == 0));
}

static void on_handed_over(int error, void *userdata) {
        if (error < 0 && error != -ECANCELED)
                log_warning("could not hand leadership to a voter with room on its disk: %s",
                            strerror(-error));
}

// The others commit without us as long as they have room. But what we cannot write stays in memory, without
// limit while we lead.
static void on_full_disk(RaftStore *s) {
        StoreStats stats = {};
        uint32_t other;

        if (!s->full_disk_logged)
                log_error("%s for the log in %s: this server does not take part until there is some",
                          raft_disk_is_full(s->dir) ? "no space left" : "the quota leaves no space", s->dir);
        s->full_disk_logged = true;
        raft_store_stats(&s->store, &stats);
        other = plan_handover(&stats, s->raft_id, s->raft.last_stored);
        if (other > 0 && raft_store_transfer(&s->store, other, on_handed_over, s) == 0)
                log_notice("handing leadership to a voter with room on its disk (raft id %u)", other);
}

static void run_look(uv_work_t *work) {
        RaftStore *s = CONTAINER_OF(work, RaftStore, quota.work);

        s->quota.found_full = !reserve_disk_takes(s->dir, SEGMENT_ROOM_BYTES);
}

static void on_looked(uv_work_t *work, int status) {
        RaftStore *s = CONTAINER_OF(work, RaftStore, quota.work);

        s->quota.under_way = false;
        s->quota.full = s->quota.found_full;
        if (s->closing)
                drain_mark(&s->drain); // the close waited for this
}

// On a disk that hangs it has no end, and then the disk is not full.
static void look_at_quota(RaftStore *s) {
        if (s->quota.under_way)
                return;
        s->quota.under_way = true;
        if (uv_queue_work(s->loop, &s->quota.work, run_look, on_looked) < 0)
                process_abort("the pool takes no work"); // only for a NULL callback
}

void raft_disk_refresh(RaftStore *s, uint64_t now_ms) {
        uint64_t last = raft_last_index(&s->raft);
        // An install has entries of its own to wait for; count it as one more.
        uint64_t target = s->raft.snapshot.installing ? UINT64_MAX : last;

        bool stuck = progress_is_stuck(&s->disk_progress, s->raft.last_stored, target, now_ms);

        if (s->disk_progress.waited_ms < STORE_FULL_MS) {
                if (s->disk_progress.waited_ms == 0)
                        s->full_disk_logged = s->quota.full = false;
                return;
        }
        if (now_ms < s->refreshed_disk_ms + STORE_FULL_MS)
                return;
        s->refreshed_disk_ms = now_ms;
        look_at_quota(s);
        if (raft_disk_is_full(s->dir) || s->quota.full)
                on_full_disk(s);
        else if (stuck)
                raft_store_fatal(s, "the disk has written nothing for %d s although the log waits for it",
                                 STORE_STUCK_MS / 1000);
}
