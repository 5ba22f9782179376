// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fileio.h"
#include "ledger.h"
#include "map.h"
#include "tmpdir.h"

typedef struct Seen {
        size_t n;
        char name[8][64];
        LedgerRecord record[8];
        size_t n_returns;
        char back[8][64], with[8][64], through[8][64];
        bool needs[8], launched[8];
} Seen;

static int see(const LedgerRecord *record, void *userdata) {
        Seen *seen = userdata;

        if (seen->n < 8) {
                snprintf(seen->name[seen->n], 64, "%s", record->name);
                seen->record[seen->n] = *record;
        }
        seen->n++;
        return 0;
}

static int see_return(const LedgerReturn *back, void *userdata) {
        Seen *seen = userdata;

        assert_true(seen->n_returns < 8);
        snprintf(seen->back[seen->n_returns], 64, "%s", back->name);
        snprintf(seen->with[seen->n_returns], 64, "%s", back->with);
        snprintf(seen->through[seen->n_returns], 64, "%s", back->through);
        seen->launched[seen->n_returns] = back->launched;
        seen->needs[seen->n_returns++] = back->needs;
        return 0;
}

static LedgerRecord record_of(const char *name, uint64_t revision);

// What the owner has when the file is written anew.
static struct {
        const char *name;
        uint64_t revision;
} owned[4];
static size_t n_owned, n_reported;

static int put_all(Ledger *l, void *userdata) {
        n_reported++;
        for (size_t i = 0; i < n_owned; i++) {
                LedgerRecord r = record_of(owned[i].name, owned[i].revision);

                assert_int_equal(ledger_put(l, &r), 0);
        }
        return 0;
}

static Ledger *open_ledger(Seen *seen) {
        Ledger *l;

        *seen = (Seen){};
        n_owned = n_reported = 0;
        assert_int_equal(ledger_open("ledger", see, see_return, put_all, seen, &l), 0);
        return l;
}

static off_t file_size(void) {
        struct stat st;

        assert_int_equal(stat("ledger", &st), 0);
        return st.st_size;
}

static LedgerRecord record_of(const char *name, uint64_t revision) {
        LedgerRecord r = {
                .name = name,
                .spec = hash_of(name, strlen(name)),
                .from_template = true,
                .revision = revision,
                .start_rev = 2,
                .restart_rev = 3,
                .stop_rev = UINT64_C(0x8000000000000004),
                .invocation_id = {1, 2, 3, [15] = 16},
                .target = 2,
                .slice = "argosy-07.slice",
                .done = true,
                .interrupted = true,
                .owed = true,
                .taking = true,
                .unread = true,
                .reload = LEDGER_RELOAD_FAILED,
                .load = ARGOSY__LOAD_STATE__LOAD_BAD_SETTING,
        };

        return r;
}

static void put(Ledger *l, const char *name, uint64_t revision) {
        LedgerRecord r = record_of(name, revision);

        assert_int_equal(ledger_put(l, &r), 0);
}

static void gives_back_the_last_record_of_each_unit(void **state) {
        Seen seen;
        _cleanup_(ledger_closep) Ledger *l = open_ledger(&seen);
        LedgerRecord want = record_of("web@1.service", 9);

        assert_int_equal(seen.n, 0);
        put(l, "web@1.service", 1);
        put(l, "gone.service", 2);
        put(l, "web@1.service", 9);
        assert_int_equal(ledger_forget(l, "gone.service"), 0);
        assert_int_equal(ledger_forget(l, "never.service"), 0);
        assert_int_equal(ledger_flush(l), 0);
        ledger_close(l);

        l = open_ledger(&seen);
        assert_int_equal(seen.n, 1);
        assert_string_equal(seen.name[0], "web@1.service");
        assert_true(hash_equal(&seen.record[0].spec, &want.spec));
        assert_true(seen.record[0].from_template);
        assert_true(seen.record[0].done && seen.record[0].interrupted);
        assert_true(seen.record[0].owed && seen.record[0].taking && seen.record[0].unread);
        assert_int_equal(seen.record[0].reload, LEDGER_RELOAD_FAILED);
        assert_false(seen.record[0].failed || seen.record[0].pending || seen.record[0].unknown);
        assert_int_equal(seen.record[0].revision, 9);
        assert_int_equal(seen.record[0].start_rev, 2);
        assert_int_equal(seen.record[0].restart_rev, 3);
        assert_true(seen.record[0].stop_rev == want.stop_rev);
        assert_int_equal(seen.record[0].target, 2);
        assert_int_equal(seen.record[0].load, ARGOSY__LOAD_STATE__LOAD_BAD_SETTING);
        assert_memory_equal(seen.record[0].invocation_id, want.invocation_id, 16);
        assert_string_equal(seen.record[0].slice, "argosy-07.slice");
}

