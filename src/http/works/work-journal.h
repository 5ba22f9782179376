// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Journals. By the loop.

#include "http-call.h"

extern const HttpWork http_journal_work;

// Somebody has logged out: what it followed ends, and of one that the thread has nothing more comes than it
// has got.
void http_journals_on_logout(HttpApi *a);
// All of them are nobody's any more, nor are their questions.
void http_journals_forget(HttpApi *a);
