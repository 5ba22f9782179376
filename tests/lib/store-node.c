// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "fileio.h"
#include "macro.h"
#include "store-node.h"

// ---- the state

static int on_apply(uint64_t index, const uint8_t *data, size_t len, void *userdata) {
        StoreNode *n = userdata;
        _cleanup_buf_ Buf b = {};

        assert_false(n->calling);
        assert_true(index > n->last_index);
        n->last_index = index;
        n->n_applied++;
        assert_int_equal(buf_append(&b, n->chain.bytes, HASH_SIZE), 0);
        assert_int_equal(buf_append(&b, data, len), 0);
        n->chain = hash_of(b.data, b.len);
        if (!n->compacts)
                return 0;
        n->compacts = false;
        return STORE_APPLY_COMPACT;
}

typedef struct Snapshot {
        StoreNode *node;
        uint64_t n_applied;
        Hash chain;
        size_t filler;
        unsigned n_pieces;
} Snapshot;

static int on_snapshot(void **ret, void *userdata) {
        StoreNode *n = userdata;
        Snapshot *s;

        assert_false(n->calling);
        if (n->snapshot_error < 0)
                return n->snapshot_error;
        s = malloc(sizeof(*s));
        assert_non_null(s);
        *s = (Snapshot){.node = n, .n_applied = n->n_applied, .chain = n->chain, .filler = n->filler};
        n->n_snapshots++;
        n->n_held++;
        *ret = s;
        return 0;
}

// The state, and the filler in pieces. In a worker thread.
static int on_snapshot_encode(void *snapshot, Buf *ret) {
        Snapshot *s = snapshot;
        size_t len = MIN_OF(s->filler, (size_t) STORE_NODE_PIECE);
        uint8_t *filler;

        if (s->node->before_piece)
                s->node->before_piece(s->node);
        if (s->n_pieces++ == 0) {
                assert_int_equal(buf_append(ret, &s->n_applied, sizeof(s->n_applied)), 0);
                assert_int_equal(buf_append(ret, s->chain.bytes, HASH_SIZE), 0);
                return s->filler > 0 ? STORE_SNAPSHOT_MORE : 0;
        }
        if (atomic_exchange(&s->node->piece_error, 0))
                return -ENOMEM;
        filler = buf_reserve(ret, len);
        assert_non_null(filler);
        memset(filler, 'x', len);
        ret->len += len;
        s->filler -= len;
        return s->filler > 0 ? STORE_SNAPSHOT_MORE : 0;
}

static bool on_snapshot_is_cut(const void *snapshot) {
        return ((const Snapshot *) snapshot)->node->cut;
}

static void on_snapshot_release(void *snapshot, void *userdata) {
        StoreNode *n = userdata;

        assert_true(n->n_held > 0);
        n->n_held--;
        free(snapshot);
}

static int on_restore(const uint8_t *data, size_t len, void *userdata) {
        StoreNode *n = userdata;

        n->n_restores++;
        if (len < sizeof(n->n_applied) + HASH_SIZE)
                return -EBADMSG;
        memcpy(&n->n_applied, data, sizeof(n->n_applied));
        memcpy(n->chain.bytes, data + sizeof(n->n_applied), HASH_SIZE);
        return 0;
}

static void on_role(StoreRole role, StoreLeader leader, void *userdata) {
        StoreNode *n = userdata;

        assert_false(n->calling);
        n->role = role;
        n->leader = leader;
        n->n_roles++;
}

static void on_fatal(const char *why, void *userdata) {
        fprintf(stderr, "fatal: %s\n", why);
        _exit(99);
}

static bool on_retired(uint32_t raft_id, void *userdata) {
        StoreNode *n = userdata;

        return n->retired && n->retired(raft_id, n->cluster);
}

static bool on_resolve(uint32_t raft_id, char *ret_address, size_t size, uint16_t *ret_port, Hash *ret_pin,
                       void *userdata) {
        StoreNode *n = userdata;

        return n->resolve && n->resolve(raft_id, ret_address, size, ret_port, ret_pin, n->cluster);
}

