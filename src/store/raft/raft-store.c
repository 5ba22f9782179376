// SPDX-License-Identifier: LGPL-2.1-or-later

// A store on libraft: opening, closing, what libraft calls back (but for taking snapshots), and roles. The
// map of the other files and the list of guards are in raft-store.h.
//
// Opening blocks: libraft reads the log, restores the newest snapshot and, if this is the only voter,
// applies everything.
//
// Closing: store_close() -> drain (nothing is called back from inside the call; workers that encode a
// snapshot or stand before the disk are waited for) -> raft_close(), which answers all requests ->
// on_raft_closed() -> our handles -> closed().
//
// Roles: libraft has no callback for them, so a uv_prepare handle compares before the loop goes to sleep.
// Whatever changes libraft's state does so in the loop, and libraft's own tick (once per heartbeat) wakes it
// when nothing else does.

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fileio.h"
#include "log-marker.h"
#include "log.h"
#include "process-end.h"
#include "raft-store.h"
#include "random.h"
#include "reserve.h"
#include "segments.h"
#include "snapshot-files.h"
#include "str.h"

enum {
        ELECTION_MS = 600,
        HEARTBEAT_MS = 200,
        // Guard 6. Tests: store/raft (throughput of one turn), store/cluster.
        SEGMENT_BYTES = 8 * 1024 * 1024, // below 4 MiB libraft says NOSPACE for ever
        INFLIGHT_ENTRIES = 256,          // the default 32 costs half the throughput
        DISK_RETRY_MS = 1000,
        CONNECT_RETRY_MS = 200,
        INSTALL_TIMEOUT_MS = 30 * 1000, // sending a whole snapshot
        CATCH_UP_ROUND_MS = 30 * 1000,  // one round of a new member, which may contain a snapshot
        ROOM_KIB = 4 * 1024,            // that libraft has reserved on a voter's disk (its own default)
};

// clang-format off
#define WAY_OUT                                                                                        \
        "Remove this host from the cluster on another one ('argosyctl cluster remove') and join again; " \
        "if no other voter is left, restore the directory from a backup, or recover on a host whose "    \
        "log is whole ('argosyctl cluster recover')."
// clang-format on

void raft_store_fatal(RaftStore *s, const char *format, ...) {
        char why[512];
        va_list ap;

        va_start(ap, format);
        str_vfit(why, sizeof(why), format, ap);
        va_end(ap);
        s->store.ops->fatal(why, s->store.userdata);
        process_end(EXIT_FAILURE); // at once: libraft is in a state from which it would only crash or lie
}

int raft_store_errno(int raft_error) {
        switch (raft_error) {
        case 0:
                return 0;
        case RAFT_NOMEM:
                return -ENOMEM;
        case RAFT_NOTLEADER:
        case RAFT_LEADERSHIPLOST:
                return -EAGAIN;
        case RAFT_CANTCHANGE:
        case RAFT_BUSY:
                return -EBUSY;
        case RAFT_CORRUPT:
        case RAFT_MALFORMED:
                return -EBADMSG;
        case RAFT_NOSPACE:
                return -ENOSPC;
        case RAFT_SHUTDOWN:
        case RAFT_CANCELED:
                return -ECANCELED;
        case RAFT_NOCONNECTION:
                return -ETIMEDOUT;
        case RAFT_NOTFOUND:
        case RAFT_BADID:
                return -ENOENT;
        case RAFT_DUPLICATEID:
        case RAFT_DUPLICATEADDRESS:
                return -EEXIST;
        default:
                return -EIO;
        }
}

// ---- what libraft calls

void raft_store_set_compaction(RaftStore *s) {
        raft_set_snapshot_threshold(&s->raft,
                                    compaction_is_due(&s->compaction) ? 1 : STORE_SNAPSHOT_ENTRIES);
        raft_set_snapshot_trailing(&s->raft, trailing_log_entries(&s->trailing));
}

