// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The configuration: one table of all keys with their types, defaults, limits and help, which the parser,
// the manual and `--help` share; argosy.conf and the drop-ins beside it, the later directory wins.
//
// A line that means nothing is logged with file and line and left out, as is the rest of a file behind a
// section header without its bracket: a mistyped key keeps no host from starting. A file that is there and
// cannot be read is an error.

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "clock.h"
#include "config-private.h"
#include "fileio.h"
#include "host-address.h"
#include "ini-reader.h"
#include "log.h"
#include "machine.h"
#include "str.h"
#include "unit-file.h"

enum { CONFIG_NAME_MAX = 63, CONFIG_FILE_MAX = 1024 * 1024 };

// The one table of all keys. Defaults are written as people would write them.
static const ConfigKey config_keys[] = {
        {"Node", "Name", KEY_NAME, FROM_RESTART, offsetof(Config, name), "", 0, 0,
         "name of this host, for people (default: its host name, with --user also the user's)"},
        {"Node", "Address", KEY_ADDRESS, FROM_RELOAD, offsetof(Config, address), "", 0, 0,
         "IP address or name that other hosts reach this one at (default: looked for, see argosy.conf(5))"},
        {"Node", "Port", KEY_NUMBER, FROM_RESTART, offsetof(Config, port), "7867", 0, 65535,
         "TCP port for everything between hosts; 0: a free one, closed until others may come", "0"},
        {"Node", "Labels", KEY_LABELS, FROM_RELOAD, offsetof(Config, labels), "", 0, 0,
         "k=v ..., matched by MachineMetadata= of units"},
        {"Node", "Managers", KEY_MANAGERS, FROM_RELOAD, offsetof(Config, managers), "", 0, 0,
         "user@UID container@NAME ...: systemd managers of this host that are nodes too"},
        {"Node", "CheckSec", KEY_SPAN, FROM_RESTART, offsetof(Config, check_us), "10min", USEC_PER_SEC,
         24 * 3600 * USEC_PER_SEC, "in so long all units are looked at once for signals that systemd lost"},
        {"Node", "StopWhenRemoved", KEY_BOOL, FROM_RELOAD, offsetof(Config, stop_when_removed), "yes", 0, 0,
         "stop the cluster's units when it turns out that this host was removed while it could not hear of "
         "it"},
        {"Node", "KeepCPUPercent", KEY_NUMBER, FROM_RELOAD, offsetof(Config, keep_cpu_percent), "0", 0, 100,
         "part of the cores that is not offered to units with ReserveCPU="},
        {"Node", "KeepMemoryPercent", KEY_NUMBER, FROM_RELOAD, offsetof(Config, keep_memory_percent), "10",
         0, 100, "part of the memory that is not offered to units with ReserveMemory="},
        {"Node", "OvercommitCPUPercent", KEY_NUMBER, FROM_RELOAD, offsetof(Config, overcommit_cpu_percent),
         "100", 1, 10000, "how much of the cores that are offered may be reserved"},
        {"Node", "OvercommitMemoryPercent", KEY_NUMBER, FROM_RELOAD,
         offsetof(Config, overcommit_memory_percent), "100", 1, 10000,
         "how much of the memory that is offered may be reserved"},
        {"Cluster", "LeaseSec", KEY_SPAN, FROM_RESTART, offsetof(Config, lease_us), "5", 500 * USEC_PER_MSEC,
         3600 * USEC_PER_SEC, "a host not heard of for so long is lost and its units move"},
        {"Cluster", "HeartbeatSec", KEY_SPAN, FROM_RESTART, offsetof(Config, heartbeat_us), "1",
         50 * USEC_PER_MSEC, 600 * USEC_PER_SEC, "how often a host tells the leader that it lives"},
        {"Cluster", "ElectionTimeoutSec", KEY_SPAN, FROM_RESTART, offsetof(Config, election_us), "0.6",
         100 * USEC_PER_MSEC, 60 * USEC_PER_SEC,
         "a voter that hears nothing from the leader for once to twice this long calls an election"},
        {"Cluster", "Voters", KEY_ODD, FROM_RELOAD, offsetof(Config, voters), "3", 1, 5,
         "how many hosts keep the log of a new cluster: 1, 3 or 5"},
        {"Cluster", "MassLossPercent", KEY_NUMBER, FROM_RESTART, offsetof(Config, mass_loss_percent), "50",
         1, 100, "if more hosts than this part are lost at once, nothing is moved; 100: never stop moving"},
        {"Cluster", "EventsMiB", KEY_NUMBER, FROM_RESTART, offsetof(Config, events_mib), "16", 1, 4096,
         "how much of the newest events the leader keeps for those who watch"},
        {"Http", "Listen", KEY_LISTEN, FROM_RESTART, offsetof(Config, http), "unix", 0, 0,
         "where programs are answered over HTTP: unix, the socket http.sock beside the local one; "
         "ADDRESS:PORT ..., over "
         "TCP, too; or none, and what stands behind that"},
        {"Http", "Names", KEY_NAMES, FROM_RELOAD, offsetof(Config, http_names), "", 0, 0,
         "names and addresses by which one may ask for this host over TCP (default: its host name, and "
         "where it listens)"},
        {"Http", "TrustedProxy", KEY_PROXIES, FROM_RELOAD, offsetof(Config, http_proxies), "", 0, 0,
         "addresses and prefixes of proxies that are believed when they say over TCP for whom they ask "
         "(default: none)"},
        {"Http", "Tls", KEY_BOOL, FROM_RESTART, offsetof(Config, http_tls), "yes", 0, 0,
         "no: what stands in Listen= and is a loopback address goes without TLS"},
        {"Http", "Certificate", KEY_PATH, FROM_RELOAD, offsetof(Config, http_certificate), "", 0, 0,
         "file of PEM with the certificate for TLS, and those that lead to who has signed it (default: our "
         "own)"},
        {"Http", "Key", KEY_PATH, FROM_RELOAD, offsetof(Config, http_key), "", 0, 0,
         "file of PEM with its private key"},
        {"Fleet", "Listen", KEY_FLEET, FROM_RESTART, offsetof(Config, fleet), "", 0, 0,
         "where the API of fleet is spoken: a unix socket in /run/argosy; ADDRESS:PORT ..., over TLS to "
         "clients with a "
         "certificate; empty: nowhere"},
        {"Fleet", "TakeOver", KEY_DIRECTORY, FROM_RELOAD, offsetof(Config, fleet_take_over), "", 0, 0,
         "directory in which fleet has left unit files behind: units that run from there are taken over as "
         "they run"},
        {"Log", "Level", KEY_NUMBER, FROM_RELOAD, offsetof(Config, log_level), "6", 3, 7,
         "3 errors ... 6 information, 7 debugging"},
};

