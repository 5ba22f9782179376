// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is due of a host, and what is counted of all of them.

#include "leader-core.h"

// Its lease, its session, the mode of a node or what its managers say has changed: the counts, and what the Placement
// knows.
void host_touch(Leader *l, Host *h);
void host_mark_place(Leader *l, Host *h);   // only the Placement is to hear of it
void host_mark_voters(Leader *l, Host *h);  // only whether it could vote may have changed
void host_mark_orders(Leader *l, Host *h);  // there may be something to send
void host_mark_globals(Leader *l, Host *h); // which global units its nodes run is to be judged again
void host_mark_tombstones(Leader *l, Host *h); // it may have let go of something
// What the log is to say of the host; takes the message over. NULL: as it is.
void host_set_pending_record(Leader *l, Host *h, Argosy__HostRecord *pending_record);
// Nothing is due of it any more, and it is not counted: it goes, or this leader's time is over.
void host_forget_marks(Host *h);
bool host_is_lost(const Host *h);
bool host_is_told(const Host *h); // what it holds was told to this leader, whole; it may have changed since, while its link was down
// A member that has attached and was heard in time. NULL: it is not.
bool host_is_there(const Host *h);
// Neither off nor about to be, by its owner's word.
bool host_is_expected(const Host *h);