// Fatal at run time, an error of store_open() before.
static int fail(RaftStore *s, int error, const char *why) {
        if (!s->opening)
                raft_store_fatal(s, "%s", why);
        s->open_error = error;
        s->open_why = why;
        return RAFT_CORRUPT;
}

static int on_apply(struct raft_fsm *fsm, const struct raft_buffer *buf, void **ret_result) {
        RaftStore *s = CONTAINER_OF(fsm, RaftStore, fsm);
        const uint8_t *data;
        BatchId id;
        size_t len;
        int r;

        *ret_result = NULL;
        r = batch_record_decode(buf->base, buf->len, &id, &data, &len);
        if (r == -EPROTONOSUPPORT)
                return fail(s, r, "the log was written by a newer version of this program");
        if (r < 0)
                return fail(s, r, "a committed entry of the log is damaged");
        s->inside = true;
        r = s->store.ops->apply(raft_last_applied(&s->raft) + 1, data, len, s->store.userdata);
        s->inside = false;
        if (r < 0)
                return fail(s, r, "a committed batch could not be applied");
        raft_store_note_applied(s, id);
        compaction_add(&s->compaction, buf->len);
        if (r == STORE_APPLY_COMPACT)
                compaction_ask(&s->compaction);
        trailing_log_add(&s->trailing, (uint32_t) buf->len);
        raft_store_set_compaction(s);
        return 0;
}

static int on_restore(struct raft_fsm *fsm, struct raft_buffer *buf) {
        RaftStore *s = CONTAINER_OF(fsm, RaftStore, fsm);
        Compaction before;
        const uint8_t *data;
        size_t len;
        int r = snapshot_record_open(buf->base, buf->len, &data, &len); // guard 2

        if (r == -EPROTONOSUPPORT)
                return fail(s, r, "the snapshot was written by a newer version of this program");
        if (r < 0)
                return fail(s, r, "the snapshot is damaged");
        s->inside = true;
        r = s->store.ops->restore(data, len, s->store.userdata);
        s->inside = false;
        if (r < 0)
                return fail(s, r, "the snapshot could not be restored");
        before = s->compaction;
        compaction_done(&s->compaction, &before, buf->len);
        raft_store_set_compaction(s);
        raft_free(buf->base);
        return 0;
}

// ---- roles

static RoleView role_view(RaftStore *s) {
        RoleView v = {.applied_index = raft_last_applied(&s->raft)};

        switch (raft_state(&s->raft)) {
        case RAFT_LEADER:
                v.state = VIEW_LEADER;
                if (s->lead_term != raft_current_term(&s->raft)) {
                        s->lead_term = raft_current_term(&s->raft);
                        s->lead_index = raft_last_index(&s->raft); // nothing can have been submitted yet
                }
                v.lead_index = s->lead_index;
                break;
        case RAFT_CANDIDATE:
                v.state = VIEW_CANDIDATE;
                break;
        default:
                v.state = VIEW_FOLLOWER;
        }
        return v;
}

// Guard 13. A new leader begins its term with an entry of its own, without which it cannot know what the one
// before has committed. libraft makes that once, and not at all if most voters have said that they have
// little room, be it for a moment: then it leads for good and commits nothing. So a candidate asks for room
// before it leads.
static void judge_room(RaftStore *s, StoreRole role) {
        raft_set_capacity_threshold(&s->raft, role == STORE_LEADER ? s->room_kib : 0);
}

// A leader knows what is committed once it has applied all that its log had when its term began. A follower
// learns it from the leader that it follows: raft_disk_receive().
static bool is_complete(RaftStore *s) {
        RoleView view = role_view(s);

        if (view.state == VIEW_LEADER)
                return plan_role(&view) == STORE_LEADER;
        return s->heard_commit > 0 && view.applied_index >= s->heard_commit;
}

static void judge_complete(RaftStore *s) {
        if (s->complete || !is_complete(s))
                return;
        s->complete = true;
        if (s->store.ops->complete)
                s->store.ops->complete(s->store.userdata);
}

