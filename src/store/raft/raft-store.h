// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A store on libraft. Split by facet:
//
//   raft-store.c          opening, closing, what libraft calls back (apply, restore), roles
//   raft-snapshot.c       taking snapshots: guards 2 (sealing) and 11
//   raft-submit.c         batches and barriers
//   raft-member.c         membership, transfer, figures
//   raft-authority.c      how long a leader may be sure that it has no successor
//   raft-gate.c           what makes libraft write waits until the file system can be written to
//   raft-disk.c           what stands between libraft and its own disk code: guards 3, 4, 8, 9, 10, 12, 14,
//                         15
//                         and the write watchdog
//   raft-window.c         what a member was sent and has not taken: guard 23
//   raft-lent.c           entries that are being written or sent: guard 30
//   raft-offline.c        offline tools
//   reserve.c             room for the moment of opening, on a full disk
//   segments.c            the files of the log, by their names: guard 20
//   log-marker.c          what says that such names are being changed: guards 3 and 20
//   snapshot-files.c      the files of the snapshots: guard 28
//   transport.c, bridge.c the way to the peers
//
// The guards against what libraft 0.22.1 gets wrong, and the test that fails without each:
//
//   1  one buffer per raft_apply(), framed and padded        record.c, raft-submit.c       store/record,
//                                                            raft
//   2  snapshots carry our digest and schema version         record.c, raft-snapshot.c     store/record,
//                                                            raft
//   3  an interrupted snapshot install is finished           log-marker.c, raft-disk.c
//                                                            store/log-marker,
//                                                                                          cluster
//   4  a failed disk write ends the process                  raft-disk.c                   store/disk
//   5  no automatic "recovery" of a damaged log              raft-store.c                  store/raft
//   6  settings                                              raft-store.c                  store/raft,
//                                                            cluster
//   7  never plain TCP                                       transport.c                   store/cluster
//   8  a term or vote that cannot be written is fatal        raft-disk.c                   store/disk
//   9  the first entries are not taken twice                 raft-disk.c                   store/repeat
//   10 a configuration among other entries is noticed        raft-disk.c, raft-snapshot.c
//                                                            store/configuration
//   11 no snapshot is installed while one is taken           raft-gate.c, raft-snapshot.c  store/snapshot
//   12 who has nothing to answer is not taken for lost       raft-disk.c                   store/cluster
//   13 who wins leads, whatever room the others have         raft-store.c                  store/cluster
//   14 who refuses because of its term says so               raft-disk.c                   store/cluster,
//                                                            chaos
//   15 no close while a worker truncates the log             raft-disk.c, raft-gate.c      store/cluster,
//                                                            chaos
//   16 no truncation while a snapshot is put in place        raft-disk.c, raft-gate.c,     store/snapshot
//                                                            raft-snapshot.c
//   17 who leads alone begins a term, too                    raft-disk.c, raft-store.c     store/cluster
//   18 a snapshot is sent with its own term, by the living   raft-snapshot.c, raft-disk.c  store/snapshot
//   19 a promotion is not forgotten                          raft-disk.c, raft-member.c    store/cluster
//   20 an interrupted truncation is no damage                segments.c, log-marker.c,     store/cluster,
//                                                            raft-gate.c                   log-marker,
//                                                                                          numbers
//   21 no room for a moment is no full disk                  raft-submit.c                 store/room
//   22 a part of a long message is a sign of life            raft-authority.c, raft-disk.c
//                                                            store/long-message
//   23 what is on its way is not sent again                  raft-window.c                 store/repeat,
//                                                            slow-link
//   24 a snapshot waits until what it has is written         raft-snapshot.c, raft-gate.c  store/numbers
//   25 who does not know yet that it votes does              raft-disk.c                   store/cluster
//   26 a segment that is not closed ends the process         raft-disk.c                   store/disk
//   27 who has taken a snapshot since it was heard goes on   raft-disk.c                   store/repeat
//   28 the newest snapshot is the one that is read           snapshot-files.c, raft-store.c
//                                                            store/numbers
//   29 a log that was opened without room finds some later   raft-submit.c                 store/room
//   30 an entry comes back while it is written or sent       raft-lent.c, raft-gate.c      store/repeat

#include <raft.h>
#include <raft/uv.h>

#include "authority.h"
#include "judgement.h"
#include "list.h"
#include "record.h"
#include "store-impl.h"
#include "transport.h"
#include "uvx.h"

typedef struct Taking Taking; // a snapshot from when it was taken until it is written

