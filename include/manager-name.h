// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Names of systemd managers on one host, and of the nodes that they are. Pure.
//
//      system            the host's own systemd (argosyd --user: the user's); the node's name is HOST
//      user@1000         the user manager of that uid; the node's name is HOST/user@1000
//      container@web     the manager of the local container `web`; the node's name is HOST/web
//
// Only the first is trusted. The others belong to a user or a container, who may do with them what they
// like.

#include <stdbool.h>
#include <sys/types.h>

#include "macro.h"

enum {
        MANAGER_NAME_MAX = 80,   // bytes
        MANAGERS_PER_HOST = 512, // more are refused
};

// The reason of a node whose host has yet to say whether it can be used; every other one is final for now.
#define MANAGER_NOT_REACHED "the manager has not been reached yet"

typedef enum ManagerKind { MANAGER_INVALID, MANAGER_SYSTEM, MANAGER_USER, MANAGER_CONTAINER } ManagerKind;

ManagerKind manager_name_kind(const char *manager);
// The uid of a user manager; (uid_t) -1 for others.
uid_t manager_name_uid(const char *manager);
// "web" of "container@web"; NULL for others.
const char *manager_name_machine(const char *manager);

// For people. A new string; NULL: out of memory.
char *manager_node_name(const char *host, const char *manager);
// Whether `word` names this manager of some host, written "user@1000", "container@web" or "web".
bool manager_name_is(const char *manager, const char *word);
// Whether it can be such a glob: letters, digits and @._-*?[]!, at most MANAGER_NAME_MAX bytes.
bool manager_pattern_is_valid(const char *pattern);
