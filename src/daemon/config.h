// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// argosyd's configuration: /etc/argosy/argosy.conf, then argosy.conf.d/*.conf out of /usr/lib/argosy,
// /usr/local/lib/argosy, /run/argosy and /etc/argosy in the order of their file names (the later directory
// hides the same name; a link to /dev/null masks it). All keys live in one table in config.c, which feeds
// the parser, the defaults, --help and the manual.

#include "argosy.pb-c.h"
#include "macro.h"

enum { ARGOSY_PORT = 7867 }; // one port for everything

typedef struct Config {
        char *name;    // of this host, for people
        char *address; // numeric; empty: found out
        uint64_t port;
        Argosy__Label **labels;
        size_t n_labels;
        uint64_t check_us;
        uint64_t lease_us, election_us, heartbeat_us;
        uint64_t voters;
        uint64_t log_level;
} Config;

// `root` is put before all paths ("" on a host; a directory in tests). Unknown keys and bad values are
// warned about with file and line and skipped, so that a typing error never keeps a host out of its cluster.
// -ENOMEM, or another errno for an unreadable file.
int config_load(const char *root, Config *ret);
void config_done(Config *c);
// One line per key, for --help.
char *config_describe(void);
