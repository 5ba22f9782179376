// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What an argosyd that cannot run has to say to those who wait on its socket.
//
// systemd starts us for each client that connects, and again as long as one waits in the socket's backlog,
// however we ended: RestartPreventExitStatus= is about restarts only. So waiting clients are answered, with
// the reason, and then the backlog is empty. The next client starts us again and finds out whether it has
// been mended meanwhile; nothing has to be remembered or reset.

// fd: the listening socket, non-blocking or not; stays open. Answers clients for `stay_ms`, and then those
// that wait: if none does it returns at once, and else after a second at most.
void exit_reason(int fd, const char *why, unsigned stay_ms);