static const char *fallback_of(const ConfigKey *k, bool user) {
        return user && k->user_fallback ? k->user_fallback : k->fallback;
}

// "fe80::1%eth0", or "[fe80::1%eth0]:80" among others.
static bool names_a_link(const char *value) {
        return strchr(value, ':') && (strchr(value, '%') || strcasestr(value, "fe80:"));
}

static int assign(Config *c, bool user, const char *path, const IniLine *line) {
        const char *value = line->value;

        for (size_t i = 0; i < ELEMENTSOF(config_keys); i++) {
                const ConfigKey *k = &config_keys[i];
                int r;

                if (!streq(k->section, line->section) || !streq(k->key, line->key))
                        continue;
                r = *value || k->type >= KEY_LABELS ? config_value_put(c, k, value)
                                                    : config_value_put(c, k, fallback_of(k, user));
                if (r == 0 && k->offset == offsetof(Config, voters))
                        c->voters_given = *value;
                if (r == NOT_A_VALUE)
                        log_warning("%s:%u: %s= cannot be \"%s\", ignored%s.", path, line->line, line->key,
                                    value, names_a_link(value) ? ": " HOST_ADDRESS_LINK_WORDS : "");
                return r < 0 ? r : 0;
        }
        log_warning("%s:%u: unknown key %s= in [%s], ignored.", path, line->line, line->key, line->section);
        return 0;
}

