// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The state document: its copies, and what is known without asking.

#include "http-call.h"

extern const HttpWork http_state_work;

// ---- by the loop

int http_states_init(HttpApi *a, uv_loop_t *loop);
// When no call is left. Copies that a worker has end later: HttpApi.on_ended().
void http_states_close(HttpApi *a, uv_close_cb closed);
size_t http_states_bytes(const HttpApi *a);

// ---- by the thread

// Whether its client may be told that what it has is the newest without being asked who it is.
bool http_state_is_unchanged(HttpApi *a, const HttpPeer *peer, const char *condition, EventCursor *ret);
// That it has `wanted`.
enum MHD_Result http_state_send_unchanged(HttpCall *call);
