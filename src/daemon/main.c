// SPDX-License-Identifier: LGPL-2.1-or-later
//
// argosyd's command line, and whose it is: the machine's daemon, a user's (--user), or, as which it executes
// itself, a helper that enters a manager (manager-helper.h), or who starts these for the machine's
// (helper-service.h). Mistakes are said on standard error; how the daemon ended becomes the exit status,
// after one of which systemd does not start it again.

#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "config.h"
#include "heap.h"
#include "helper-service.h"
#include "log-journal.h"
#include "log.h"
#include "manager-helper.h"
#include "pool.h"
#include "run.h"
#include "start-failure.h"
#include "str.h"
#include "tls-memory.h"
#include "uvx.h"


static void help(bool user) {
        _cleanup_free_ char *keys = config_describe(user);

        printf("argosyd [OPTIONS...]\n\n"
               "One of the hosts that behave like one systemd.\n\n"
               "  -h --help             Show this help; with --user, that user's defaults\n"
               "     --version          Show the version\n"
               "     --debug            Log everything\n"
               "     --user             For the user who runs it, beside systemd --user; no root\n"
               "     --recover          Offline, when most voters are gone for good: make this\n"
               "                        host's copy of the log the cluster, then exit\n"
               "     --state-dir=DIR    Instead of %s\n"
               "     --runtime-dir=DIR  Instead of %s\n"
               "     --unit-dir=DIR     Instead of %s\n\n"
               "%s/argosy.conf and argosy.conf.d/*.conf (keys and defaults):\n%s\n"
               "See argosyd(8) and argosy.conf(5).\n",
               user ? "$XDG_STATE_HOME/argosy" : "/var/lib/argosy",
               user ? "$XDG_RUNTIME_DIR/argosy" : "/run/argosy",
               user ? "$XDG_RUNTIME_DIR/systemd/user" : "/run/systemd/system",
               user ? "$XDG_CONFIG_HOME/argosy" : "/etc/argosy", keys ?: "");
}

// What the command line says, before it is known whose directories are meant.
typedef struct Arguments {
        bool help, version, user, debug, recover;
        const char *state_dir, *runtime_dir, *unit_dir;
} Arguments;

enum { ARG_VERSION = 256, ARG_DEBUG, ARG_USER, ARG_RECOVER, ARG_STATE_DIR, ARG_RUNTIME_DIR, ARG_UNIT_DIR };

static const struct option options[] = {
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, ARG_VERSION},
        {"debug", no_argument, NULL, ARG_DEBUG},
        {"user", no_argument, NULL, ARG_USER},
        {"recover", no_argument, NULL, ARG_RECOVER},
        {"state-dir", required_argument, NULL, ARG_STATE_DIR},
        {"runtime-dir", required_argument, NULL, ARG_RUNTIME_DIR},
        {"unit-dir", required_argument, NULL, ARG_UNIT_DIR},
        {},
};

static bool read_option(int c, Arguments *a) {
        switch (c) {
        case 'h':
                return a->help = true;
        case ARG_VERSION:
                return a->version = true;
        case ARG_DEBUG:
                return a->debug = true;
        case ARG_USER:
                return a->user = true;
        case ARG_RECOVER:
                return a->recover = true;
        case ARG_STATE_DIR:
                a->state_dir = optarg;
                return true;
        case ARG_RUNTIME_DIR:
                a->runtime_dir = optarg;
                return true;
        case ARG_UNIT_DIR:
                a->unit_dir = optarg;
                return true;
        default:
                return false;
        }
}

// False: they make no sense, which was said.
static bool read_arguments(int argc, char **argv, Arguments *a) {
        int c;

        while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0)
                if (!read_option(c, a))
                        return false;
        if (optind < argc)
                fprintf(stderr, "argosyd: takes no arguments, see --help\n");
        return optind == argc;
}

static int find_user(RunOptions *run, char **ret_home) {
        const struct passwd *pw = getpwuid(getuid());

        run->user_name = pw ? strdup(pw->pw_name) : str_printf("%u", (unsigned) getuid());
        *ret_home = pw ? strdup(pw->pw_dir) : NULL;
        return run->user_name && (!pw || *ret_home) ? 0 : -ENOMEM;
}

static int find_paths(const Arguments *a, RunOptions *run, char **ret_why) {
        _cleanup_free_ char *home = NULL;
        Paths *p = &run->paths;
        int r = a->user ? find_user(run, &home) : 0;

        if (r >= 0)
                r = paths_init(p, a->user, environ, home, ret_why);
        if (r >= 0 && a->state_dir)
                r = paths_set(&p->state_dir, a->state_dir);
        if (r >= 0 && a->runtime_dir)
                r = paths_set(&p->runtime_dir, a->runtime_dir);
        if (r >= 0 && a->unit_dir)
                r = paths_set(&p->manager.unit_dir, a->unit_dir);
        return r;
}

static void set_pool_size(void) {
        char text[16];

        str_fit(text, sizeof(text), "%d", POOL_THREADS);
        setenv("UV_THREADPOOL_SIZE", text, 0);
}

int main(int argc, char **argv) {
        static RunOptions run; // as long as the process
        _cleanup_free_ char *why = NULL;
        Arguments arguments = {};
        int r;

        log_journal_use();
        if (argc > 2 && streq(argv[1], "--manager-helper")) // executed by ourselves, see manager-helper.h
                return manager_helper_main(argc - 2, argv + 2);
        // of argosy-helper.service, see helper-service.h
        if (argc == 2 && streq(argv[1], "--helper-service"))
                return helper_service_main();
        set_pool_size();
        heap_tune();
        tls_memory_wipe();
        signal(SIGPIPE, SIG_IGN);
        if (!read_arguments(argc, argv, &arguments))
                return 2;
        if (arguments.help) {
                help(arguments.user);
                return EXIT_SUCCESS;
        }
        if (arguments.version) {
                puts("argosyd " ARGOSY_VERSION);
                return EXIT_SUCCESS;
        }
        r = find_paths(&arguments, &run, &why);
        if (r < 0) {
                // No restart helps who has no directories.
                return start_failed(NULL, r == -ENOENT ? -EBADMSG : r, why ?: strerror(-r), false);
        }
        run.debug = arguments.debug;
        if (arguments.recover)
                return recover_run(&run);
        r = uvx_start_pool(heap_tune_pool_thread);
        if (r < 0) {
                why = str_printf("Cannot start the pool of threads: %s", strerror(-r));
                return start_failed(run.paths.runtime_dir, r, why ?: strerror(-r), false);
        }
        return daemon_run(&run, argv);
}