typedef struct MemberWatch {
        uint32_t raft_id;
        Progress progress;
        bool stuck;
} MemberWatch;

typedef struct MemberRoom {
        uint32_t raft_id;
        unsigned short kib; // that it has reserved on its disk, as it said last
} MemberRoom;

typedef struct LastAnswer { // of a member, to entries
        uint32_t raft_id; // 0: free
        struct raft_append_entries_result result;
} LastAnswer;

typedef struct SendWindow {
        uint32_t raft_id;
        size_t bytes; // of entries and snapshots handed to the connection and not taken by it
        // the last entry of those, or of earlier ones, in this term; 0: the next message begins where
        // libraft likes
        uint64_t term, through;
        // that took them, once it has taken all (transport_connection()); 0: it was gone
        uint64_t connection;
} SendWindow;

typedef struct Lent { // entries that libraft counts as held until they are written or sent
        ListNode node;
        raft_index index; // of the first
        const struct raft_entry *entries;
        unsigned n;
        raft_index cut; // from here on its log has had others since
} Lent;

typedef struct RaftStore {
        Store store;
        uv_loop_t *loop;
        char *dir;
        uint32_t raft_id;
        unsigned election_ms, heartbeat_ms;

        struct raft raft;
        struct raft_io io;
        struct raft_io uv_io; // libraft's own functions, which ours in `io` stand before
        struct raft_fsm fsm;
        struct raft_tracer tracer;
        _Atomic unsigned close_words; // what a worker has said of the segment that it closes
        uv_thread_t thread; // the loop's
        Transport transport;

        uv_prepare_t refresh; // looks at libraft's state before the loop sleeps; does not keep it awake
        uv_check_t listened; // the loop has taken what had come; the same
        uint64_t polled_ms, listened_ms; // at the end of the last turn's sleep, and of the one before
        Drain drain;        // barriers that wait, and the close
        unsigned n_handles; // of these three, not yet closed
        bool opening, closing, raft_closing;
        bool inside; // in a call to libraft from which no callback may reach the owner, or in one that must
                     // not call us
        int open_error;
        const char *open_why;

        // Role, as last announced
        bool announced;
        StoreRole role;
        StoreLeader leader;
        uint64_t lead_term, lead_index;

        // What a leader said first of how much is committed
        raft_index heard_commit; // 0: nothing yet
        bool complete; // was told that this is applied
        unsigned short room_kib; // that most voters must have for a leader to take anything

        // Requests
        uint64_t run, next_seq;
        ListNode pending;  // Pending, with libraft
        ListNode held;     // Pending, batches that wait for room: guard 21
        ListNode barriers; // Pending, that wait for the drain, or for room
        bool barriers_held;
        size_t n_pending;       // all of these
        uint64_t n_taken;       // how often libraft has taken something
        Progress room_progress; // of that, while something waits for room
        uint64_t full_term; // in which there was no room for too long, and nothing was taken since; 0: none
        TimeHistogram commits; // of batches
        struct MemberChange *change;

        // Before the disk: raft-gate.c
        struct {
                uv_work_t work;
                int fd;
                bool closed; // the worker is on its way to the file system
                bool delivering;
                ListNode writes, messages;
                raft_index append_index; // of what libraft appends next: it names that by a truncation
                raft_index next_index; // after all that libraft's disk code has and that waits; 0: not known
                bool writing;    // libraft's disk code has not answered the last append
                bool truncating; // a worker of libraft's is at it
                raft_index truncated; // what libraft's disk code was told last
                // libraft's disk code has a snapshot that was taken here, and closes segments for it
                bool putting;
                bool tick_held; // a candidate's
                size_t n_messages;
        } gate;

        // Disk
        Compaction compaction;
        TrailingLog trailing;
        Taking *taking;
        uint64_t retry_snapshot_ms; // none is taken before
        TimeHistogram snapshots;    // those that were written
        uint64_t snapshot_failures;
        uint64_t sent_term; // of the snapshot that was read for a member, while libraft is told; 0: none was
        Progress disk_progress;
        bool vote_is_none; // on the disk: the last that was written is a term
        bool full_disk_logged;
        uint64_t refreshed_disk_ms;
        struct { // a look of the pool at how much a quota leaves, while the log waits
                uv_work_t work;
                bool under_way, found_full, full; // found_full: the worker's, until it has ended
        } quota;

        // Network
        raft_io_recv_cb receive; // libraft's
        raft_io_tick_cb tick;
        ListNode lent; // Lent: raft-lent.c
        SendWindow windows[STORE_MEMBERS_MAX];
        LastAnswer answers[STORE_MEMBERS_MAX]; // raft_disk_say_again()

        // Authority: see authority.h
        Authority authority;
        uint64_t opened_ms;
        uint64_t timeout_now_term; // in which we were told to take over
        bool asked_in_vain; // raft_store_authority_until() has said that there is none
        uint64_t regain_ms; // when something was last done to be believed again

        // Leader: how the members get on
        MemberWatch watches[STORE_MEMBERS_MAX];
        MemberRoom rooms[STORE_MEMBERS_MAX];
        uint64_t refreshed_members_ms;
        uint64_t refreshed_commit, earlier_commit; // commit index at that time, and at the look before

        void (*closed)(void *userdata);
        void *closed_data;
} RaftStore;