static void on_complete(void *userdata) {
        StoreNode *n = userdata;

        assert_false(n->complete);
        assert_int_not_equal(n->role, STORE_LEADER);
        n->complete = true;
        n->n_applied_when_complete = n->n_applied;
}

static void on_authority(void *userdata) {
        ((StoreNode *) userdata)->n_authorities++;
}

static void on_snapshot_written(void *userdata) {
        StoreNode *n = userdata;

        assert_int_equal(n->n_held, 0);
        n->n_written++;
}

static const StoreOps ops = {
        .apply = on_apply,
        .snapshot = on_snapshot,
        .snapshot_encode = on_snapshot_encode,
        .snapshot_is_cut = on_snapshot_is_cut,
        .snapshot_release = on_snapshot_release,
        .snapshot_written = on_snapshot_written,
        .restore = on_restore,
        .role = on_role,
        .complete = on_complete,
        .authority = on_authority,
        .fatal = on_fatal,
        .resolve = on_resolve,
        .retired = on_retired,
};

// ---- life

void store_node_init(StoreNode *n, uv_loop_t *loop, const char *dir, uint32_t raft_id) {
        *n = (StoreNode){.loop = loop, .raft_id = raft_id};
        snprintf(n->dir, sizeof(n->dir), "%s", dir);
}

void store_node_open(StoreNode *n, bool bootstrap, int *ret_error, char **ret_why) {
        StoreConfig config = {
                .loop = n->loop,
                .dir = n->dir,
                .raft_id = n->raft_id,
                .bootstrap = bootstrap,
                .election_ms = n->election_ms ?: 300,
                .heartbeat_ms = n->heartbeat_ms ?: 60,
                .tls = n->tls,
        };
        _cleanup_free_ char *why = NULL;

        assert_null(n->store);
        n->n_applied = n->last_index = 0;
        n->chain = (Hash){};
        n->role = STORE_FOLLOWER;
        n->leader = (StoreLeader){};
        n->complete = false;
        n->n_roles = n->n_restores = n->n_snapshots = 0;
        int r = store_open(&config, &ops, n, &n->store, &why);
        if (ret_error) {
                *ret_error = r;
                if (ret_why)
                        *ret_why = TAKE_PTR(why);
                return;
        }
        if (r < 0)
                fail_msg("store_open: %s (%s)", strerror(-r), why ?: "");
        assert_null(why);
}

static void on_closed(void *userdata) {
        assert_int_equal(((StoreNode *) userdata)->n_held, 0);
        ((StoreNode *) userdata)->closed = true;
}

static bool is_closed(void *userdata) {
        return ((StoreNode *) userdata)->closed;
}

void store_node_close(StoreNode *n) {
        if (!n->store)
                return;
        n->closed = false;
        store_close(TAKE_PTR(n->store), on_closed, n);
        store_run_until(n->loop, is_closed, n, STORE_PATIENCE_MS, "close");
}

// ---- waiting

static void on_timeout(uv_timer_t *t) {
        *(bool *) t->data = true;
}

static void on_timer_closed(uv_handle_t *h) {
        *(bool *) h->data = true;
}

static bool run_until(uv_loop_t *loop, StoreCondition condition, void *userdata, unsigned timeout_ms) {
        bool timed_out = false, closed = false, holds;
        uv_timer_t timer;

        uv_timer_init(loop, &timer);
        timer.data = &timed_out;
        uv_timer_start(&timer, on_timeout, timeout_ms, 0);
        while (!(holds = condition && condition(userdata)) && !timed_out)
                uv_run(loop, UV_RUN_ONCE);
        timer.data = &closed;
        uv_close((uv_handle_t *) &timer, on_timer_closed);
        while (!closed)
                uv_run(loop, UV_RUN_NOWAIT);
        return holds;
}

void store_run_until(uv_loop_t *loop, StoreCondition condition, void *userdata, unsigned timeout_ms,
                     const char *what) {
        if (!run_until(loop, condition, userdata, timeout_ms))
                fail_msg("timed out: %s", what);
}