static int load_file(const char *path, bool user, Config *c) {
        _cleanup_buf_ Buf text = {};
        IniReader reader;
        IniLine line;
        int r;

        r = file_read(AT_FDCWD, path, CONFIG_FILE_MAX, &text);
        if (r == -ENOENT)
                return 0;
        if (r < 0) {
                log_error("Cannot read %s: %s", path, strerror(-r));
                return r;
        }
        if (text.len > 0 && memchr(text.data, 0, text.len)) {
                log_warning("%s: not a text file, ignored.", path);
                return 0;
        }
        r = ini_reader_init(&reader, (const char *) text.data, text.len);
        if (r < 0)
                return r;
        while ((r = ini_reader_next(&reader, &line)) != 0) {
                if (r == -EBADMSG)
                        log_warning("%s:%u: a section header must end with ']'; the rest of the file is "
                                    "ignored.",
                                    path, line.line);
                else if (r > 0 && line.kind == INI_GARBAGE)
                        log_warning("%s:%u: neither a section nor an assignment, ignored.", path, line.line);
                else if (r > 0 && line.kind == INI_ASSIGNMENT)
                        r = assign(c, user, path, &line);
                if (r < 0)
                        break;
        }
        ini_reader_done(&reader);
        return r == -EBADMSG ? 0 : r;
}

// ---- drop-ins

typedef struct DropIn {
        char *name, *path;
} DropIn;

static int dropin_compare(const void *a, const void *b) {
        return strcmp(((const DropIn *) a)->name, ((const DropIn *) b)->name);
}

// Adds the *.conf of one directory; a name that is known already is taken over by this directory.
static int collect_dropins(const char *dir, DropIn **list, size_t *n) {
        DIR *d = opendir(dir);
        int r = 0;

        if (!d)
                return errno == ENOENT ? 0 : -errno;
        for (struct dirent *e; r == 0 && (e = readdir(d));) {
                size_t i;
                char *path;

                if (e->d_name[0] == '.' || !str_has_suffix(e->d_name, ".conf"))
                        continue;
                path = str_printf("%s/%s", dir, e->d_name);
                if (!path) {
                        r = -ENOMEM;
                        break;
                }
                for (i = 0; i < *n && !streq((*list)[i].name, e->d_name); i++)
                        ;
                if (i < *n) {
                        free((*list)[i].path);
                        (*list)[i].path = path;
                        continue;
                }
                r = ARRAY_RESERVE(*list, *n + 1);
                if (r < 0) {
                        free(path);
                        break;
                }
                (*list)[*n] = (DropIn){.name = strdup(e->d_name), .path = path};
                if (!(*list)[(*n)++].name)
                        r = -ENOMEM;
        }
        closedir(d);
        return r;
}

static bool is_masked(const char *path) {
        char target[16] = "";

        return readlink(path, target, sizeof(target) - 1) > 0 && streq(target, "/dev/null");
}

static int load_dropins(const ConfigSource *source, Config *c) {
        DropIn *list = NULL;
        size_t n = 0;
        int r = 0;

        for (char *const *base = source->dirs; r >= 0 && *base; base++) {
                _cleanup_free_ char *dir = str_printf("%s/argosy.conf.d", *base);

                r = dir ? collect_dropins(dir, &list, &n) : -ENOMEM;
        }
        if (n > 0)
                qsort(list, n, sizeof(DropIn), dropin_compare);
        for (size_t i = 0; i < n; i++) {
                if (r >= 0 && !is_masked(list[i].path))
                        r = load_file(list[i].path, source->user_name, c);
                free(list[i].name);
                free(list[i].path);
        }
        free(list);
        return r;
}

static int load_main_file(const ConfigSource *source, Config *c) {
        _cleanup_free_ char *last = NULL;

        for (char *const *base = source->dirs; *base; base++) {
                _cleanup_free_ char *path = str_printf("%s/argosy.conf", *base);
                struct stat st;

                if (!path)
                        return -ENOMEM;
                if (lstat(path, &st) < 0)
                        continue;
                free(last);
                last = TAKE_PTR(path);
        }
        return last && !is_masked(last) ? load_file(last, source->user_name, c) : 0;
}

