// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Control groups as recorded trees (directories with the files that a kernel with all controllers shows),
// and real ones where this process may make some.

#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cgroup-path.h"
#include "cgroup-usage.h"
#include "fileio.h"
#include "loop.h"
#include "printed.h"
#include "str.h"
#include "tmpdir.h"

// ---- formats

static const char cpu_stat[] =
        "usage_usec 1234567\nuser_usec 1000000\nsystem_usec 234567\nnice_usec 0\n"
        "core_sched.force_idle_usec 0\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"
        "nr_bursts 0\nburst_usec 0\n";
static const char io_stat[] =
        "8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n"
        "8:0 rbytes=90430464 wbytes=299008000 rios=8950 wios=1252 dbytes=50331648 dios=3021\n"
        "253:0 \n7:3\n"
        "259:1 rbytes=1 wbytes=2 rios=1 wios=1 dbytes=0 dios=0 cost.usage=1 cost.wait=9\n";

static void a_key_of_cpu_stat(void **state) {
        uint64_t n = 7;

        assert_true(usage_parse_key(cpu_stat, "usage_usec", &n));
        assert_int_equal(n, 1234567);
        assert_true(usage_parse_key(cpu_stat, "burst_usec", &n));
        assert_int_equal(n, 0);
        assert_true(usage_parse_key("a 1\nusage_usec 18446744073709551615", "usage_usec", &n));
        assert_true(n == UINT64_MAX);
        n = 7;
        assert_false(usage_parse_key("", "usage_usec", &n));
        assert_false(usage_parse_key("usage_usec\n", "usage_usec", &n));
        assert_false(usage_parse_key("usage_usec \n", "usage_usec", &n));
        assert_false(usage_parse_key("usage_usec -1\n", "usage_usec", &n));
        assert_false(usage_parse_key("usage_usec 12x\n", "usage_usec", &n));
        assert_false(usage_parse_key("usage_usec 18446744073709551616\n", "usage_usec", &n));
        assert_false(usage_parse_key("usage_usec_total 5\nxusage_usec 6\n", "usage_usec", &n));
        assert_int_equal(n, 7);
}

static void a_number_by_itself(void **state) {
        uint64_t n = 7;

        assert_true(usage_parse_number("4096\n", &n));
        assert_int_equal(n, 4096);
        assert_true(usage_parse_number("0", &n));
        assert_int_equal(n, 0);
        n = 7;
        assert_false(usage_parse_number("max\n", &n));
        assert_false(usage_parse_number("", &n));
        assert_false(usage_parse_number("\n", &n));
        assert_false(usage_parse_number(" 1\n", &n));
        assert_false(usage_parse_number("1 2\n", &n));
        assert_int_equal(n, 7);
}

static void io_is_summed_over_devices(void **state) {
        uint64_t r = 7, w = 7;

        assert_true(usage_parse_io(io_stat, &r, &w));
        assert_int_equal(r, 1459200 + 90430464 + 1);
        assert_int_equal(w, 314773504 + 299008000 + 2);
        assert_true(usage_parse_io("", &r, &w));
        assert_true(r == 0 && w == 0);
        assert_true(usage_parse_io("8:0 wbytes=5 rbytes=4", &r, &w));
        assert_true(r == 4 && w == 5);
        assert_true(usage_parse_io("8:0 rbytes=x wbytes=1\n8:1 rbytes=3 wbytes=4\n", &r, &w));
        assert_true(r == 3 && w == 4);
        assert_true(
                usage_parse_io("8:0 rbytes=18446744073709551615 wbytes=1\n8:1 rbytes=1 wbytes=1\n", &r, &w));
        assert_true(r == USAGE_NONE - 1 && w == 2); // the sum stays a number
        r = w = 7;
        assert_false(usage_parse_io("garbage\n", &r, &w));
        assert_false(usage_parse_io("8:0 rbytes=1\n", &r, &w));
        assert_false(usage_parse_io("\n", &r, &w));
        assert_true(r == 7 && w == 7);
}

// ---- recorded trees

typedef struct Seen {
        UnitUsage samples[600];
        size_t n;
        unsigned times;
} Seen;

static CgroupUsage *usage;
static char *dir;
static bool closed;

