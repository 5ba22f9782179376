// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Another client of systemd, who is not in a hurry: asks for one unit that is loaded, every INTERVAL_MS, and
// prints how long each answer took, in milliseconds, one per line. It ends with the end of its standard
// input.
//
//   probe INTERVAL_MS UNIT
//
// A private connection gets systemd's signals whether it wants them or not. They are read at once and looked
// at by nobody, so that what is measured is systemd's delay.

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>

#define MANAGER "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"

static void check(int r, const char *what) {
        if (r >= 0)
                return;
        fprintf(stderr, "probe: %s: %s\n", what, strerror(-r));
        exit(EXIT_FAILURE);
}

static double now_ms(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double) ts.tv_sec * 1e3 + (double) ts.tv_nsec / 1e6;
}

static double sent_ms;
static bool waiting;

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        if (sd_bus_message_is_method_error(m, NULL))
                check(-sd_bus_message_get_errno(m), "GetUnit");
        printf("%.3f\n", now_ms() - sent_ms);
        waiting = false;
        return 1;
}

static void ask(sd_bus *bus, const char *unit) {
        sent_ms = now_ms();
        waiting = true;
        check(sd_bus_call_method_async(bus, NULL, MANAGER, "GetUnit", on_reply, NULL, "s", unit), "GetUnit");
}

// Sleeps until there is something to read or it is time for the next question. False: standard input has
// ended.
static bool wait_for(sd_bus *bus, double until_ms) {
        double left = until_ms - now_ms();
        int events = sd_bus_get_events(bus);
        struct pollfd fds[] = {{.fd = 0, .events = POLLIN},
                               {.fd = sd_bus_get_fd(bus), .events = (short) events}};

        check(events, "events");
        if (poll(fds, 2, waiting || left > 1e6 ? -1 : left > 0 ? (int) left + 1 : 0) < 0)
                check(-errno, "poll");
        return fds[0].revents == 0;
}

int main(int argc, char **argv) {
        double next_ms, interval_ms;
        sd_bus *bus;

        if (argc != 3 || (interval_ms = atof(argv[1])) <= 0) {
                fprintf(stderr, "usage: probe INTERVAL_MS UNIT\n");
                return 2;
        }
        check(sd_bus_new(&bus), "bus");
        check(sd_bus_set_address(bus, "unix:path=/run/systemd/private"), "address");
        check(sd_bus_start(bus), "connect");
        next_ms = now_ms();
        do {
                int r;

                while ((r = sd_bus_process(bus, NULL)) > 0)
                        ;
                check(r, "process");
                if (!waiting && now_ms() >= next_ms) {
                        ask(bus, argv[2]);
                        next_ms = sent_ms + interval_ms;
                }
        } while (wait_for(bus, next_ms));
        sd_bus_unref(bus);
        return EXIT_SUCCESS;
}
