// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The words of states by which lists are filtered (units of systemd 252 to 258, unit files, nodes, jobs).
// state_word_is_known() -> state_word_fits_unit() for each row; else state_words_refusal() lists the known
// words. A word that no row can have is refused, since an empty list would hide the mistake. Refusal: NULL
// without memory.

#include "state-words.h"

#include <string.h>

#include "buf.h"
#include "macro.h"
#include "str.h"

static const char *const of_units[] = {
        "abandoned",
        "activating",
        "activating-done",
        "active",
        "auto-restart",
        "auto-restart-queued",
        "bad-setting",
        "bound",
        "cancelled",
        "cleaning",
        "condition",
        "conflict",
        "deactivating",
        "deactivating-sigkill",
        "deactivating-sigterm",
        "dead",
        "dead-before-auto-restart",
        "dead-resources-pinned",
        "deferred",
        "drift",
        "elapsed",
        "ended",
        "error",
        "exited",
        "failed",
        "failed-before-auto-restart",
        "final-sigkill",
        "final-sigterm",
        "final-watchdog",
        "inactive",
        "listening",
        "loaded",
        "looping",
        "maintenance",
        "masked",
        "merged",
        "mismatch",
        "mounted",
        "mounting",
        "mounting-done",
        "not-found",
        "older-secret",
        "plugged",
        "refresh-extensions",
        "refreshing",
        "reload",
        "reload-notify",
        "reload-post",
        "reload-signal",
        "reloading",
        "remounting",
        "remounting-sigkill",
        "remounting-sigterm",
        "reset",
        "running",
        "skipped",
        "stale",
        "start",
        "start-chown",
        "start-open",
        "start-post",
        "start-pre",
        "stop",
        "stop-post",
        "stop-pre",
        "stop-pre-sigkill",
        "stop-pre-sigterm",
        "stop-sigkill",
        "stop-sigterm",
        "stop-watchdog",
        "stub",
        "tentative",
        "unbegun",
        "unknown",
        "unmounting",
        "unmounting-sigkill",
        "unmounting-sigterm",
        "unneeded",
        "unseen",
        "waiting",
        NULL,
};
static const char *const of_files[] = {"failed",     "inactive",  "launched", "loaded", "restarting",
                                       "returning", "unknown", "updating", NULL};
static const char *const of_nodes[] = {"cordoned", "down",   "draining", "leaving", "lost", "maintenance",
                                       "offline",  "online", "suspect",  "unknown", NULL};
static const char *const of_jobs[] = {"cancelled", "done", "failed", "held", "overtaken", "running", NULL};

static const struct {
        const char *what;
        const char *const *words;
} lists[STATE_WORDS_LISTS] = {
        [STATE_WORDS_OF_UNITS] = {"a unit", of_units},
        [STATE_WORDS_OF_FILES] = {"a unit file", of_files},
        [STATE_WORDS_OF_NODES] = {"a node", of_nodes},
        [STATE_WORDS_OF_JOBS] = {"a job", of_jobs},
};

const char *const *state_words(StateWordsOf of) {
        return lists[of].words;
}

bool state_word_is_known(StateWordsOf of, const char *word, size_t len) {
        for (const char *const *w = lists[of].words; *w; w++)
                if (strlen(*w) == len && memcmp(*w, word, len) == 0)
                        return true;
        return false;
}

char *state_words_refusal(StateWordsOf of, const char *word, size_t len) {
        _cleanup_buf_ Buf text = {};
        int r = buf_printf(&text, "'%.*s' is no state of %s; these are: ", (int) len, word, lists[of].what);

        for (const char *const *w = lists[of].words; *w && r >= 0; w++)
                r = buf_printf(&text, "%s%s", w == lists[of].words ? "" : ", ", *w);
        return r < 0 ? NULL : buf_take_string(&text);
}

static bool is_one_of(const char *list, const char *word) {
        size_t len = strlen(word);

        for (const char *at = list; len > 0 && (at = strstr(at, word)); at += len)
                if ((at == list || at[-1] == ',') && (at[len] == ',' || !at[len]))
                        return true;
        return false;
}

bool state_word_fits_unit(const char *word, const Argosy__Response__UnitRow *row) {
        return streq(row->load, word) || streq(row->active, word) || streq(row->sub, word) ||
               is_one_of(row->note, word) || (*row->error && streq(word, "error"));
}
