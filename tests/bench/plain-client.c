// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The baseline of the benchmarks: the plainest fast client of one systemd manager. One private-socket connection, WINDOW jobs in flight, the
// unit files in place before. It runs on a node and prints seconds:
//
//   plain-client start|stop WINDOW NAME...     until every job has ended
//   plain-client destroy WINDOW DIR NAME...    stop, unlink DIR/NAME and DIR/NAME.d, until systemd has dropped every unit
//
// Names may be "prefix@{1..300}.service".

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#define MANAGER "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"

static sd_bus *bus;
static char **names;
static size_t n_names, next_name, n_done, n_gone;
static unsigned in_flight, window;
static const char *method, *dir;
static bool destroy;

static double now(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double) ts.tv_sec + (double) ts.tv_nsec / 1e9;
}

static void check(int r, const char *what) {
        if (r >= 0)
                return;
        fprintf(stderr, "plain-client: %s: %s\n", what, strerror(-r));
        exit(EXIT_FAILURE);
}

static void fill_window(void);

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        if (sd_bus_message_is_method_error(m, NULL)) {
                fprintf(stderr, "plain-client: %s\n", sd_bus_message_get_error(m)->message);
                exit(EXIT_FAILURE);
        }
        return 0;
}

static int on_signal(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const char *unit, *job, *result;
        uint32_t id;

        if (sd_bus_message_is_signal(m, "org.freedesktop.systemd1.Manager", "JobRemoved")) {
                check(sd_bus_message_read(m, "uoss", &id, &job, &unit, &result), "JobRemoved");
                n_done++;
                in_flight--;
                if (destroy) {
                        char path[4096];

                        snprintf(path, sizeof(path), "%s/%s.d/50-argosy.conf", dir, unit);
                        (void) unlink(path);
                        snprintf(path, sizeof(path), "%s/%s.d", dir, unit);
                        (void) rmdir(path);
                }
                fill_window();
        } else if (destroy && sd_bus_message_is_signal(m, "org.freedesktop.systemd1.Manager", "UnitRemoved"))
                n_gone++;
        return 0;
}

static void fill_window(void) {
        for (; in_flight < window && next_name < n_names; next_name++, in_flight++)
                check(sd_bus_call_method_async(bus, NULL, MANAGER, method, on_reply, NULL, "ss", names[next_name], "replace"), method);
}

static void add_name(const char *name) {
        names = realloc(names, (n_names + 1) * sizeof(*names));
        names[n_names++] = strdup(name);
}

static void add_names(const char *arg) {
        const char *open = strchr(arg, '{'), *close = strchr(arg, '}');
        char name[512];
        int from, to;

        if (!open || !close || sscanf(open, "{%d..%d}", &from, &to) != 2) {
                add_name(arg);
                return;
        }
        for (; from <= to; from++) {
                snprintf(name, sizeof(name), "%.*s%d%s", (int) (open - arg), arg, from, close + 1);
                add_name(name);
        }
}

static void connect_manager(void) {
        check(sd_bus_new(&bus), "bus");
        check(sd_bus_set_address(bus, "unix:path=/run/systemd/private"), "address");
        check(sd_bus_start(bus), "connect");
        check(sd_bus_call_method(bus, MANAGER, "Subscribe", NULL, NULL, NULL), "Subscribe");
        check(sd_bus_add_filter(bus, NULL, on_signal, NULL), "filter");
}

int main(int argc, char **argv) {
        int first = 3;
        double began;

        if (argc < 4) {
                fprintf(stderr, "usage: plain-client start|stop WINDOW NAME... | destroy WINDOW DIR NAME...\n");
                return 2;
        }
        destroy = strcmp(argv[1], "destroy") == 0;
        method = strcmp(argv[1], "start") == 0 ? "StartUnit" : "StopUnit";
        window = (unsigned) atoi(argv[2]);
        if (destroy)
                dir = argv[first++];
        for (int i = first; i < argc; i++)
                add_names(argv[i]);
        connect_manager();
        began = now();
        fill_window();
        while (n_done < n_names || (destroy && n_gone < n_names)) {
                int r = sd_bus_process(bus, NULL);

                check(r, "process");
                if (r == 0)
                        check(sd_bus_wait(bus, 60000000), "wait");
        }
        printf("%.4f\n", now() - began);
        sd_bus_unref(bus);
        return EXIT_SUCCESS;
}
