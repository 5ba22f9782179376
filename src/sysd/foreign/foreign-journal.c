// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   unit and number of lines -> lines -> "go on" -> lines -> ... -> the end, or "go on when there is
//   something"
//
// Then, within the time that a helper may idle, it can be asked about another unit.
//
// One request is under way at most, and none while the reader is held: then the helper rests where it stands
// in the journal. It has a limited time for each answer, but for one that it can only give when somebody
// writes. Lines that no helper of ours sends (control bytes, too long, too many, none where there must be
// one) end it.

#include "foreign-journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"
#include "message-of.h"

struct ForeignJournal {
        HelperLink *link; // NULL: its process is gone
        JournalOps ops;
        void *userdata;
        bool follow, held, due; // due: to be asked when it is no longer held
        bool waits;             // the answer under way is one for which it may wait
        bool at_end, ended, closing;
        bool resting; // ended, and the helper can be asked about another unit
        int error; // that is told when the process is gone; 0: none
        void (*closed)(void *userdata);
        void *closed_data;
};

static void finish(ForeignJournal *j, int error) {
        if (j->ended)
                return;
        j->ended = true;
        j->resting = error == 0;
        if (!j->resting)
                helper_link_close(j->link);
        if (!j->closing)
                j->ops.ended(error, j->userdata);
}

// ---- asking

static int ask(ForeignJournal *j, Argosy__HelperJournal *journal) {
        j->due = false;
        j->waits = journal->wait;
        Argosy__HelperRequest q = MESSAGE_OF(helper_request, .journal = journal);
        helper_link_be_patient(j->link, j->waits);
        return helper_link_send(j->link, &q);
}

static int ask_about(ForeignJournal *j, const JournalQuestion *q) {
        j->follow = q->follow;
        Argosy__HelperJournal journal = MESSAGE_OF(
                helper_journal, .unit = (char *) q->unit, .lines = q->n_lines, .follow = q->follow,
                .batch_bytes = (uint32_t) q->batch_bytes, .cause_within_us = q->cause_within_us);
        return ask(j, &journal);
}

static void ask_on(ForeignJournal *j) {
        Argosy__HelperJournal journal = ARGOSY__HELPER_JOURNAL__INIT;
        int r;

        if (j->held) {
                j->due = true;
                helper_link_be_patient(j->link, true);
                return;
        }
        journal.wait = j->at_end;
        r = ask(j, &journal);
        if (r < 0) { // the caller may not be called back before the return
                j->error = r;
                helper_link_close(j->link);
        }
}

// ---- answers

// As journal_format() makes them, and what it takes for a host's and a program's name.
static bool is_line(const char *line) {
        size_t len = strlen(line);

        for (size_t i = 0; i < len; i++)
                if ((unsigned char) line[i] < ' ' && line[i] != '\t')
                        return false;
        return len <= FOREIGN_LINE_MAX;
}

static bool is_answer(const ForeignJournal *j, const Argosy__HelperReply *reply) {
        if (reply->n_lines > FOREIGN_LINES_MAX || (j->waits && reply->n_lines == 0))
                return false;
        for (size_t i = 0; i < reply->n_lines; i++)
                if (!is_line(reply->lines[i]))
                        return false;
        return true;
}

static void on_reply(const Argosy__HelperReply *reply, int fd, void *userdata) {
        ForeignJournal *j = userdata;

        if (j->ended || j->closing)
                return;
        if (reply->error < 0 || !is_answer(j, reply)) {
                finish(j, reply->error < 0 ? reply->error : -EBADMSG);
                return;
        }
        j->at_end = reply->at_end;
        if (reply->n_lines > 0)
                j->ops.lines(reply->lines, reply->n_lines, j->userdata);
        if (!j->closing && j->at_end && j->follow && j->ops.read)
                j->ops.read(j->userdata);
        if (j->closing)
                return;
        if (j->at_end && !j->follow)
                finish(j, 0);
        else
                ask_on(j);
}

static void on_ended(int error, void *userdata) {
        ForeignJournal *j = userdata;

        if (j->resting) {
                j->resting = false;
                helper_link_close(j->link);
        } else
                finish(j, error ?: -EPIPE);
}

// ---- begin and end

static void free_and_notify(ForeignJournal *j) {
        void (*closed)(void *) = j->closed;
        void *data = j->closed_data;

        free(j);
        if (closed)
                closed(data);
}

static void on_link_closed(void *userdata) {
        ForeignJournal *j = userdata;

        j->link = NULL;
        if (j->closing) {
                free_and_notify(j);
                return;
        }
        if (!j->ended) {
                j->ended = true;
                j->ops.ended(j->error, j->userdata);
        }
}

int foreign_journal_new(const HelperConfig *config, const JournalQuestion *q, const JournalOps *ops,
                        void *userdata, ForeignJournal **ret) {
        static const HelperOps link_ops = {.reply = on_reply, .ended = on_ended, .closed = on_link_closed};
        ForeignJournal *j = calloc(1, sizeof(*j));
        int r;

        if (!j)
                return -ENOMEM;
        *j = (ForeignJournal){.ops = *ops, .userdata = userdata};
        r = helper_link_new(config, &link_ops, j, &j->link);
        if (r < 0) {
                free(j);
                return r;
        }
        r = ask_about(j, q);
        if (r < 0) {
                j->error = r;
                helper_link_close(j->link);
        }
        *ret = j;
        return 0;
}

int foreign_journal_again(ForeignJournal *j, const JournalQuestion *q) {
        int r = j->resting ? ask_about(j, q) : -EPIPE;

        if (r < 0)
                return r;
        j->ended = j->resting = j->at_end = false;
        return 0;
}

void foreign_journal_hold(ForeignJournal *j, bool hold) {
        j->held = hold;
        if (!hold && j->due && !j->ended && !j->closing && j->error == 0)
                ask_on(j);
}

void foreign_journal_close(ForeignJournal *j, void (*closed)(void *userdata), void *userdata) {
        j->closing = true;
        j->closed = closed;
        j->closed_data = userdata;
        if (j->link)
                helper_link_close(j->link);
        else
                free_and_notify(j);
}
