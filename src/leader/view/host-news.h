// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What people are told of a host: that it was lost, and that it is back. It is told once, also if the leader
// changes meanwhile.

#include "leader-core.h"

// `silent_us`: for how long it was not heard before; 0: it said that it goes.
void host_news_lost(Leader *l, Host *h, uint64_t silent_us);
void host_news_back(Leader *l, Host *h);
// The entry that is made says all that is to be said of the host; it is not among those with HOST_NEWS any
// more.
void host_news_reported(Leader *l, Host *h);
// That entry is in the log, or never will be: then it is to be said again.
void host_news_landed(Leader *l, bool committed);
