// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the state of units was followed before argosy: by asking, again and again. It goes on until its
// standard input ends, one round a second (or one after the other if they take longer), and then prints
//
//   ROUNDS CALLS SIGNALS CPU_MS
//
//   poll-client fleet-way NAME...    each round one ListUnitsByNames of all the names
//   poll-client old-way NAME...      each round ListUnits, and GetAll of each name that it does not show as
//   active
//
// NAME may be "prefix@{1..300}.service".

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "manager-client.h"

#define ROW "(ssssssouso)"

const char *program = "poll-client";

typedef struct Client {
        sd_bus *bus;
        char **names;
        bool *active; // in this round
        size_t n_units;
        unsigned long rounds, calls, signals;
} Client;

static double cpu_ms(void) {
        struct rusage used;

        getrusage(RUSAGE_SELF, &used);
        return (double) (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
               (double) (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}

static sd_bus_message *call(Client *c, sd_bus_message *m) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;

        c->calls++;
        check(sd_bus_call(c->bus, m, UINT64_MAX, &error, &reply), error.message ? error.message : "call");
        sd_bus_message_unref(m);
        return reply;
}

static sd_bus_message *new_call(Client *c, const char *member) {
        sd_bus_message *m;

        check(sd_bus_message_new_method_call(c->bus, &m, MANAGER, member), member);
        return m;
}

static size_t read_rows(Client *c, sd_bus_message *reply) {
        const char *name, *active;
        size_t n = 0;
        int r;

        check(sd_bus_message_enter_container(reply, 'a', ROW), "rows");
        while ((r = sd_bus_message_read(reply, ROW, &name, NULL, NULL, &active, NULL, NULL, NULL, NULL, NULL,
                                        NULL)) > 0) {
                ssize_t i = find_name(c->names, c->n_units, name);

                if (i >= 0)
                        c->active[i] = strcmp(active, "active") == 0;
                n++;
        }
        check(r, "row");
        sd_bus_message_unref(reply);
        return n;
}

static void fleet_way(Client *c) {
        sd_bus_message *m = new_call(c, "ListUnitsByNames");

        check(sd_bus_message_open_container(m, 'a', "s"), "names");
        for (size_t i = 0; i < c->n_units; i++)
                check(sd_bus_message_append(m, "s", c->names[i]), "name");
        check(sd_bus_message_close_container(m), "names");
        if (read_rows(c, call(c, m)) != c->n_units)
                check(-EBADMSG, "not a row per name");
}

static bool has_input_ended(void) {
        struct pollfd fd = {.fd = 0, .events = POLLIN};

        return poll(&fd, 1, 0) > 0;
}

static void old_way(Client *c) {
        for (size_t i = 0; i < c->n_units; i++)
                c->active[i] = false;
        read_rows(c, call(c, new_call(c, "ListUnits")));
        for (size_t i = 0; i < c->n_units; i++) {
                sd_bus_message *m;
                char *path;

                if (c->active[i])
                        continue;
                if (has_input_ended()) // in the midst of a round, which may take minutes
                        return;
                check(sd_bus_path_encode("/org/freedesktop/systemd1/unit", c->names[i], &path), "path");
                check(sd_bus_message_new_method_call(c->bus, &m, SYSTEMD, path,
                                                     "org.freedesktop.DBus.Properties", "GetAll"),
                      "GetAll");
                check(sd_bus_message_append(m, "s", SYSTEMD ".Unit"), "GetAll");
                sd_bus_message_unref(call(c, m));
                free(path);
                while (sd_bus_process(c->bus, NULL) > 0) // the signals that this causes
                        ;
        }
}

static int on_message(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Client *c = userdata;
        uint8_t type;

        if (sd_bus_message_get_type(m, &type) >= 0 && type == SD_BUS_MESSAGE_SIGNAL)
                c->signals++;
        return 0;
}

// Reads signals until the next round is due. False: standard input has ended.
static bool rest(Client *c, double until) {
        for (;;) {
                double left = until - now_s();
                struct pollfd fds[] = {{.fd = 0, .events = POLLIN},
                                       {.fd = sd_bus_get_fd(c->bus), .events = POLLIN}};
                int r;

                while ((r = sd_bus_process(c->bus, NULL)) > 0)
                        ;
                check(r, "process");
                if (poll(fds, 2, left > 0 ? (int) (left * 1e3) + 1 : 0) < 0)
                        check(-errno, "poll");
                if (fds[0].revents)
                        return false;
                if (left <= 0)
                        return true;
        }
}

int main(int argc, char **argv) {
        Client c = {};
        double next;
        bool old;

        if (argc < 3 || (strcmp(argv[1], "fleet-way") != 0 && strcmp(argv[1], "old-way") != 0)) {
                fprintf(stderr, "usage: poll-client fleet-way|old-way NAME...\n");
                return 2;
        }
        old = strcmp(argv[1], "old-way") == 0;
        c.names = parse_names(argc - 2, argv + 2, &c.n_units);
        c.active = calloc(c.n_units, sizeof(*c.active));
        check(c.active ? 0 : -ENOMEM, "units");
        c.bus = connect_manager(on_message, &c);
        next = now_s();
        do {
                (old ? old_way : fleet_way)(&c);
                c.rounds++;
                next = next + 1 > now_s() ? next + 1 : now_s();
        } while (rest(&c, next));
        printf("%lu %lu %lu %.3f\n", c.rounds, c.calls, c.signals, cpu_ms());
        sd_bus_unref(c.bus);
        return EXIT_SUCCESS;
}