void store_run_for(uv_loop_t *loop, unsigned ms) {
        run_until(loop, NULL, NULL, ms);
}

static bool is_leader(void *userdata) {
        return ((StoreNode *) userdata)->role == STORE_LEADER;
}

void store_node_wait_leader(StoreNode *n) {
        store_run_until(n->loop, is_leader, n, STORE_PATIENCE_MS, "becoming leader");
}

void store_on_done(StoreOutcome outcome, uint64_t index, void *answer) {
        StoreAnswer *a = answer;

        a->n++;
        a->outcome = outcome;
        a->index = index;
}

void store_on_member(int error, void *answer) {
        StoreAnswer *a = answer;

        a->n++;
        a->error = error;
}

bool store_is_answered(void *answer) {
        return ((StoreAnswer *) answer)->n > 0;
}

bool store_node_is_sure(void *node) {
        return store_authority_until(((StoreNode *) node)->store) > clock_boot_us();
}

StoreAnswer store_node_submit(StoreNode *n, const void *data, size_t len) {
        StoreAnswer a = {};

        n->calling = true;
        assert_int_equal(store_submit(n->store, data, len, store_on_done, &a), 0);
        n->calling = false;
        assert_int_equal(a.n, 0);
        store_run_until(n->loop, store_is_answered, &a, STORE_PATIENCE_MS, "answer to a batch");
        assert_int_equal(a.n, 1);
        return a;
}

// ---- directories

void store_dir_make(char *ret, size_t size) {
        const char *base = getenv("TMPDIR");

        snprintf(ret, size, "%s/store-XXXXXX", base ?: "/tmp");
        assert_non_null(mkdtemp(ret));
}

void store_dir_remove(const char *dir) {
        assert_int_equal(dir_empty(AT_FDCWD, dir), 0);
        assert_int_equal(rmdir(dir), 0);
}

// Hash of the names in a directory, in the order of readdir(3).
static Hash hash_names(const char *dir) {
        _cleanup_buf_ Buf b = {};
        DIR *d = opendir(dir);
        struct dirent *e;

        assert_non_null(d);
        while ((e = readdir(d)))
                assert_int_equal(buf_append(&b, e->d_name, strlen(e->d_name) + 1), 0);
        closedir(d);
        return hash_of(b.data, b.len);
}

// False if a file went away meanwhile.
static bool copy_files(const char *from, const char *to) {
        DIR *d = opendir(from);
        struct dirent *e;
        bool complete = true;

        assert_non_null(d);
        while ((e = readdir(d)) && complete) {
                char path[1024];
                _cleanup_buf_ Buf b = {};

                if (e->d_name[0] == '.')
                        continue;
                snprintf(path, sizeof(path), "%s/%s", from, e->d_name);
                int r = file_read(AT_FDCWD, path, SIZE_MAX, &b);
                complete = r == 0;
                assert_true(r == 0 || r == -ENOENT);
                snprintf(path, sizeof(path), "%s/%s", to, e->d_name);
                if (complete)
                        assert_int_equal(file_replace(AT_FDCWD, path, b.data, b.len, 0600, 0), 0);
        }
        closedir(d);
        return complete;
}

void store_dir_copy(const char *from, const char *to) {
        bool complete;
        Hash before, after;

        assert_true(mkdir(to, 0700) == 0 || errno == EEXIST);
        do { // libraft's worker threads may be renaming
                assert_int_equal(dir_empty(AT_FDCWD, to), 0);
                before = hash_names(from);
                complete = copy_files(from, to);
                after = hash_names(from);
        } while (!complete || !hash_equal(&before, &after));
}

void store_dir_replace(const char *dir, const char *image) {
        store_dir_remove(dir);
        assert_int_equal(rename(image, dir), 0);
}

// libraft leaks the message that it was reading when a connection closes, and the segment that it was
// reading when it is damaged.
const char *__lsan_default_suppressions(void);
_public_ const char *__lsan_default_suppressions(void) {
        return "leak:libraft.so\n";
}