static inline RaftStore *raft_store(const Store *s) {
        return CONTAINER_OF(s, RaftStore, store);
}

// Tells the owner and never returns.
_Noreturn void raft_store_fatal(RaftStore *s, const char *format, ...) _printf_(2, 3);
// libraft's codes end here.
int raft_store_errno(int raft_error);

// How much log libraft keeps, and when it asks for a snapshot.
void raft_store_set_compaction(RaftStore *s);

// raft-snapshot.c
// For libraft: `snapshot`, `snapshot_finalize`, and what stands before its snapshot_put().
int raft_snapshot_take(struct raft_fsm *fsm, struct raft_buffer *ret_bufs[], unsigned *ret_n);
int raft_snapshot_finalize(struct raft_fsm *fsm, struct raft_buffer *bufs[], unsigned *n);
int raft_snapshot_put(RaftStore *s, unsigned trailing, struct raft_io_snapshot_put *req,
                      const struct raft_snapshot *snapshot, raft_io_snapshot_put_cb done);
// Guard 18, for libraft: `snapshot_get`, and what it sends: returns what to send, which may be *ret_changed.
int raft_snapshot_get(struct raft_io *io, struct raft_io_snapshot_get *req, raft_io_snapshot_get_cb done);
const struct raft_message *raft_snapshot_send(RaftStore *s, const struct raft_message *message,
                                              struct raft_message *ret_changed);
// What is being encoded is not wanted any more. Whether a worker is at it: it ends with raft_gate_go_on()
// and, if the store closes, a mark at the drain.
bool raft_snapshot_give_up(RaftStore *s);
// Guard 24: entries were written.
void raft_snapshot_go_on(RaftStore *s);

// raft-submit.c
int raft_store_submit(Store *store, const void *data, size_t len, StoreDone done, void *userdata);
int raft_store_barrier(Store *store, StoreDone done, void *userdata);
// Notes that apply() of one of our own batches ran.
void raft_store_note_applied(RaftStore *s, BatchId id);
void raft_store_flush_barriers(RaftStore *s);
// Once per turn of the loop, while the store is not closing: what waits for room is given to libraft, or
// refused.
void raft_store_refresh_requests(RaftStore *s, uint64_t now_ms);
// The store is closing: what libraft does not have is answered.
void raft_store_end_requests(RaftStore *s);
// 0 if requests are taken now.
int raft_store_takes_requests(const RaftStore *s);

// raft-member.c
struct raft_server *raft_member_find(const RaftStore *s, raft_id id); // in the configuration that holds;
                                                                      // libraft's; NULL: it is in none
int raft_store_member_add(Store *store, uint32_t raft_id, StoreMemberDone done, void *userdata);
int raft_store_member_remove(Store *store, uint32_t raft_id, StoreMemberDone done, void *userdata);
int raft_store_transfer(Store *store, uint32_t raft_id, StoreMemberDone done, void *userdata);
void raft_store_stats(const Store *store, StoreStats *ret);
// Leader: which members answer but do not advance.
void raft_store_refresh_members(RaftStore *s, uint64_t now_ms);
// A member has said how much room it has. libraft keeps it to itself.
void raft_store_note_room(RaftStore *s, uint32_t raft_id, unsigned short kib);

