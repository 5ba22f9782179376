// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How far the sender of a long stream of answers may be ahead of its taker. What lies between the two, on
// however many hosts, is at most the window and what was sent at once when it was last open:
//
//      sender     flow_window_is_open() -> reads, sends -> flow_window_sent() says with which mark, if any
//      taker      says "taken" with the mark of what it has got rid of, and means all before it, too
//      sender     flow_window_take() -> flow_window_is_open() again
//
// A mark goes out with every half of the window: when all that was marked is taken, less than half of the
// window is under way, so a sender that waits is never forgotten, and one that is heard in time never waits.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        FLOW_WINDOW_BYTES = 256 * 1024, // under way from all senders of one stream together
        FLOW_WINDOW_SHARE_MIN = 4096,   // but so much of each of them
};

typedef struct FlowWindow {
        uint64_t size; // bytes; 0: there is no end, and nothing is marked
        uint64_t sent, marked, taken;
} FlowWindow;

// So many bytes go out now. The mark to send with them; 0: none.
uint64_t flow_window_sent(FlowWindow *w, size_t bytes);
// A taker's word: what was never marked counts as the newest mark, an older one changes nothing.
void flow_window_take(FlowWindow *w, uint64_t mark);
bool flow_window_is_open(const FlowWindow *w);
// What each of `n` senders gets of a window that a taker offers to all; 0 of 0.
uint32_t flow_window_share(uint32_t offered, size_t n);