static void on_samples(const UnitUsage *samples, size_t n, void *userdata) {
        Seen *s = userdata;

        assert_true(n <= ELEMENTSOF(s->samples));
        memcpy(s->samples, samples, n * sizeof(*samples));
        s->n = n;
        s->times++;
}

static void on_closed(void *userdata) {
        closed = true;
}

static int setup(void **state) {
        loop_setup(state);
        tmpdir_make((void **) &dir);
        return cgroup_usage_new(&test_loop, 0, &usage);
}

static int teardown(void **state) {
        closed = false;
        if (usage)
                cgroup_usage_close(TAKE_PTR(usage), on_closed, NULL);
        else
                closed = true;
        loop_until(closed);
        tmpdir_drop((void **) &dir);
        return loop_teardown(state);
}

static void put(const char *path, const char *text) {
        assert_int_equal(file_replace(AT_FDCWD, path, text, strlen(text), 0644, 0), 0);
}

// A file of the group; NULL: the group alone.
static char *record(const char *group, const char *file, const char *text) {
        char *path = str_printf("%s/%s", dir, group), *name;

        assert_non_null(path);
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        if (file) {
                name = str_printf("%s/%s", path, file);
                put(name, text);
                free(name);
        }
        return path;
}

static void record_whole(const char *group) {
        free(record(group, "cpu.stat", cpu_stat));
        free(record(group, "memory.current", "73400320\n"));
        free(record(group, "pids.current", "5\n"));
        free(record(group, "io.stat", io_stat));
        free(record(group, "cgroup.threads", "1\n2\n3\n"));
}

static const UnitUsage *read_one(const char *group) {
        static Seen seen;
        _cleanup_free_ char *path = str_printf("%s/%s", dir, group);
        const char *paths[] = {path};
        uint64_t id;

        seen = (Seen){};
        assert_int_equal(cgroup_usage_read(usage, paths, 1, on_samples, &seen, &id), 0);
        assert_true(id != 0);
        assert_int_equal(seen.times, 0);
        loop_until(seen.times == 1);
        return &seen.samples[0];
}

static void a_group_with_all_controllers(void **state) {
        uint64_t first_us, run;

        record_whole("a.service");
        const UnitUsage *s = read_one("a.service");
        assert_true(s->exists);
        assert_int_equal(s->cpu_us, 1234567);
        assert_int_equal(s->memory, 73400320);
        assert_int_equal(s->tasks, 5);
        assert_int_equal(s->io_read, 91889665);
        assert_int_equal(s->io_write, 613781506);
        first_us = s->at_us;
        run = s->run;
        s = read_one("a.service");
        assert_true(s->at_us > first_us && s->run == run && s->cpu_us == 1234567);
        assert_int_equal(cgroup_usage_n_held(usage), 1);
}

static void a_group_without_controllers_counts_threads(void **state) {
        free(record("b.service", "cpu.stat", cpu_stat));
        free(record("b.service", "cgroup.threads", "10\n11\n"));
        free(record("b.service/payload", "cgroup.threads", "12\n"));
        free(record("b.service/payload/deeper", "cgroup.threads", "13\n14\n15\n"));
        free(record("b.service/empty", "cgroup.threads", ""));
        free(record("b.service/odd", NULL, NULL));
        const UnitUsage *s = read_one("b.service");
        assert_true(s->exists);
        assert_int_equal(s->tasks, 6);
        assert_int_equal(s->cpu_us, 1234567);
        assert_true(s->memory == USAGE_NONE && s->io_read == USAGE_NONE && s->io_write == USAGE_NONE);
}

static void walks_down_have_an_end(void **state) {
        char name[256] = "d.service", *p = name + strlen(name);

        free(record(name, "cgroup.threads", "1\n"));
        for (unsigned i = 0; i < 12; i++) {
                p = stpcpy(p, "/x");
                free(record(name, "cgroup.threads", "1\n"));
        }
        assert_int_equal(read_one("d.service")->tasks, 1 + 8);
        for (unsigned i = 0; i < 300; i++) {
                snprintf(name, sizeof(name), "e.service%s%u", i ? "/g" : "", i);
                if (i == 0)
                        snprintf(name, sizeof(name), "e.service");
                free(record(name, "cgroup.threads", "1\n"));
        }
        assert_int_equal(read_one("e.service")->tasks, 1 + 256);
}

