// SPDX-License-Identifier: LGPL-2.1-or-later
#include <getopt.h>
#include <signal.h>
#include <stdio.h>

#include "config.h"
#include "log.h"
#include "run.h"
#include "uvx.h"

static void help(void) {
        _cleanup_free_ char *keys = config_describe();

        printf("argosyd [OPTIONS...]\n\n"
               "One of the hosts that behave like one systemd.\n\n"
               "  -h --help             Show this help\n"
               "     --version          Show the version\n"
               "     --debug            Log everything\n"
               "     --recover          Offline, after the majority of voters was lost for good: make this "
               "host's\n"
               "                        copy of the log the cluster, then exit\n"
               "     --state-dir=DIR    Instead of /var/lib/argosy\n"
               "     --runtime-dir=DIR  Instead of /run/argosy\n"
               "     --unit-dir=DIR     Instead of /run/systemd/system\n\n"
               "/etc/argosy/argosy.conf and argosy.conf.d/*.conf (keys and defaults):\n%s\n"
               "See argosyd(8) and argosy.conf(5).\n",
               keys ?: "");
}

int main(int argc, char **argv) {
        enum { ARG_VERSION = 256, ARG_DEBUG, ARG_RECOVER, ARG_STATE_DIR, ARG_RUNTIME_DIR, ARG_UNIT_DIR };
        static const struct option options[] = {
                {"help", no_argument, NULL, 'h'},
                {"version", no_argument, NULL, ARG_VERSION},
                {"debug", no_argument, NULL, ARG_DEBUG},
                {"recover", no_argument, NULL, ARG_RECOVER},
                {"state-dir", required_argument, NULL, ARG_STATE_DIR},
                {"runtime-dir", required_argument, NULL, ARG_RUNTIME_DIR},
                {"unit-dir", required_argument, NULL, ARG_UNIT_DIR},
                {},
        };
        RunOptions run = {.state_dir = "/var/lib/argosy",
                          .runtime_dir = "/run/argosy",
                          .unit_dir = "/run/systemd/system"};
        bool recover = false;
        int c;

        setenv("UV_THREADPOOL_SIZE", "4", 0);
        signal(SIGPIPE, SIG_IGN);
        while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0)
                switch (c) {
                case 'h':
                        help();
                        return EXIT_SUCCESS;
                case ARG_VERSION:
                        puts("argosyd " ARGOSY_VERSION);
                        return EXIT_SUCCESS;
                case ARG_DEBUG:
                        run.debug = true;
                        break;
                case ARG_RECOVER:
                        recover = true;
                        break;
                case ARG_STATE_DIR:
                        run.state_dir = optarg;
                        break;
                case ARG_RUNTIME_DIR:
                        run.runtime_dir = optarg;
                        break;
                case ARG_UNIT_DIR:
                        run.unit_dir = optarg;
                        break;
                default:
                        return 2;
                }
        if (optind < argc) {
                fprintf(stderr, "argosyd: takes no arguments, see --help\n");
                return 2;
        }
        if (recover)
                return recover_run(&run);
        (void) uvx_start_pool(); // before anything uses it; without it signals could interrupt a disk call
        return daemon_run(&run, argv);
}
