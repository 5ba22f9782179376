// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Names of systemd managers, and the names of the nodes that they are. Letters are those of ASCII whatever
// the locale says. A name that is none is MANAGER_INVALID; user@0 is none, since what runs there may as well
// run in the system's.

#include "manager-name.h"

#include "str.h"

enum { MACHINE_NAME_MAX = 64 }; // of a container, as systemd has it

static const char user_prefix[] = "user@", container_prefix[] = "container@";

static bool consists_of(const char *s, const char *others) {
        for (; *s; s++)
                if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
                      strchr(others, *s)))
                        return false;
        return true;
}

// The root user's manager would be no hostile one, and what runs there may as well run in the system's.
static bool parse_uid(const char *digits, uid_t *ret) {
        uint64_t n;

        if (*digits == '0' || !parse_u64(digits, UINT32_MAX - 1, &n))
                return false;
        *ret = (uid_t) n;
        return true;
}

static bool is_machine(const char *name) {
        return *name && *name != '.' && *name != '-' && strlen(name) <= MACHINE_NAME_MAX &&
               consists_of(name, "._-");
}

ManagerKind manager_name_kind(const char *manager) {
        if (streq(manager, "system"))
                return MANAGER_SYSTEM;
        if (manager_name_uid(manager) != (uid_t) -1)
                return MANAGER_USER;
        return manager_name_machine(manager) ? MANAGER_CONTAINER : MANAGER_INVALID;
}

uid_t manager_name_uid(const char *manager) {
        uid_t uid;

        return str_has_prefix(manager, user_prefix) && parse_uid(manager + strlen(user_prefix), &uid)
                       ? uid
                       : (uid_t) -1;
}

const char *manager_name_machine(const char *manager) {
        const char *name = manager + strlen(container_prefix);

        return str_has_prefix(manager, container_prefix) && is_machine(name) ? name : NULL;
}

static const char *short_name(const char *manager) {
        return manager_name_machine(manager) ?: manager;
}

char *manager_node_name(const char *host, const char *manager) {
        return streq(manager, "system") ? strdup(host) : str_printf("%s/%s", host, short_name(manager));
}

bool manager_name_is(const char *manager, const char *word) {
        return streq(manager, word) || (streq(short_name(manager), word) && !streq(word, "system"));
}

bool manager_pattern_is_valid(const char *pattern) {
        return *pattern && strlen(pattern) <= MANAGER_NAME_MAX && consists_of(pattern, "@._-*?[]!");
}
