// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When does the leader know? Asks argosyd over its local socket, again and again.
//
//   leader-sees SOCKET kill
//       For each line "UNIT PID" of standard input: kills the process, prints after how many milliseconds
//       the leader says that the unit is not active any more. Asks without a pause.
//   leader-sees SOCKET active COUNT PATTERN
//       Prints at which second of the monotonic clock so many units of the pattern are active.

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "client.h"
#include "clock.h"

enum { PATIENCE_US = 60 * 1000 * 1000, BETWEEN_KILLS_US = 20 * 1000, BETWEEN_LISTS_US = 5000 };

static void fail(const char *what, const char *why) {
        fprintf(stderr, "leader-sees: %s: %s\n", what, why);
        exit(EXIT_FAILURE);
}

static size_t count_active(Client *c, const char *pattern) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        char *patterns[] = {(char *) pattern};
        uint64_t deadline_us = clock_boot_us() + PATIENCE_US;
        Argosy__Response *response = NULL;
        size_t n = 0;

        list.patterns = patterns;
        list.n_patterns = 1;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
        request.list_units = &list;
        if (client_send(c, &request, deadline_us) < 0 || client_receive(c, deadline_us, &response) < 0)
                fail(pattern, c->why);
        if (response->what_case != ARGOSY__RESPONSE__WHAT_UNITS || response->units->n_rows == 0)
                fail(pattern, "argosyd knows no such unit");
        for (size_t i = 0; i < response->units->n_rows; i++)
                n += strcmp(response->units->rows[i]->active, "active") == 0;
        argosy__response__free_unpacked(response, NULL);
        return n;
}

static void wait_for_active(Client *c, const char *pattern, size_t count, uint64_t pause_us) {
        const struct timespec pause = {.tv_nsec = (long) pause_us * 1000};
        uint64_t deadline_us = clock_boot_us() + PATIENCE_US;

        while (count_active(c, pattern) != count) {
                if (clock_boot_us() > deadline_us)
                        fail(pattern, "nothing happened for a minute");
                nanosleep(&pause, NULL);
        }
}

static void kill_all(Client *c) {
        const struct timespec pause = {.tv_nsec = BETWEEN_KILLS_US * 1000};
        char unit[257];
        int pid;

        while (scanf("%256s %d", unit, &pid) == 2) {
                uint64_t began_us;

                wait_for_active(c, unit, 1, 0);
                began_us = clock_boot_us();
                if (kill(pid, SIGKILL) < 0)
                        fail(unit, strerror(errno));
                wait_for_active(c, unit, 0, 0);
                printf("%.3f\n", (double) (clock_boot_us() - began_us) / 1e3);
                nanosleep(&pause, NULL);
        }
}

int main(int argc, char **argv) {
        Client c;

        if (!(argc == 3 && strcmp(argv[2], "kill") == 0) && !(argc == 5 && strcmp(argv[2], "active") == 0)) {
                fprintf(stderr, "usage: leader-sees SOCKET kill | SOCKET active COUNT PATTERN\n");
                return 2;
        }
        client_init(&c, argv[1], NULL);
        if (argc == 3)
                kill_all(&c);
        else {
                wait_for_active(&c, argv[4], strtoul(argv[3], NULL, 10), BETWEEN_LISTS_US);
                printf("%.6f\n", (double) clock_monotonic_us() / 1e6);
        }
        client_done(&c);
        return EXIT_SUCCESS;
}