static void announce(RaftStore *s) {
        RoleView view = role_view(s);
        StoreRole role = plan_role(&view);
        StoreLeader leader = {.term = raft_current_term(&s->raft)};
        const char *address;
        raft_id id;

        judge_room(s, role);
        raft_leader(&s->raft, &id, &address);
        leader.raft_id = id;
        if (s->announced && role == s->role && leader.raft_id == s->leader.raft_id &&
            leader.term == s->leader.term)
                return;
        s->announced = true;
        s->role = role;
        s->leader = leader;
        s->store.ops->role(role, leader, s->store.userdata);
}

static void on_refresh(uv_prepare_t *refresh) {
        RaftStore *s = refresh->data;
        uint64_t now = uv_now(s->loop);

        if (s->closing)
                return;
        raft_disk_refresh(s, now);
        raft_store_refresh_members(s, now);
        raft_store_refresh_requests(s, now);
        if (s->closing)
                return;
        judge_complete(s);
        announce(s);
        raft_authority_refresh(s, now);
}

// Whether the last turn read anything is not known: a signal, SIGCONT among them, ends the loop's sleep
// before it polls.
static void on_listened(uv_check_t *listened) {
        RaftStore *s = listened->data;

        s->listened_ms = s->polled_ms;
        s->polled_ms = uv_now(s->loop);
}

// ---- closing

static void on_handle_closed(uv_handle_t *h) {
        RaftStore *s = h->data;

        if (--s->n_handles > 0)
                return;
        if (s->closed)
                s->closed(s->closed_data);
        raft_gate_done(s);
        free(s->dir);
        free(s);
}

static void on_raft_closed(struct raft *raft) {
        RaftStore *s = CONTAINER_OF(raft, RaftStore, raft);

        assert(list_is_empty(&s->pending) && list_is_empty(&s->held) && !s->taking);
        raft_uv_close(&s->io);
        s->drain.idle.data = s;
        drain_close(&s->drain, on_handle_closed);
        uv_close((uv_handle_t *) &s->refresh, on_handle_closed);
        uv_close((uv_handle_t *) &s->listened, on_handle_closed);
}

static void on_drain(void *userdata) {
        RaftStore *s = userdata;

        if (s->closing)
                raft_store_end_requests(s);
        else
                raft_store_flush_barriers(s);
        if (!s->closing || s->raft_closing || raft_snapshot_give_up(s) || !raft_gate_ends(s) ||
            s->quota.under_way)
                return;
        s->raft_closing = true;
        raft_close(&s->raft, on_raft_closed);
}

static void raft_store_close(Store *store, void (*closed)(void *userdata), void *userdata) {
        RaftStore *s = raft_store(store);

        assert(!s->closing);
        s->closing = true;
        s->closed = closed;
        s->closed_data = userdata;
        drain_mark(&s->drain);
}

static void raft_store_accept(Store *store, Stream *stream, uint32_t raft_id) {
        transport_accept(&raft_store(store)->transport, stream, raft_id);
}

static void raft_store_recheck(Store *store) {
        transport_recheck(&raft_store(store)->transport);
}

static const StoreImpl raft_impl = {
        .close = raft_store_close,
        .accept = raft_store_accept,
        .recheck = raft_store_recheck,
        .submit = raft_store_submit,
        .barrier = raft_store_barrier,
        .member_add = raft_store_member_add,
        .member_remove = raft_store_member_remove,
        .transfer = raft_store_transfer,
        .stats = raft_store_stats,
        .authority_until = raft_store_authority_until,
};

// ---- opening

static RaftStore *raft_store_free(RaftStore *s) {
        if (!s)
                return NULL;
        raft_gate_done(s);
        free(s->dir);
        free(s);
        return NULL;
}
DEFINE_CLEANUP(RaftStore *, raft_store_free)