static void many_threads_are_counted(void **state) {
        _cleanup_buf_ Buf text = {};
        _cleanup_free_ char *s = NULL;

        for (unsigned i = 0; i < 5000; i++)
                assert_int_equal(buf_printf(&text, "%u\n", 100000 + i), 0);
        s = buf_take_string(&text);
        free(record("t.service", "cgroup.threads", s));
        assert_int_equal(read_one("t.service")->tasks, 5000);
}

static void what_a_file_does_not_say_is_none(void **state) {
        free(record("c.service", "cpu.stat", "garbage"));
        free(record("c.service", "memory.current", "max\n"));
        free(record("c.service", "pids.current", ""));
        free(record("c.service", "io.stat", "\x01\x02"));
        const UnitUsage *s = read_one("c.service");
        assert_true(s->exists && s->at_us > 0);
        assert_true(s->cpu_us == USAGE_NONE && s->memory == USAGE_NONE && s->tasks == USAGE_NONE &&
                    s->io_read == USAGE_NONE && s->io_write == USAGE_NONE);
        free(record("i.service", "io.stat", ""));
        s = read_one("i.service");
        assert_true(s->io_read == 0 && s->io_write == 0 && s->cpu_us == USAGE_NONE);
}

static void a_group_that_is_not_there(void **state) {
        _cleanup_free_ char *path = NULL;

        assert_false(read_one("none.service")->exists);
        assert_int_equal(cgroup_usage_n_held(usage), 0);
        path = record("link-target", "cpu.stat", cpu_stat);
        {
                assert_int_equal(symlink(path, printed("%s/l.service", dir)), 0);
                assert_false(read_one("l.service")->exists); // control groups have no links
        }
        put((path = (free(path), str_printf("%s/f.service", dir))), "a file");
        assert_false(read_one("f.service")->exists);
}

// In one reading after the other, all asked for at once.
static void read_all(char (*groups)[32], size_t n, Seen *seen) {
        enum { PARTS = 8 };
        static Seen parts[PARTS];
        char **paths = calloc(n, sizeof(*paths));
        size_t n_parts = 0;
        uint64_t id;

        *seen = (Seen){};
        memset(parts, 0, sizeof(parts));
        assert_non_null(paths);
        for (size_t i = 0; i < n; i++)
                assert_non_null(paths[i] = str_printf("%s/%s", dir, groups[i]));
        for (size_t at = 0; at < n; at += USAGE_UNITS_PER_READING)
                assert_int_equal(cgroup_usage_read(usage, (const char *const *) paths + at,
                                                   MIN_OF(n - at, (size_t) USAGE_UNITS_PER_READING),
                                                   on_samples, &parts[n_parts++], &id),
                                 0);
        for (size_t i = 0; i < n_parts; i++) {
                loop_until(parts[i].times == 1);
                memcpy(seen->samples + seen->n, parts[i].samples, parts[i].n * sizeof(*seen->samples));
                seen->n += parts[i].n;
        }
        assert_int_equal(seen->n, n);
        for (size_t i = 0; i < n; i++)
                free(paths[i]);
        free(paths);
}

static void many_groups_in_their_order_and_few_held(void **state) {
        static char groups[500][32];
        static Seen seen;

        closed = false;
        cgroup_usage_close(TAKE_PTR(usage), on_closed, NULL);
        loop_until(closed);
        assert_int_equal(cgroup_usage_new(&test_loop, 100, &usage), 0);
        for (size_t i = 0; i < 500; i++) {
                snprintf(groups[i], sizeof(groups[i]), "g%zu.service", i);
                if (i != 250)
                        free(record(groups[i], "cpu.stat", printed("usage_usec %zu\n", i)));
        }
        for (unsigned round = 0; round < 3; round++) {
                read_all(groups, 500, &seen);
                for (size_t i = 0; i < 500; i++) {
                        assert_int_equal(seen.samples[i].exists, i != 250);
                        if (i != 250)
                                assert_int_equal(seen.samples[i].cpu_us, i);
                }
                assert_int_equal(cgroup_usage_n_held(usage), 100);
        }
}