// The users of one machine are hosts of different names, so it is the host's part of a long name that is
// cut. A user's name that does not fit at all gives way to the uid.
static int default_user_name(const char *host, const char *user_name, char **ret) {
        char uid[16];
        int room;

        snprintf(uid, sizeof(uid), "%u", (unsigned) getuid());
        if (!label_is_valid(user_name) || strchr(user_name, '/') || strlen(user_name) > CONFIG_NAME_MAX / 2)
                user_name = uid;
        room = CONFIG_NAME_MAX - 1 - (int) strlen(user_name);
        *ret = str_printf("%.*s-%s", room, host, user_name);
        return *ret ? 0 : -ENOMEM;
}

static int default_name(Config *c, const char *user_name) {
        char host[MACHINE_NAME_SIZE];

        if (*c->name)
                return 0;
        if (!machine_name(host))
                strcpy(host, "localhost");
        free(c->name);
        c->name = NULL;
        if (user_name)
                return default_user_name(host, user_name, &c->name);
        c->name = strdup(host);
        return c->name ? 0 : -ENOMEM;
}

// Names that differ by case are one name, as for DNS: everybody writes it in the same way.
static int find_name(Config *c, const char *user_name) {
        int r = default_name(c, user_name);

        if (r == 0)
                str_lower(c->name);
        return r;
}

bool config_http_has_tls(const Config *c, const HttpListen *l) {
        return c->http_tls || !l->loopback;
}

char *config_keep_running(Config *next, Config *running) {
        _cleanup_buf_ Buf out = {};
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(config_keys); i++) {
                const ConfigKey *k = &config_keys[i];

                if (k->counts == FROM_RELOAD || config_value_is_same(k, next, running))
                        continue;
                config_value_exchange(k, next, running);
                if (r == 0)
                        r = buf_printf(&out, "%s%s= in [%s]", out.len > 0 ? ", " : "", k->key, k->section);
        }
        return r < 0 ? NULL : buf_take_string(&out);
}

// Tokens go over these.
static void refuse_clear_text(const Config *c) {
        for (size_t i = 0; i < c->http_listen.n; i++)
                if (!c->http_tls && !c->http_listen.list[i].loopback)
                        log_warning("Tls=no is refused for %s, which is no loopback address: it keeps TLS.",
                                    c->http_listen.list[i].text);
}

int config_load(const ConfigSource *source, Config *ret) {
        Config c = {};
        int r = 0;

        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(config_keys); i++)
                r = config_value_put(&c, &config_keys[i], fallback_of(&config_keys[i], source->user_name));
        if (r >= 0)
                r = load_main_file(source, &c);
        if (r >= 0)
                r = load_dropins(source, &c);
        if (r >= 0)
                refuse_clear_text(&c);
        if (r >= 0)
                r = find_name(&c, source->user_name);
        if (r >= 0 && c.heartbeat_us * 2 > c.lease_us) {
                log_warning(
                        "HeartbeatSec= must be at most half of LeaseSec=, using a quarter of LeaseSec=.");
                c.heartbeat_us = c.lease_us / 4;
        }
        if (r < 0) {
                config_done(&c);
                return r;
        }
        *ret = c;
        return 0;
}

enum { HELP_WIDTH = 80, HELP_INDENT = 8 };

char *config_describe(bool user) {
        _cleanup_buf_ Buf out = {};
        const char *section = "";

        for (size_t i = 0; i < ELEMENTSOF(config_keys); i++) {
                const ConfigKey *k = &config_keys[i];

                if (!streq(section, k->section) && buf_printf(&out, "  [%s]\n", k->section) < 0)
                        return NULL;
                section = k->section;
                if (buf_printf(&out, "    %s=%s\n%*s", k->key, fallback_of(k, user), HELP_INDENT, "") < 0 ||
                    buf_append_wrapped(&out, k->help, HELP_INDENT, HELP_INDENT, HELP_WIDTH) < 0 ||
                    buf_append(&out, "\n", 1) < 0)
                        return NULL;
        }
        return buf_take_string(&out);
}