static RaftStore *raft_store_new(const StoreConfig *config, const StoreOps *ops, void *userdata) {
        RaftStore *s = malloc(sizeof(*s));

        if (!s)
                return NULL;
        *s = (RaftStore){
                .store = {.impl = &raft_impl, .ops = ops, .userdata = userdata},
                .loop = config->loop,
                .raft_id = config->raft_id,
                .election_ms = config->election_ms ?: ELECTION_MS,
                .heartbeat_ms = config->heartbeat_ms ?: HEARTBEAT_MS,
                .dir = strdup(config->dir),
                .opening = true,
                .gate.fd = -1,
                .fsm =
                        {
                                .version = 3,
                                .apply = on_apply,
                                .snapshot = raft_snapshot_take,
                                .snapshot_finalize = raft_snapshot_finalize,
                                .restore = on_restore,
                        },
        };
        list_init(&s->pending);
        list_init(&s->held);
        list_init(&s->barriers);
        if (!s->dir)
                return raft_store_free(s);
        random_bytes(&s->run, sizeof(s->run));
        return s;
}

static void raft_store_configure(RaftStore *s, const StoreConfig *config) {
        raft_set_election_timeout(&s->raft, s->election_ms);
        raft_set_heartbeat_timeout(&s->raft, s->heartbeat_ms);
        raft_set_pre_vote(&s->raft, true);
        raft_set_max_inflight_entries(&s->raft, INFLIGHT_ENTRIES);
        raft_set_install_snapshot_timeout(&s->raft, INSTALL_TIMEOUT_MS);
        raft_set_max_catch_up_round_duration(&s->raft, CATCH_UP_ROUND_MS);
        s->room_kib = ROOM_KIB;
        judge_room(s, STORE_FOLLOWER);
        raft_store_set_compaction(s);
}

// raft_uv_init() and raft_init(). On error everything is released again.
static int raft_store_init(RaftStore *s, TlsContext *tls) {
        char address[TRANSPORT_ADDRESS_SIZE];
        int r;

        transport_init(&s->transport, s->loop, tls, &s->store);
        transport_address(s->raft_id, address);
        r = raft_uv_init(&s->io, s->loop, s->dir, &s->transport.uv);
        if (r != 0)
                return r;
        raft_disk_init(s);
        r = raft_gate_init(s);
        if (r < 0) {
                raft_uv_close(&s->io);
                return r == -ENOMEM ? RAFT_NOMEM : r == -ENOSPC ? RAFT_NOSPACE : RAFT_IOERR;
        }
        raft_authority_init(s);
        raft_uv_set_auto_recovery(&s->io, false); // guard 5. Test: store/raft, a_damaged_log_is_refused
        raft_uv_set_segment_size(&s->io, SEGMENT_BYTES);
        raft_uv_set_disk_retry(&s->io, DISK_RETRY_MS);
        raft_uv_set_connect_retry_delay(&s->io, CONNECT_RETRY_MS);
        r = raft_init(&s->raft, &s->io, &s->fsm, s->raft_id, address);
        if (r != 0)
                raft_uv_close(&s->io);
        return r;
}

// A log that ends in the middle is reported as an I/O error.
static bool is_damage(int raft_error, const char *message) {
        return raft_error == RAFT_CORRUPT || raft_error == RAFT_MALFORMED ||
               (raft_error == RAFT_IOERR &&
                (strstr(message, "short read") || strstr(message, "file has only")));
}

static int explain(RaftStore *s, int raft_error, const char *message, char **ret_why) {
        int error = s->open_error;

        reserve_keep(s->dir);
        if (error == 0)
                error = is_damage(raft_error, message) ? -EBADMSG : raft_store_errno(raft_error);
        if (error == -EIO && (raft_disk_is_full(s->dir) || !reserve_disk_takes(s->dir, RESERVE_BYTES)))
                error = -ENOSPC; // libraft does not tell the two apart everywhere
        if (s->open_why)
                message = s->open_why;
        else if (error == -ENOSPC)
                message = reserve_full_words(s->dir);
        else if (!*message)
                message = raft_strerror(raft_error);
        if (error == -EBADMSG)
                *ret_why = str_printf("the log in %s is damaged: %s. " WAY_OUT, s->dir, message);
        else
                *ret_why = str_printf("cannot open the log in %s: %s", s->dir, message);
        return error;
}

