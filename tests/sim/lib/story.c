// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See story.h. Lines of prose are kept in a ring, as they were told.
#include "story.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "story-message.h"

enum { LINE_MAX_BYTES = 200 };

static struct {
        StoryOutput output;
        const uint64_t *now_us;
        uint64_t begin_us, digest, n_events;
        char lines[STORY_LINES][LINE_MAX_BYTES];
        size_t n_lines; // ever
} story;

void story_begin(StoryOutput output, const uint64_t *now_us) {
        story.output = output;
        story.now_us = now_us;
        story.begin_us = *now_us;
        story.digest = UINT64_C(0xcbf29ce484222325);
        story.n_events = 0;
        story.n_lines = 0;
}

static uint64_t since_begin_us(void) {
        return *story.now_us - story.begin_us;
}

void story_tell(const char *format, ...) {
        char *line = story.lines[story.n_lines++ % STORY_LINES];
        uint64_t ms = since_begin_us() / 1000;
        va_list ap;
        int n = snprintf(line, LINE_MAX_BYTES, "%4" PRIu64 ".%03" PRIu64 "  ", ms / 1000, ms % 1000);

        va_start(ap, format);
        (void) vsnprintf(line + n, LINE_MAX_BYTES - (size_t) n, format, ap);
        va_end(ap);
        if (story.output.prose)
                fprintf(stderr, "%s\n", line);
}

void story_event(const char *kind, uint32_t host, uint64_t number, const char *format, ...) {
        va_list ap;

        story.n_events++;
        if (!story.output.events)
                return;
        printf("%12" PRIu64 " %-10s %4" PRIu32 " %10" PRIu64 " ", since_begin_us(), kind, host, number);
        va_start(ap, format);
        (void) vprintf(format, ap);
        va_end(ap);
        putchar('\n');
}

void story_message(const char *kind, uint32_t host, const ProtobufCMessage *m) {
        uint64_t ms = since_begin_us() / 1000;

        if (!story.output.messages)
                return;
        fprintf(stderr, "%4" PRIu64 ".%03" PRIu64 "      %s", ms / 1000, ms % 1000, kind);
        if (host > 0)
                fprintf(stderr, " n%" PRIu32, host);
        fputs(": ", stderr);
        story_message_show(stderr, m);
}

// FNV-1a of 64 bits, eight bytes at a time.
void story_digest(const char *kind, const void *data, size_t len) {
        const uint8_t *bytes = data;
        uint64_t h = (story.digest ^ (uint8_t) *kind ^ len) * UINT64_C(0x100000001b3);

        for (; len >= sizeof(uint64_t); len -= sizeof(uint64_t), bytes += sizeof(uint64_t)) {
                uint64_t word;

                memcpy(&word, bytes, sizeof(word));
                h = (h ^ word) * UINT64_C(0x100000001b3);
                h ^= h >> 32;
        }
        for (; len > 0; len--)
                h = (h ^ *bytes++) * UINT64_C(0x100000001b3);
        story.digest = h;
}

uint64_t story_digest_value(void) {
        return story.digest;
}

uint64_t story_n_events(void) {
        return story.n_events;
}

size_t story_n_reported(void) {
        return story.n_lines;
}

void story_show_end(void) {
        size_t from = story.n_lines > STORY_LINES ? story.n_lines - STORY_LINES : 0;

        if (story.output.prose)
                return; // it is there
        for (size_t i = from; i < story.n_lines; i++)
                fprintf(stderr, "%s\n", story.lines[i % STORY_LINES]);
}
