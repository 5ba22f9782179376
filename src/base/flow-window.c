// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The sender's side of a flow window; flow-window.h has the protocol. A mark is the number of bytes from the
// beginning of the stream; the taker only sends marks back.
//
//      flow_window_sent() -> a mark each half window -> the taker's mark -> flow_window_take() -> open again
//
// Nothing fails: a mark that was never sent counts as the newest one, so a taker that lies harms only its
// own stream.

#include "flow-window.h"

#include "macro.h"

uint64_t flow_window_sent(FlowWindow *w, size_t bytes) {
        w->sent += bytes;
        if (w->size == 0 || w->sent - w->marked < w->size / 2)
                return 0;
        w->marked = w->sent;
        return w->marked;
}

void flow_window_take(FlowWindow *w, uint64_t mark) {
        w->taken = MAX_OF(w->taken, MIN_OF(mark, w->marked));
}

bool flow_window_is_open(const FlowWindow *w) {
        return w->size == 0 || w->sent - w->taken < w->size;
}

uint32_t flow_window_share(uint32_t offered, size_t n) {
        uint32_t all = MIN_OF(offered, (uint32_t) FLOW_WINDOW_BYTES);

        if (all == 0 || n == 0)
                return all;
        return MAX_OF((uint32_t) (all / n), (uint32_t) FLOW_WINDOW_SHARE_MIN);
}