static int prepare_dir(RaftStore *s, bool bootstrap, char **ret_why) {
        int r = 0, finished = 0;

        if (bootstrap && !store_exists(s->dir))
                r = raft_offline_bootstrap(s->dir, s->raft_id, ret_why);
        else if (mkdir(s->dir, 0700) < 0 && errno != EEXIST)
                r = -errno;
        if (r >= 0)
                r = finished = log_markers_finish(s->dir);
        if (r >= 0)
                r = segments_undo_truncation(s->dir); // guard 20
        if (r < 0 && !*ret_why)
                *ret_why = str_printf("cannot prepare %s: %s", s->dir, strerror(-r));
        if (finished > 0)
                log_warning("finished the snapshot in %s whose installation was interrupted", s->dir);
        return r;
}

static int init_handles(RaftStore *s) {
        int r = drain_init(&s->drain, s->loop, on_drain, s);

        if (r < 0)
                return r;
        uv_prepare_init(s->loop, &s->refresh);
        uv_check_init(s->loop, &s->listened);
        s->refresh.data = s->listened.data = s;
        s->n_handles = 3;
        return 0;
}

// libraft's code; what went wrong may be in s->open_error as well.
static int load(RaftStore *s, const char **ret_why) {
        uint64_t newest;
        int r = snapshot_files_newest(s->dir, &newest); // before libraft gives numbers by it: guard 28

        *ret_why = s->raft.errmsg;
        if (r < 0)
                return fail(s, r, r == -EBADMSG ? "the newest snapshot is damaged" : strerror(-r));
        r = raft_start(&s->raft);
        if (r != 0 || s->open_error < 0)
                return r;
        if (s->raft.trail.snapshot.index != newest)
                return fail(s, -EBADMSG, "the newest snapshot cannot be read");
        *ret_why = s->io.errmsg;
        r = raft_disk_begin_term(s);
        if (r != 0)
                return r;
        raft_disk_make_room_for_terms(s, s->raft.voted_for);
        return raft_disk_make_exist(s);
}

int store_open(const StoreConfig *config, const StoreOps *ops, void *userdata, Store **ret, char **ret_why) {
        _cleanup_(raft_store_freep) RaftStore *s = NULL;
        const char *why;
        int r;

        assert(config->raft_id > 0);

        *ret_why = NULL;
        s = raft_store_new(config, ops, userdata);
        if (!s)
                return -ENOMEM;
        signal(SIGPIPE, SIG_IGN); // libraft writes to its end of a socket pair after ours was closed
        r = uvx_start_pool(NULL);
        if (r < 0)
                return r;
        r = prepare_dir(s, config->bootstrap, ret_why);
        if (r < 0)
                return r;
        reserve_give(s->dir);
        r = raft_store_init(s, config->tls);
        if (r != 0)
                return explain(s, r, s->io.errmsg, ret_why);
        r = init_handles(s);
        if (r < 0)
                return r;
        raft_store_configure(s, config);
        r = load(s, &why);
        if (r != 0 || s->open_error < 0) {
                r = explain(s, r, why, ret_why);
                raft_store_close(&TAKE_PTR(s)->store, NULL, NULL); // goes when the loop runs
                return r;
        }
        reserve_keep(s->dir);
        s->opening = false;
        uv_prepare_start(&s->refresh, on_refresh);
        uv_unref((uv_handle_t *) &s->refresh);
        uv_check_start(&s->listened, on_listened);
        uv_unref((uv_handle_t *) &s->listened);
        *ret = &TAKE_PTR(s)->store;
        return 0;
}
