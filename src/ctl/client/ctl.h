// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One run of argosyctl: what all verbs need. Messages are in ctl.c, requests in ctl-ask.c, the names of
// units in ctl-names.c, why nodes refuse them in ctl-refusals.c, and what makes them jobs in ctl-jobs.c.

#include <stdio.h>

#include "client.h"
#include "exit-code.h"
#include "options.h"
#include "table.h"
#include "terminal.h"

enum {
        ANSWER_SEC = 90, // longest silence of a daemon that is not asked to wait for anything
        TICK_MS = 500,
        ANSWER_GRACE_MS = 1000, // how long after --timeout an answer is still taken
        MESSAGE_INDENT = 2,     // of what continues a message on the next line
        RECONNECT_SEC = 60,     // how long a lost daemon may be away until the command gives up
        REQUEST_ID_SIZE = 16,
        CTL_WORDS_MAX = 16, // of those that were typed, that a job is kept with
};

struct Ctl {
        const VerbList *verbs; // for `help`; given by ctl_main()'s caller
        CtlOptions opt;
        Terminal term;
        Client client;
        uint64_t deadline_us; // clock_boot_us(); CLIENT_NEVER without --timeout
        char awaited[192]; // what the cluster waited for when the last request was left without an answer
        bool warned_stale;
        char unknown[UNIT_NAME_MAX + 1]; // the first unit that the cluster said it does not have; "": none
        bool unknown_file; // and for which there was no file either
        Buf refused; // the refusals that were printed last
        char *words[CTL_WORDS_MAX]; // as they were typed, for the job of what is asked for
        size_t n_words;
        size_t n_targets; // of which these are the first
        uint64_t retries; // job whose units are asked for again; 0: none
        uint64_t n_ids; // that were made of --key
        uint64_t *held; // jobs that the cluster holds back, of what was asked for
        size_t n_held;
};
enum { CTL_HELD = -2 }; // beside exit codes: it was taken, and is held back; ctl-main.c goes on with it

// The daemon that will be asked; `path` is borrowed. Nothing is sent yet.
void ctl_use_socket(Ctl *ctl, const char *path);
// From here on Ctrl-C does not kill but ends the client's waiting with -EINTR.
void ctl_catch_interrupt(Ctl *ctl);

// "argosyctl: ..." on err; returns EXIT_FAILED.
int ctl_fail(Ctl *ctl, const char *format, ...) _printf_(2, 3);
// The same of a command line that is wrong; returns EXIT_USAGE.
int ctl_usage(Ctl *ctl, const char *format, ...) _printf_(2, 3);
// What unit_args_add() says is wrong with a word. Returns an exit code.
int ctl_bad_word(Ctl *ctl, int error, const Buf *why);
int ctl_oom(Ctl *ctl);
// A line on standard output, with nothing in it that commands a terminal.
void ctl_say(Ctl *ctl, const char *format, ...) _printf_(2, 3);
// With its headers, unless there is --no-legend. EXIT_OK, or the code after a complaint.
int ctl_print_table(Ctl *ctl, const Table *table);
// A warning on err, unless --quiet.
void ctl_warn(Ctl *ctl, const char *format, ...) _printf_(2, 3);

// One request, one attempt: sends it and hands every response to `f` until the final one. Warnings of the
// daemon and the age of answers without a leader are printed on the way. A response with a status is handed
// over like any other. 0, what `f` returned if negative, or what the client returned (the sentence is in
// ctl->client.why).
typedef int (*ResponseFn)(Ctl *ctl, const Argosy__Response *r, void *userdata);
enum {
        CALL_PATIENT = 1, // the daemon may be silent for as long as it likes (waiting, following)
        CALL_STATUS = 2,  // ctl_ask(): `f` sees responses with a status, which are not printed
        CALL_ONCE = 4,    // not asked again when the connection is lost
        CALL_NOTE = 8,    // messages of success are no warnings but for `f`
        CALL_TICK = 16,   // ctl_call(): while nothing comes, `f` is called with NULL every TICK_MS
        CALL_PARTS = 32,  // asked again also after a part of the answer: then all of it comes
};
int ctl_call(Ctl *ctl, Argosy__Request *request, unsigned flags, ResponseFn f, void *userdata);

// Between two tries of something that the daemon or its leader was not there for. Zero-initialised: none
// yet.
typedef struct Patience {
        uint64_t lost_us;  // since when; 0: not yet
        uint64_t pause_ms; // before the next try; grows
        bool warned;
} Patience;
// Waits a little. False if there is to be no further try: RECONNECT_SEC are over, or --timeout is (then
// *error is -ETIMEDOUT), or Ctrl-C (-EINTR).
bool ctl_try_again(Ctl *ctl, Patience *p, int *error);

// As ctl_call(), over as many connections as it takes until the first response. patience->lost_us then says
// whether one was lost on the way.
int ctl_call_until_answered(Ctl *ctl, Argosy__Request *request, unsigned flags, ResponseFn f, void *userdata,
                            Patience *patience);
// What that returned if the request has no answer: says so, and what may become of it. Returns an exit code.
int ctl_unanswered(Ctl *ctl, const Argosy__Request *request, int error, const Patience *patience);
// Same, and prints what went wrong. A response with a status is printed too, unless `f` is to see it; `f`
// may be NULL. Returns an exit code. -ECANCELED from `f` ends it in silence: the reader of the output has
// closed it.
int ctl_ask(Ctl *ctl, Argosy__Request *request, unsigned flags, ResponseFn f, void *userdata);
// The same; with --json what `f` writes is one array. json->f is the output.
typedef struct Json Json;
int ctl_ask_for_list(Ctl *ctl, Json *json, Argosy__Request *request, unsigned flags, ResponseFn f,
                     void *userdata);

// The id of a request that is not to be carried out twice: random, or made of --key.
void ctl_request_id(Ctl *ctl, uint8_t ret[REQUEST_ID_SIZE]);

// ctl-suggest.c: what an answer says of units that are not there is kept; and, when all is said, what may
// have been meant.
void ctl_note_unknown(Ctl *ctl, const Argosy__Response *r);
void ctl_suggest(Ctl *ctl);
// These are in the folder that was typed as `dir`, are no unit files, and are left out.
void ctl_warn_ignored(Ctl *ctl, const char *dir, char *const *names, size_t n);

// Why nodes do not take a unit, a line each; the first ten unless --full. What was said of the unit
// before is not said again.
void ctl_refusals(Ctl *ctl, FILE *f, Argosy__Refusal *const *refusals, size_t n);
// The same as an array of objects.
// The message of a response or unit that failed.
const char *status_text(int status, const char *message);

// The names that `args` mean: ranges expanded, ".service" added, globs asked for at the leader. The array
// and its strings are the caller's (strv_free()). Prints and returns an exit code.
enum { NAMES_NO_TEMPLATES = 1 }; // globs match no templates
int ctl_names(Ctl *ctl, char **args, size_t n_args, unsigned flags, char ***ret, size_t *ret_n);
// Patterns for the list verbs: globs stay as they are.
int ctl_patterns(Ctl *ctl, char **args, size_t n_args, char ***ret, size_t *ret_n);
// On a terminal: which files were taken from the current directory since a bare name was typed. Anywhere:
// that drop-ins were not.
typedef struct UnitArgs UnitArgs;
void ctl_tell_taken(Ctl *ctl, const UnitArgs *a);
void strv_free(char **v);
static inline void strv_freep(char ***v) {
        strv_free(*v);
}
#define _cleanup_strv_ _cleanup_(strv_freep)
