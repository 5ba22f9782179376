// SPDX-License-Identifier: LGPL-2.1-or-later
//
// systemd ends each failure with the same lines ("Main process exited", "Failed with result", "Failed to
// start"); what was wrong stands before them, and so does what the program wrote. Entries are sorted into
// ranks by who wrote them, how urgent that is, and how the text begins; ranks are filled one after the
// other. Of systemd's complaints the first ones count, from which the others follow; of the program's lines
// the last ones.

#include "journal-cause.h"

#include "str.h"

typedef enum Rank {
        CAUSE,     // systemd complains
        WORDS,     // of the program
        SUMMARY,   // systemd complains again, and less precisely
        EXIT,      // of which process
        AFTERMATH, // the rest
        RANKS,
} Rank;

// The texts that follow "UNIT: ".
static const struct {
        const char *begins;
        Rank rank;
} texts[] = {
        {"Main process exited", EXIT},
        {"Control process exited", EXIT},
        {"Failed to run '", SUMMARY},
        {"Failed to spawn '", SUMMARY},
        {"Start request repeated too quickly", SUMMARY},
        {"Failed with result", AFTERMATH},
        {"Scheduled restart job", AFTERMATH},
        {"Triggering On", AFTERMATH},
        {"Unit process", AFTERMATH},
        {"Consumed ", AFTERMATH},
        {"Unit entered failed state", AFTERMATH},
};

static const char *behind_name(const char *text) {
        const char *colon = strstr(text, ": ");

        return colon && !memchr(text, ' ', (size_t) (colon - text)) ? colon + 2 : text;
}

static Rank rank_of(const JournalEntry *e) {
        const char *text = behind_name(e->text);

        if (!e->by_manager)
                return WORDS;
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                if (str_has_prefix(text, texts[i].begins))
                        return texts[i].rank;
        if (text == e->text && str_has_prefix(text, "Failed to start ")) // of the job
                return AFTERMATH;
        return e->priority <= 4 ? CAUSE : AFTERMATH; // a warning
}

static bool is_complaint(const JournalEntry *e) {
        return e->by_manager && rank_of(e) != AFTERMATH;
}

// The last run of which systemd complained: one that is well may have followed it. Without one, the last run
// in which something was said. "": nobody says of which run anything is.
static const char *last_run(const JournalEntry *entries, size_t n, uint64_t since_us) {
        const char *last = "";

        for (size_t i = n; i-- > 0;) {
                if (entries[i].at_us < since_us || !*entries[i].invocation)
                        continue;
                if (is_complaint(&entries[i]))
                        return entries[i].invocation;
                last = *last ? last : entries[i].invocation;
        }
        return last;
}

// What names no run belongs to whatever is around it.
static bool counts(const JournalEntry *e, const char *run, uint64_t since_us) {
        return e->at_us >= since_us && (!*run || !*e->invocation || streq(e->invocation, run));
}

static bool is_said(const JournalEntry *entries, size_t n, const bool *chosen, const char *text) {
        for (size_t i = 0; i < n; i++)
                if (chosen[i] && streq(entries[i].text, text))
                        return true;
        return false;
}

// One rank, from its first or its last entry on.
static size_t fill(const JournalEntry *entries, size_t n, const char *run, uint64_t since_us, Rank rank,
                   size_t most, bool *chosen) {
        size_t n_chosen = 0;

        for (size_t k = 0; k < n && n_chosen < most; k++) {
                size_t i = rank == CAUSE ? k : n - 1 - k;

                if (chosen[i] || !counts(&entries[i], run, since_us) || rank_of(&entries[i]) != rank ||
                    is_said(entries, n, chosen, entries[i].text))
                        continue;
                chosen[i] = true;
                n_chosen++;
        }
        return n_chosen;
}

size_t journal_cause_choose(const JournalEntry *entries, size_t n, uint64_t since_us, size_t most,
                            bool *chosen) {
        const char *run = last_run(entries, n, since_us);
        bool has_words = false, complains = false;
        size_t n_chosen = 0;

        for (size_t i = 0; i < n; i++) {
                chosen[i] = false;
                has_words |= counts(&entries[i], run, since_us) && rank_of(&entries[i]) == WORDS;
                complains |= counts(&entries[i], run, since_us) && is_complaint(&entries[i]);
        }
        for (Rank rank = CAUSE; rank < RANKS && n_chosen < most; rank++) {
                if (rank == AFTERMATH && !complains) // of what is well
                        break;
                size_t room = most - n_chosen;

                if (rank == CAUSE && has_words && room > 1)
                        room--; // the program has a word
                n_chosen += fill(entries, n, run, since_us, rank, room, chosen);
        }
        return n_chosen;
}
