// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The words by which lists are filtered: what people type behind --state and programs behind ?state=. Pure.

#include <stdbool.h>
#include <stddef.h>

#include "argosy.pb-c.h"

typedef enum StateWordsOf {
        STATE_WORDS_OF_UNITS, // LOAD, ACTIVE, SUB, and words of NOTE
        STATE_WORDS_OF_FILES, // DESIRED and STATE
        STATE_WORDS_OF_NODES, // STATE, and what the owner has said
        STATE_WORDS_OF_JOBS,
        STATE_WORDS_LISTS,
} StateWordsOf;

// Whether a row of such a list can ever be found by that word.
bool state_word_is_known(StateWordsOf of, const char *word, size_t len);
// All of them, sorted; ends with NULL.
const char *const *state_words(StateWordsOf of);
// "'loopin' is no state of a unit; these are: ..." A new string; NULL: out of memory.
char *state_words_refusal(StateWordsOf of, const char *word, size_t len);

// Whether the row is in that state.
bool state_word_fits_unit(const char *word, const Argosy__Response__UnitRow *row);
