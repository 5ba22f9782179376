// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// argosyd's configuration, out of a list of directories of which a later one wins: the last argosy.conf,
// then argosy.conf.d/*.conf of all in the order of their file names (the later directory hides the same
// name). A link to /dev/null masks. The machine's argosyd looks in /usr/lib/argosy, /usr/local/lib/argosy,
// /run/argosy and /etc/argosy, a user's in XDG's directories (paths.h). All keys live in one table in
// config.c, which feeds the parser, the defaults, --help and the manual.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "http-listen.h"
#include "http-names.h"
#include "http-proxies.h"
#include "macro.h"

enum { ARGOSY_PORT = 7867 }; // one port for everything

typedef struct HttpListenList {
        HttpListen *list;
        size_t n; // at most HTTP_LISTENERS_MAX
} HttpListenList;

typedef struct Config {
        char *name;    // of this host, for people
        char *address; // or a name; empty: found out
        uint64_t port; // 0: a free one that is found once, see port.h
        Argosy__Label **labels;
        size_t n_labels;
        char **managers; // of users and containers, to be served too
        size_t n_managers;
        uint64_t check_us;
        bool stop_when_removed;
        uint64_t keep_cpu_percent, keep_memory_percent;             // of the machine: not offered
        uint64_t overcommit_cpu_percent, overcommit_memory_percent; // of what is offered
        uint64_t mass_loss_percent;
        uint64_t events_mib;
        uint64_t lease_us, election_us, heartbeat_us;
        uint64_t voters;   // of a new cluster
        bool voters_given; // by a file
        uint64_t log_level;
        bool http;              // there is a unix socket for it
        HttpListenList http_listen; // and these over TCP
        HttpNames *http_names; // by which one may ask there; NULL: not said
        HttpProxies *http_proxies; // that are believed for whom they ask; NULL: nobody is
        bool http_tls;
        char *fleet; // path of the socket of fleet's API; empty: there is none
        HttpListenList fleet_listen; // and these over TCP, all with TLS
        char *fleet_take_over; // directory, without a slash at its end; empty: nothing is taken over
        char *http_certificate, *http_key; // paths; empty: our own
} Config;

typedef struct ConfigSource {
        char *const *dirs;     // least important first, NULL-terminated
        const char *user_name; // of argosyd --user; NULL: the machine's argosyd. Some defaults differ
} ConfigSource;

// Unknown keys and bad values are warned about with file and line and skipped, so that a typing error never
// keeps a host out of its cluster. -ENOMEM, or another errno for an unreadable file.
int config_load(const ConfigSource *source, Config *ret);
void config_done(Config *c);
// Of keys that cannot change while argosyd runs, `next` gets the value that `running` has, and the other way
// round. Which of them differ, as words ("Port= in [Node], ..."; malloc'd, empty: none); NULL: no memory for
// these.
char *config_keep_running(Config *next, Config *running);
// Whether TLS is spoken there: everywhere, but with Tls=no on loopback addresses.
bool config_http_has_tls(const Config *c, const HttpListen *l);
// One line per key, for --help.
char *config_describe(bool user);