// raft-disk.c
// Between raft_uv_init() and raft_init().
void raft_disk_init(RaftStore *s);
// Every message from a peer passes here on its way to libraft.
void raft_disk_receive(struct raft_io *io, struct raft_message *message);
// We lead, and this member is taking a long message of ours: libraft hears its last answer of this term
// again, which says that it is there, and nothing about what it has.
void raft_disk_say_again(RaftStore *s, uint32_t raft_id);
bool raft_disk_is_full(const char *dir); // by the figures of the file system
// After the log was loaded; `vote` is what is voted for in the current term.
void raft_disk_make_room_for_terms(RaftStore *s, raft_id vote);
// After that. An error of libraft's.
int raft_disk_make_exist(RaftStore *s);
// The only voter has become leader, if so: guard 17. An error of libraft's, while the store is opened.
int raft_disk_begin_term(RaftStore *s);
// Ends the process when entries wait for the disk for too long, or leaves the lead when it is full.
void raft_disk_refresh(RaftStore *s, uint64_t now_ms);

// A failure of libraft's disk code is ours.
int raft_disk_must_work(RaftStore *s, int r, const char *what);

// raft-window.c
// Of entries and snapshots in it; 0: it is a message of another kind, or a heartbeat.
size_t raft_window_bytes(const struct raft_message *message);
// The message, or *ret_changed, which lacks the entries that are on their way.
const struct raft_message *raft_window_skip(RaftStore *s, const struct raft_message *message,
                                            struct raft_message *ret_changed);
// As raft_io.send(), of a message with so many bytes of entries or of a snapshot. One for which there is no
// room is lost.
int raft_window_send(RaftStore *s, struct raft_io_send *req, const struct raft_message *message,
                     size_t bytes, raft_io_send_cb done);
// A member has answered what it was sent of entries.
void raft_window_on_answer(RaftStore *s, uint32_t raft_id, const struct raft_append_entries_result *answer);

// raft-lent.c
void raft_lent_begin(RaftStore *s, Lent *lent, raft_index index, const struct raft_entry *entries,
                     unsigned n);
void raft_lent_end(Lent *lent);
// libraft's log has other entries from `index` on.
void raft_lent_note_truncation(RaftStore *s, raft_index index);
// The message ends before an entry that somebody holds from before it was truncated.
void raft_lent_cut_message(const RaftStore *s, struct raft_append_entries *m);
typedef int RaftSend(RaftStore *s, struct raft_io_send *req, const struct raft_message *message,
                     raft_io_send_cb done);
// As raft_io.send(), by `pass`.
int raft_lent_send(RaftStore *s, struct raft_io_send *req, const struct raft_message *message,
                   raft_io_send_cb done, RaftSend *pass);

// raft-gate.c
// After raft_disk_init(). Negative errno.
int raft_gate_init(RaftStore *s);
void raft_gate_done(RaftStore *s);
// Whether the message waits: it makes libraft write. It comes back by raft_disk_receive().
bool raft_gate_takes(RaftStore *s, struct raft_message *message);
// Whether a tick of the clock, which may make libraft write, waits. It comes later.
bool raft_gate_holds_tick(RaftStore *s);
// What kept a message from being given to libraft is over.
void raft_gate_go_on(RaftStore *s);
// Guard 15: a worker has begun to truncate the log, or has ended.
void raft_gate_note_truncation(RaftStore *s, bool begins);
// Guard 16: libraft's disk code wants what is being written to come to an end, or has what it wanted that
// for.
void raft_gate_note_barrier(RaftStore *s, bool begins);
// A snapshot takes the place of what waits to be written.
void raft_gate_drop_writes(RaftStore *s);
// While the store closes: whether nothing waits here any more. If something does, the drain is marked when
// it does not.
bool raft_gate_ends(RaftStore *s);

// raft-authority.c
void raft_authority_init(RaftStore *s);
// A message for libraft, before and after it took it. False: it is not to get it.
bool raft_authority_before(RaftStore *s, const struct raft_message *message);
void raft_authority_after(RaftStore *s, int type, uint32_t raft_id, uint64_t term);
// Whether this host follows `sender`, and is in the same term.
bool raft_authority_obeys(RaftStore *s, uint32_t sender, uint64_t term);
// A message of libraft that is being sent: returns what to send, which may be *ret_changed.
const struct raft_message *raft_authority_send(RaftStore *s, const struct raft_message *message,
                                               struct raft_message *ret_changed);
uint64_t raft_store_authority_until(Store *store);
// Once per turn of the loop: tells when there is authority again, and gets it back after a handover that
// failed.
void raft_authority_refresh(RaftStore *s, uint64_t now_ms);

// raft-offline.c
// Makes the log of the first host: it is there whole, or not at all, whenever the power goes. (libraft
// writes a term before it writes the configuration, and would refuse both to lead and to begin again after a
// crash in between.)
int raft_offline_bootstrap(const char *dir, uint32_t raft_id, char **ret_why);
