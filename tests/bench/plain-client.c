// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The baseline of the benchmarks: the plainest fast client of one systemd manager. One private-socket
// connection, WINDOW jobs in flight, the unit files in place before. It runs on a node, as root, and prints
// when it began and ended in seconds of the monotonic clock, which all nodes of a testbed share, and the CPU
// time that it used in between, in seconds:
//
//   plain-client start|stop WINDOW NAME...     until every job has ended
//   plain-client destroy WINDOW DIR NAME...    stop, remove DIR/NAME.d/50-argosy.conf, DIR/NAME.d and
//                                              DIR/NAME as far as they exist, until systemd has dropped
//                                              every unit
//
// NAME may be "prefix@{1..300}.service". Jobs that systemd adds by itself (slices) are nobody's business
// here. A job that does not end as "done" is an error: a baseline that fails fast would be a low one.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "manager-client.h"

#define SILENCE_US (60 * UINT64_C(1000000)) // so long without a signal means that something is wrong
#define PATH_SIZE 4096

const char *program = "plain-client";

typedef struct Unit {
        bool done, gone;
} Unit;

typedef struct Client {
        sd_bus *bus;
        const char *method, *dir; // dir: destroy
        char **names;
        Unit *units; // one for each
        size_t n_units, n_asked, n_done, n_gone;
        size_t window, in_flight;
} Client;

static Unit *find_unit(const Client *c, const char *name) {
        ssize_t i = find_name(c->names, c->n_units, name);

        return i < 0 ? NULL : &c->units[i];
}

// ---- jobs

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const Client *c = userdata;

        if (sd_bus_message_is_method_error(m, NULL))
                fail(c->method, sd_bus_message_get_error(m)->message);
        return 0;
}

static void fill_window(Client *c) {
        for (; c->in_flight < c->window && c->n_asked < c->n_units; c->n_asked++, c->in_flight++)
                check(sd_bus_call_method_async(c->bus, NULL, MANAGER, c->method, on_reply, c, "ss",
                                               c->names[c->n_asked], "replace"),
                      c->method);
}

static void remove_files(const Client *c, const char *name) {
        char path[PATH_SIZE];

        snprintf(path, sizeof(path), "%s/%s.d/50-argosy.conf", c->dir, name);
        (void) unlink(path);
        snprintf(path, sizeof(path), "%s/%s.d", c->dir, name);
        (void) rmdir(path);
        snprintf(path, sizeof(path), "%s/%s", c->dir, name);
        (void) unlink(path);
}

static void on_job_removed(Client *c, sd_bus_message *m) {
        const char *job, *name, *result;
        uint32_t id;
        Unit *u;

        check(sd_bus_message_read(m, "uoss", &id, &job, &name, &result), "JobRemoved");
        u = find_unit(c, name);
        if (!u || u->done)
                return;
        if (strcmp(result, "done") != 0)
                fail(name, result);
        u->done = true;
        c->n_done++;
        c->in_flight--;
        if (c->dir)
                remove_files(c, name);
        fill_window(c);
}

// A unit that was loaded for a look may also be dropped before its job.
static void on_unit_removed(Client *c, sd_bus_message *m) {
        const char *name, *path;
        Unit *u;

        check(sd_bus_message_read(m, "so", &name, &path), "UnitRemoved");
        u = find_unit(c, name);
        if (!u || !u->done || u->gone)
                return;
        u->gone = true;
        c->n_gone++;
}

static int on_message(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        if (sd_bus_message_is_signal(m, "org.freedesktop.systemd1.Manager", "JobRemoved"))
                on_job_removed(userdata, m);
        else if (sd_bus_message_is_signal(m, "org.freedesktop.systemd1.Manager", "UnitRemoved"))
                on_unit_removed(userdata, m);
        return 0;
}

static bool is_finished(const Client *c) {
        return c->dir ? c->n_gone == c->n_units : c->n_done == c->n_units;
}

static void run(Client *c) {
        fill_window(c);
        while (!is_finished(c)) {
                int r = sd_bus_process(c->bus, NULL);

                check(r, "process");
                if (r > 0)
                        continue;
                r = sd_bus_wait(c->bus, SILENCE_US);
                check(r == 0 ? -ETIMEDOUT : r, "wait");
        }
}

static double cpu_s(void) {
        struct timespec used;

        check(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) < 0 ? -errno : 0, "CPU time");
        return (double) used.tv_sec + (double) used.tv_nsec / 1e9;
}

static void parse(Client *c, int argc, char **argv) {
        int first = 3;

        if (argc >= 4 && strcmp(argv[1], "start") == 0)
                c->method = "StartUnit";
        else if (argc >= 4 && strcmp(argv[1], "stop") == 0)
                c->method = "StopUnit";
        else if (argc >= 5 && strcmp(argv[1], "destroy") == 0) {
                c->method = "StopUnit";
                c->dir = argv[first++];
        } else {
                fprintf(stderr,
                        "usage: plain-client start|stop WINDOW NAME... | destroy WINDOW DIR NAME...\n");
                exit(2);
        }
        c->window = strtoul(argv[2], NULL, 10);
        if (c->window == 0)
                fail(argv[2], "not a window");
        c->names = parse_names(argc - first, argv + first, &c->n_units);
        c->units = calloc(c->n_units, sizeof(*c->units));
        check(c->units ? 0 : -ENOMEM, "units");
}

int main(int argc, char **argv) {
        Client c = {};
        double began, cpu_before;

        parse(&c, argc, argv);
        c.bus = connect_manager(on_message, &c);
        check(sd_bus_call_method(c.bus, MANAGER, "Subscribe", NULL, NULL, NULL), "Subscribe");
        began = now_s();
        cpu_before = cpu_s();
        run(&c);
        printf("%.6f %.6f %.6f\n", began, now_s(), cpu_s() - cpu_before);
        sd_bus_unref(c.bus);
        return EXIT_SUCCESS;
}
