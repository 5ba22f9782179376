// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The helper: a process that has become a user, or entered a container, and does there what argosyd must not
// do itself, because the owner of the place could turn it against the rest of the machine (links, file
// systems that hang). It runs the same program, is started when there is something to do, and ends when that
// is done.
//
//      connect   connects to the manager's private socket, hands the connection over and ends
//      write     keeps a unit directory: one HelperReply to each HelperRequest, until the link is closed
//      look      says what all unit directories have of some names (unit-search.h): likewise
//      journal   reads lines of one unit from a container's journal (journal-source.h): likewise
//      verify    says what systemd would say of unit files (unit-analysis.h), which concern no manager:
//                likewise
//
// What it says is said in the frames of helper-frame.h; argosyd's end of it is helper-link.h.

#include <sys/types.h>

// The whole life of a helper; argv: MODE MANAGER LEADER BORN, the link is descriptor 0. Returns an exit
// status.
int manager_helper_main(int argc, char **argv);

// What `write` does once it has become somebody: in BASE/systemd/BELOW, which must be the owner's, requests
// until the link is closed. Returns an exit status. A fake helper of tests does the same.
int manager_helper_write(const char *base, const char *below, uid_t owner, const char *const *search_dirs);
// The mode `look`: searches the directories for names.
int manager_helper_search(const char *const *search_dirs);