static void nothing_is_written_before_flush(void **state) {
        Seen seen;
        _cleanup_(ledger_closep) Ledger *l = open_ledger(&seen);

        put(l, "a.service", 1);
        assert_int_equal(file_size(), 8);
        assert_int_equal(ledger_flush(l), 0);
        off_t before = file_size();
        assert_true(before > 8);
        assert_int_equal(ledger_flush(l), 0);
        assert_int_equal(file_size(), before);
}

// The file with two records; returns where the second begins.
static size_t write_two(Buf *ret) {
        Seen seen;
        Ledger *l = open_ledger(&seen);

        put(l, "a.service", 1);
        assert_int_equal(ledger_flush(l), 0);
        size_t one = (size_t) file_size();
        put(l, "b.service", 2);
        assert_int_equal(ledger_flush(l), 0);
        ledger_close(l);
        assert_int_equal(file_read(AT_FDCWD, "ledger", 1 << 20, ret), 0);
        return one;
}

// Whatever prefix of the file a crash left: the records that are whole count, the rest is cut, and writing
// goes on.
static void a_torn_tail_is_cut_at_every_length(void **state) {
        _cleanup_buf_ Buf whole = {};
        size_t one = write_two(&whole);
        Seen seen;
        Ledger *l;

        for (size_t len = 0; len <= whole.len; len++) {
                assert_int_equal(file_replace(AT_FDCWD, "ledger", whole.data, len, 0600, 0), 0);
                l = open_ledger(&seen);
                assert_int_equal(seen.n, (len >= one) + (len == whole.len));
                put(l, "c.service", 3);
                assert_int_equal(ledger_flush(l), 0);
                ledger_close(l);
                l = open_ledger(&seen);
                assert_int_equal(seen.n, 1 + (len >= one) + (len == whole.len));
                ledger_close(l);
        }
}

static void any_flipped_bit_ends_the_good_part(void **state) {
        _cleanup_buf_ Buf whole = {};
        size_t one = write_two(&whole);
        Seen seen;
        Ledger *l;

        for (size_t i = one; i < whole.len; i++) {
                whole.data[i] ^= 0x40;
                assert_int_equal(file_replace(AT_FDCWD, "ledger", whole.data, whole.len, 0600, 0), 0);
                whole.data[i] ^= 0x40;
                l = open_ledger(&seen);
                assert_int_equal(seen.n, 1);
                assert_string_equal(seen.name[0], "a.service");
                ledger_close(l);
        }
}

static void other_files_are_left_alone(void **state) {
        _cleanup_buf_ Buf b = {};
        Seen seen = {};
        Ledger *l;

        assert_int_equal(file_replace(AT_FDCWD, "ledger", "[Unit]\nx=y\n", 11, 0600, 0), 0);
        assert_int_equal(ledger_open("ledger", see, see_return, put_all, &seen, &l), -EBADMSG);
        assert_int_equal(file_read(AT_FDCWD, "ledger", 100, &b), 0);
        assert_int_equal(b.len, 11);
}

static void history_is_dropped_by_a_rewrite(void **state) {
        Seen seen;
        _cleanup_(ledger_closep) Ledger *l = open_ledger(&seen);
        off_t most = 0;

        put(l, "stays.service", 1);
        owned[0].name = "stays.service", owned[0].revision = 1;
        owned[1].name = "busy.service";
        n_owned = 2;
        for (uint64_t i = 1; i < 3000; i++) {
                put(l, "busy.service", i);
                owned[1].revision = i;
                assert_int_equal(ledger_flush(l), 0);
                most = file_size() > most ? file_size() : most;
        }
        assert_true(n_reported >= 2 && n_reported <= 3);
        assert_true(file_size() < most);
        assert_true(most < 1100 * 160);
        ledger_close(l);
        l = open_ledger(&seen);
        assert_int_equal(seen.n, 2);
        for (size_t i = 0; i < 2; i++)
                assert_int_equal(seen.record[i].revision, streq(seen.name[i], "busy.service") ? 2999 : 1);
}

static int cannot_tell(Ledger *l, void *userdata) {
        int *left = userdata;

        return (*left)-- > 0 ? -ENOMEM : 0;
}

