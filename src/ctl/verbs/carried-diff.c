// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The differences of a unit's carried files between two of its contents, as a unified diff.
//
//      carried_diff_append() -> each file that came, went or changed -> its bytes, by its hash -> the text
//
// Bytes come from the request's own files or the cluster (content_fetch()). A file that is no text, or that
// is not kept any more, has a summary. A list of files that cannot be read has no differences. Failures: an
// exit code.

#include "carried-diff.h"

#include <errno.h>
#include <string.h>

#include "contents.h"
#include "ctl.h"
#include "str.h"

typedef struct CarriedDiff {
        Ctl *ctl;
        char *unit;
        Buf *out;
} CarriedDiff;

typedef struct FileSide {
        const CarriedSide *side;
        const CarriedFile *file; // NULL: there is none
        Content content;
        char name[512];
} FileSide;

static const ProtobufCBinaryData *find_sent(const FileSide *s) {
        for (size_t i = 0; i < s->side->n_sent; i++) {
                Hash hash;

                if (s->side->sent[i].len != s->file->size)
                        continue;
                hash = hash_of(s->side->sent[i].data, s->side->sent[i].len);
                if (hash_equal(&hash, &s->file->hash))
                        return &s->side->sent[i];
        }
        return NULL;
}

// EXIT_OK also if the cluster does not have the file any more: then `content.there` is false.
static int read_side(const CarriedDiff *d, FileSide *s) {
        const ProtobufCBinaryData *sent = s->file ? find_sent(s) : NULL;
        char hex[HASH_HEX_SIZE];

        str_fit(s->name, sizeof(s->name), "%s%s%s", s->file ? s->side->content->name : "/dev/null",
                s->file ? ": " : "", s->file ? s->file->name : "");
        if (!s->file)
                return EXIT_OK;
        if (sent) {
                s->content.there = true;
                return buf_append(&s->content.bytes, sent->data, sent->len) < 0 ? ctl_oom(d->ctl) : EXIT_OK;
        }
        hash_hex(&s->file->hash, HASH_SIZE, hex);
        s->content.quiet = true;
        return content_fetch(d->ctl, d->unit, hex, &s->content);
}

static bool is_text(const FileSide *s) {
        return !s->file || (s->content.there &&
                            !memchr(s->content.bytes.data ?: (const void *) "", 0, s->content.bytes.len));
}

static int append_word(const FileSide *s, Buf *out) {
        char hex[HASH_HEX_SIZE];

        if (!s->file)
                return buf_printf(out, "not there");
        hash_hex(&s->file->hash, HASH_SIZE, hex);
        return buf_printf(out, "%zu bytes, %s%s", s->file->size, hex,
                          s->content.there ? "" : ", not kept any more");
}

// The difference of files that are no text or not kept any more: their sizes and hashes.
static int append_summary(const CarriedDiff *d, const FileSide *from, const FileSide *to) {
        int r = buf_printf(d->out, "--- %s\n+++ %s\n-", from->name, to->name)
                ?: append_word(from, d->out)
                ?: buf_printf(d->out, "\n+");

        return r ?: append_word(to, d->out) ?: buf_printf(d->out, "\n");
}

static int append_difference(const CarriedDiff *d, const FileSide *from, const FileSide *to) {
        DiffSide a = {from->name, from->content.bytes.data, from->content.bytes.len},
                 b = {to->name, to->content.bytes.data, to->content.bytes.len};
        int r = 0;

        if (from->file && to->file && from->file->executable != to->file->executable)
                r = buf_printf(d->out, "%s is %sexecutable\n", to->name,
                               to->file->executable ? "" : "no longer ");
        if (r < 0 || (from->file && to->file && hash_equal(&from->file->hash, &to->file->hash)))
                return r;
        return is_text(from) && is_text(to)
                       ? diff_append(&a, &b, &d->ctl->term.style, d->ctl->term.out_tty, d->out)
                       : append_summary(d, from, to);
}

typedef struct Walk {
        const CarriedDiff *d;
        const CarriedSide *from, *to;
        int code;
} Walk;

static int diff_file(const CarriedFile *before, const CarriedFile *after, void *userdata) {
        Walk *w = userdata;
        FileSide x = {.side = w->from, .file = before}, y = {.side = w->to, .file = after};

        w->code = read_side(w->d, &x) ?: read_side(w->d, &y);
        if (w->code == EXIT_OK && append_difference(w->d, &x, &y) < 0)
                w->code = ctl_oom(w->d->ctl);
        buf_done(&x.content.bytes);
        buf_done(&y.content.bytes);
        return w->code == EXIT_OK ? 0 : -ECANCELED;
}

int carried_diff_append(Ctl *ctl, char *unit, const CarriedSide *from, const CarriedSide *to, Buf *out) {
        _cleanup_carried_files_ CarriedFiles a = {}, b = {};
        const CarriedDiff d = {ctl, unit, out};
        Walk w = {.d = &d, .from = from, .to = to, .code = EXIT_OK};
        int r = carried_files_read(from->content->data, from->content->len, &a),
            k = carried_files_read(to->content->data, to->content->len, &b);

        if (r == -ENOMEM || k == -ENOMEM)
                return ctl_oom(ctl);
        if (r == 0 && k == 0)
                (void) carried_files_difference(&a, &b, diff_file, &w);
        return w.code;
}
