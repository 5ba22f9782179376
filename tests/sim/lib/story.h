// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What happens, told in two ways: in prose, of which the last lines are shown when a story is red, and as
// one line of fixed columns per event for programs. And its digest: of each entry of the log and of each
// response, in their order.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

enum { STORY_LINES = 100 };

typedef struct StoryOutput {
        bool prose;  // all of it, as it happens, to standard error
        bool events; // to standard output
        bool messages; // field by field: entries, requests, responses, orders and reports, to standard error
        size_t until; // the step, from 1 on, before which a debugger gets its turn; 0: none
} StoryOutput;

// `now_us`: the clock of the story.
void story_begin(StoryOutput output, const uint64_t *now_us);
__attribute__((format(printf, 1, 2))) void story_tell(const char *format, ...);
// One thing that was delivered: an entry, a message, a response, a step.
__attribute__((format(printf, 4, 5))) void story_event(const char *kind, uint32_t host, uint64_t number,
                                                       const char *format, ...);
// A message that was delivered, field by field, if somebody asked for that (StoryOutput.messages).
void story_message(const char *kind, uint32_t host, const ProtobufCMessage *m);
void story_digest(const char *kind, const void *data, size_t len);
uint64_t story_digest_value(void);
uint64_t story_n_events(void);
size_t story_n_reported(void); // lines of prose
// The last lines of prose, to standard error.
void story_show_end(void);