static void a_name_given_twice_is_read_twice(void **state) {
        static char groups[400][32];
        static Seen seen;

        record_whole("a.service");
        for (size_t i = 0; i < 400; i++)
                strcpy(groups[i], "a.service");
        read_all(groups, 400, &seen);
        for (size_t i = 0; i < 400; i++)
                assert_int_equal(seen.samples[i].cpu_us, 1234567);
        assert_int_equal(cgroup_usage_n_held(usage), 1);
}

static void readings_begin_in_order_and_can_be_cancelled(void **state) {
        _cleanup_free_ char *path = NULL;
        const char *paths[1];
        Seen seen[4] = {};
        uint64_t ids[4];

        record_whole("a.service");
        paths[0] = path = str_printf("%s/a.service", dir);
        for (size_t i = 0; i < 4; i++)
                assert_int_equal(cgroup_usage_read(usage, paths, 1, on_samples, &seen[i], &ids[i]), 0);
        cgroup_usage_cancel(usage, ids[0]); // under way
        cgroup_usage_cancel(usage, ids[2]); // waiting
        cgroup_usage_cancel(usage, ids[2]);
        cgroup_usage_cancel(usage, 12345);
        loop_until(seen[1].times == 1 && seen[3].times == 1); // which may end in another order
        assert_int_equal(seen[0].times, 0);
        assert_int_equal(seen[2].times, 0);
}

static void a_reading_has_a_size(void **state) {
        static const char *paths[USAGE_UNITS_PER_READING + 1];
        Seen seen = {};
        uint64_t id;

        for (size_t i = 0; i < ELEMENTSOF(paths); i++)
                paths[i] = "/none";
        assert_int_equal(cgroup_usage_read(usage, paths, ELEMENTSOF(paths), on_samples, &seen, &id), -E2BIG);
        assert_int_equal(cgroup_usage_read(usage, paths, 0, on_samples, &seen, &id), 0);
        assert_int_equal(seen.times, 0); // later, as always
        loop_until(seen.times == 1);
        assert_int_equal(seen.n, 0);
}

static void too_many_readings_are_refused(void **state) {
        _cleanup_free_ char *path = record("a.service", "cpu.stat", cpu_stat);
        const char *paths[] = {path};
        static Seen seen[USAGE_READS_MAX];
        uint64_t id;

        for (size_t i = 0; i < USAGE_READS_MAX; i++)
                assert_int_equal(cgroup_usage_read(usage, paths, 1, on_samples, &seen[i], &id), 0);
        assert_int_equal(cgroup_usage_read(usage, paths, 1, on_samples, &seen[0], &id), -EBUSY);
        loop_until(seen[USAGE_READS_MAX - 1].times == 1);
        assert_int_equal(cgroup_usage_read(usage, paths, 1, on_samples, &seen[0], &id), 0);
        loop_until(seen[0].times == 2);
}

static void on_samples_close(const UnitUsage *samples, size_t n, void *userdata) {
        ((Seen *) userdata)->times++;
        assert_true(samples[0].exists);
        cgroup_usage_close(TAKE_PTR(usage), on_closed, NULL);
}

static void it_may_be_closed_at_any_time(void **state) {
        _cleanup_free_ char *path = record("a.service", "cpu.stat", cpu_stat);
        const char *paths[] = {path};
        Seen seen = {};
        uint64_t id;

        closed = false;
        assert_int_equal(cgroup_usage_read(usage, paths, 1, on_samples, &seen, &id), 0);
        assert_int_equal(cgroup_usage_read(usage, paths, 1, on_samples, &seen, &id), 0);
        cgroup_usage_close(TAKE_PTR(usage), on_closed, NULL);
        loop_until(closed);
        assert_int_equal(seen.times, 0);

        closed = false;
        assert_int_equal(cgroup_usage_new(&test_loop, 0, &usage), 0);
        // Two are in the pool at a time: whichever ends first closes, and the other one is not heard of.
        assert_int_equal(cgroup_usage_read(usage, paths, 1, on_samples_close, &seen, &id), 0);
        assert_int_equal(cgroup_usage_read(usage, paths, 1, on_samples_close, &seen, &id), 0);
        loop_until(closed);
        assert_int_equal(seen.times, 1);
}

