// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the plain clients of systemd share: its private socket, and units named on the command line. Whatever
// fails ends the program, with the reason on standard error.

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-bus.h>

#define SYSTEMD "org.freedesktop.systemd1"
#define MANAGER SYSTEMD, "/org/freedesktop/systemd1", SYSTEMD ".Manager"

extern const char *program; // its name, for messages

_Noreturn void fail(const char *what, const char *why);
void check(int r, const char *what); // fails if it is negative errno

double now_s(void); // CLOCK_MONOTONIC

// Connected; every message goes to `on_message` first.
sd_bus *connect_manager(sd_bus_message_handler_t on_message, void *userdata);

// The names of all units, sorted, *ret_n of them; "prefix@{1..300}.service" is 300.
char **parse_names(int argc, char **argv, size_t *ret_n);
// Where the name is among them, or -1.
ssize_t find_name(char *const *names, size_t n, const char *name);
