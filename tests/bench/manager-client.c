// SPDX-License-Identifier: LGPL-2.1-or-later
#include "manager-client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void fail(const char *what, const char *why) {
        fprintf(stderr, "%s: %s: %s\n", program, what, why);
        exit(EXIT_FAILURE);
}

void check(int r, const char *what) {
        if (r < 0)
                fail(what, strerror(-r));
}

double now_s(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double) ts.tv_sec + (double) ts.tv_nsec / 1e9;
}

sd_bus *connect_manager(sd_bus_message_handler_t on_message, void *userdata) {
        sd_bus *bus;

        check(sd_bus_new(&bus), "bus");
        check(sd_bus_set_address(bus, "unix:path=/run/systemd/private"), "address");
        check(sd_bus_start(bus), "connect");
        check(sd_bus_add_filter(bus, NULL, on_message, userdata), "filter");
        return bus;
}

static char **add_name(char **names, size_t *n, const char *name) {
        names = reallocarray(names, *n + 1, sizeof(*names));
        if (!names || !(names[*n] = strdup(name)))
                check(-ENOMEM, name);
        (*n)++;
        return names;
}

static int compare(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

char **parse_names(int argc, char **argv, size_t *ret_n) {
        char **names = NULL, name[512];

        *ret_n = 0;
        for (int i = 0; i < argc; i++) {
                const char *open = strchr(argv[i], '{'), *close = strchr(argv[i], '}');
                int from, to;

                if (!open || !close || sscanf(open, "{%d..%d}", &from, &to) != 2) {
                        names = add_name(names, ret_n, argv[i]);
                        continue;
                }
                for (; from <= to; from++) {
                        snprintf(name, sizeof(name), "%.*s%d%s", (int) (open - argv[i]), argv[i], from,
                                 close + 1);
                        names = add_name(names, ret_n, name);
                }
        }
        qsort(names, *ret_n, sizeof(*names), compare);
        return names;
}

ssize_t find_name(char *const *names, size_t n, const char *name) {
        char *const *found = bsearch(&name, names, n, sizeof(*names), compare);

        return found ? found - names : -1;
}