// ---- the kernel's own

// A group below that of this test, if it may make one. NULL: it may not.
static char *real_group(void) {
        char root[CGROUP_PATH_MAX];

        if (cgroup_manager_root(getpid(), root, sizeof(root)) < 0)
                return NULL;
        char *path = str_printf("%s/argosy-test-%i.service", root, (int) getpid());
        if (path && mkdir(path, 0755) < 0) {
                free(path);
                return NULL;
        }
        return path;
}

// A process in the group that has used some CPU time.
static pid_t burn(const char *group) {
        _cleanup_free_ char *procs = str_printf("%s/cgroup.procs", group);
        int ready[2];
        char byte;

        assert_int_equal(pipe(ready), 0);
        pid_t pid = fork();
        if (pid == 0) {
                int fd = open(procs, O_WRONLY);

                if (fd < 0 || write(fd, "0\n", 2) != 2)
                        _exit(1);
                for (volatile unsigned i = 0; i < 20000000; i++)
                        ;
                (void) !write(ready[1], "x", 1);
                pause();
        }
        close(ready[1]);
        if (pid < 0 || read(ready[0], &byte, 1) != 1) {
                close(ready[0]);
                return -1;
        }
        close(ready[0]);
        return pid;
}

static void end_of(pid_t pid, const char *group) {
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        while (rmdir(group) < 0) { // the last process leaves it a moment after it was waited for
                assert_int_equal(errno, EBUSY);
                sched_yield();
        }
}

static Seen real_seen;

static const UnitUsage *read_path(const char *path) {
        uint64_t id;

        real_seen = (Seen){};
        assert_int_equal(cgroup_usage_read(usage, &path, 1, on_samples, &real_seen, &id), 0);
        loop_until(real_seen.times == 1);
        return &real_seen.samples[0];
}

static void a_real_group_that_is_made_again(void **state) {
        _cleanup_free_ char *group = real_group();
        uint64_t run, cpu_us;

        if (!group)
                skip();
        pid_t pid = burn(group);
        if (pid < 0) {
                rmdir(group);
                skip();
        }
        const UnitUsage *s = read_path(group);
        assert_true(s->exists);
        assert_true(s->cpu_us > 1000 && s->cpu_us != USAGE_NONE);
        assert_int_equal(s->tasks, 1);
        run = s->run;
        cpu_us = s->cpu_us;
        s = read_path(group);
        assert_true(s->run == run && s->cpu_us >= cpu_us);
        end_of(pid, group);

        assert_false(read_path(group)->exists); // held files say so
        assert_int_equal(mkdir(group, 0755), 0);
        s = read_path(group);
        assert_true(s->exists && s->run != run && s->cpu_us < 1000 && s->tasks == 0);

        // Made again without a reading in between: the held files are those of the one before.
        run = s->run;
        assert_int_equal(rmdir(group), 0);
        assert_int_equal(mkdir(group, 0755), 0);
        s = read_path(group);
        assert_true(s->exists && s->run != run);
        assert_int_equal(rmdir(group), 0);
}

RUN_TESTS(
        cmocka_unit_test(a_key_of_cpu_stat),
        cmocka_unit_test(a_number_by_itself),
        cmocka_unit_test(io_is_summed_over_devices),
        cmocka_unit_test_setup_teardown(a_group_with_all_controllers, setup, teardown),
        cmocka_unit_test_setup_teardown(a_group_without_controllers_counts_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(walks_down_have_an_end, setup, teardown),
        cmocka_unit_test_setup_teardown(many_threads_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_file_does_not_say_is_none, setup, teardown),
        cmocka_unit_test_setup_teardown(a_group_that_is_not_there, setup, teardown),
        cmocka_unit_test_setup_teardown(many_groups_in_their_order_and_few_held, setup, teardown),
        cmocka_unit_test_setup_teardown(a_name_given_twice_is_read_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(readings_begin_in_order_and_can_be_cancelled, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_reading_has_a_size, setup, teardown),
        cmocka_unit_test_setup_teardown(too_many_readings_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(it_may_be_closed_at_any_time, setup, teardown),
        cmocka_unit_test_setup_teardown(a_real_group_that_is_made_again, setup, teardown)
)