// What is queued is not lost with a rewrite that fails.
static void a_rewrite_that_fails_is_tried_again(void **state) {
        int left = 1;
        Seen seen = {};
        Ledger *l;

        assert_int_equal(ledger_open("ledger", see, see_return, cannot_tell, &left, &l), 0);
        for (uint64_t i = 1; i <= 1000; i++)
                put(l, "busy.service", i);
        assert_int_equal(ledger_flush(l), 0);
        off_t before = file_size();
        put(l, "busy.service", 1001);
        assert_int_equal(ledger_flush(l), -ENOMEM);
        assert_int_equal(file_size(), before);
        assert_int_equal(ledger_flush(l), 0);
        assert_int_equal(file_size(), 8); // the owner has nothing
        put(l, "next.service", 1);
        assert_int_equal(ledger_flush(l), 0);
        ledger_close(l);
        l = open_ledger(&seen);
        assert_int_equal(seen.n, 1);
        assert_string_equal(seen.name[0], "next.service");
        ledger_close(l);
}

static void a_failed_flush_is_made_good_by_the_next(void **state) {
        struct rlimit old, small;
        Seen seen;
        _cleanup_(ledger_closep) Ledger *l = open_ledger(&seen);

        put(l, "a.service", 1);
        assert_int_equal(ledger_flush(l), 0);
        put(l, "b.service", 2);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
        small = (struct rlimit){.rlim_cur = (rlim_t) file_size() + 10, .rlim_max = old.rlim_max};
        signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        assert_int_equal(ledger_flush(l), -EFBIG);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        put(l, "c.service", 3);
        assert_int_equal(ledger_flush(l), 0);
        ledger_close(l);
        l = open_ledger(&seen);
        assert_int_equal(seen.n, 3);
}

static void refuses_what_does_not_fit(void **state) {
        char name[300] = "a.service";
        LedgerRecord r = record_of(name, 1);
        Seen seen;
        _cleanup_(ledger_closep) Ledger *l = open_ledger(&seen);

        memset(name, 'a', sizeof(name));
        name[256] = 0;
        assert_int_equal(ledger_put(l, &r), -EINVAL);
        name[255] = 0;
        assert_int_equal(ledger_put(l, &r), 0);
        memset(r.slice, 'x', sizeof(r.slice));
        assert_int_equal(ledger_put(l, &r), -EINVAL);
}

// They are not the records of their units, which may have one too, or be somebody else's.
static void what_is_to_come_back_is_kept_until_it_is_back(void **state) {
        char name[300];
        Seen seen;
        _cleanup_(ledger_closep) Ledger *l = open_ledger(&seen);

        put(l, "web.service", 1);
        assert_int_equal(ledger_put_return(l, &(LedgerReturn){"web.service", "old.service", "old.service"}),
                         0);
        assert_int_equal(
                ledger_put_return(l, &(LedgerReturn){"web.service", "db.service", "db.service", true, true}),
                0);
        assert_int_equal(
                ledger_put_return(l, &(LedgerReturn){"foreign.service", "db.service", "web.service"}), 0);
        assert_int_equal(ledger_flush(l), 0);
        ledger_close(l);
        l = open_ledger(&seen);
        assert_int_equal(seen.n, 1);
        assert_int_equal(seen.n_returns, 2);
        for (size_t i = 0; i < 2; i++) {
                assert_string_equal(seen.with[i], "db.service");
                assert_string_equal(seen.through[i],
                                    streq(seen.back[i], "web.service") ? "db.service" : "web.service");
                assert_int_equal(seen.needs[i], streq(seen.back[i], "web.service"));
                assert_int_equal(seen.launched[i], streq(seen.back[i], "web.service"));
        }
        assert_int_equal(ledger_forget_return(l, "web.service"), 0);
        assert_int_equal(ledger_forget(l, "foreign.service"), 0); // it has no record
        assert_int_equal(ledger_flush(l), 0);
        memset(name, 'a', sizeof(name));
        name[256] = 0;
        assert_int_equal(ledger_put_return(l, &(LedgerReturn){"a.service", name, "b.service"}), -EINVAL);
        assert_int_equal(ledger_put_return(l, &(LedgerReturn){name, "a.service", "a.service"}), -EINVAL);
        ledger_close(l);
        l = open_ledger(&seen);
        assert_int_equal(seen.n, 1);
        assert_int_equal(seen.n_returns, 1);
        assert_string_equal(seen.back[0], "foreign.service");
}

#define T(f) cmocka_unit_test_setup_teardown(f, tmpdir_enter, tmpdir_drop)

RUN_TESTS(
        T(gives_back_the_last_record_of_each_unit),
        T(nothing_is_written_before_flush),
        T(a_torn_tail_is_cut_at_every_length),
        T(any_flipped_bit_ends_the_good_part),
        T(other_files_are_left_alone),
        T(history_is_dropped_by_a_rewrite),
        T(a_rewrite_that_fails_is_tried_again),
        T(a_failed_flush_is_made_good_by_the_next),
        T(refuses_what_does_not_fit),
        T(what_is_to_come_back_is_kept_until_it_is_back)
)
