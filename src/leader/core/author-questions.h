// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How many questions to nodes each author has under way, so that one who asks much leaves others an answer.

#include "leader-core.h"

typedef struct AuthorQuestions AuthorQuestions;

// One more of this user of this host, or of this token; the same again for author_questions_drop(). NULL:
// out of memory.
AuthorQuestions *author_questions_add(Leader *l, const Argosy__Author *author) _warn_unused_;
void author_questions_drop(Leader *l, AuthorQuestions *a); // NULL is fine
size_t author_questions_open(const Leader *l, const Argosy__Author *author);
