// SPDX-License-Identifier: LGPL-2.1-or-later
//
// token: programs that are let in. The secret is made here and printed once; what is sent is the hash of its
// proof, of which nobody can make either again. A request whose answer was lost is sent once more with the
// same hash, and makes no second token. What the cluster does not take is never printed.

#include <errno.h>
#include <string.h>

#include "access-token.h"
#include "client-certificate.h"
#include "ctl-rows.h"
#include "ctl.h"
#include "message-of.h"
#include "random.h"
#include "row-json.h"
#include "str.h"
#include "table.h"
#include "text.h"
#include "verbs.h"

// ---- create

// What is shown once: a text, or certificate and key in PEM.
typedef struct Create {
        char text[ACCESS_TOKEN_TEXT_LEN + 1];
        Buf certificate, key;
        bool shown;
} Create;

static void create_done(Create *c) {
        explicit_bzero(c->text, sizeof(c->text));
        buf_done(&c->certificate);
        buf_wipe(&c->key);
}

static void show_json(Ctl *ctl, const Create *c, const Argosy__Response__TokenRow *row) {
        Json j = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY};

        json_begin(&j, '{');
        if (*c->text)
                json_strings(&j, (const char *const[][2]){{"token", c->text}}, 1);
        else
                json_strings(&j,
                             (const char *const[][2]){{"certificate", (const char *) c->certificate.data},
                                                      {"key", (const char *) c->key.data}},
                             2);
        if (row && row->token)
                row_fields_json(&token_row, row, &j);
        json_end(&j, '}');
        json_finish(&j);
}

static void show(Ctl *ctl, const Create *c, const Argosy__Response__TokenRow *row) {
        _cleanup_buf_ Buf when = {};

        if (ctl->opt.json != JSON_OFF) {
                show_json(ctl, c, row);
                return;
        }
        if (*c->text)
                fprintf(ctl->term.out, "%s\n", c->text);
        else
                fprintf(ctl->term.out, "%s%s", (const char *) c->certificate.data,
                        (const char *) c->key.data);
        if (row && row->token && ctl->term.err_tty && !ctl->opt.given[OPT_QUIET] &&
            text_append_time(&when, row->token->expires_us) == 0)
                fprintf(ctl->term.err, "It lets whoever shows it %s until %.*s, and is not shown again.\n",
                        right_to_string(row->token->right), (int) when.len, (const char *) when.data);
}

static int on_created(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Create *c = userdata;

        if (r->what_case == ARGOSY__RESPONSE__WHAT_TOKENS && r->tokens->n_rows == 1 && !c->shown) {
                show(ctl, c, r->tokens->rows[0]);
                c->shown = true;
        }
        return 0;
}

// EXIT_OK, or the code after a complaint.
static int read_words(Ctl *ctl, char **words, size_t n, Argosy__Request__TokenCreate *m) {
        if (!ctl->opt.right || !right_from_string(ctl->opt.right, &m->right))
                return ctl_usage(ctl, "token create needs --right, one of view, operate, deploy and admin");
        if (!ctl->opt.name || !access_token_name_is_valid(ctl->opt.name))
                return ctl_usage(
                        ctl,
                        "token create needs --name: 1 to 64 characters, and not 8 hex digits, as ids are");
        if (n > 0 && (n != 3 || !streq(words[0], "on") || !streq(words[1], "role") || !*words[2]))
                return ctl_usage(ctl, "it is: argosyctl token create --right RIGHT --name NAME [--ttl SPAN] "
                                      "[--certificate] [on role ROLE]");
        m->name = (char *) ctl->opt.name;
        m->role = n > 0 ? words[2] : (char *) "";
        m->ttl_sec = ctl->opt.ttl_sec;
        return EXIT_OK;
}

static int make_text(Ctl *ctl, Create *c, Hash *ret_proof) {
        uint8_t secret[ACCESS_TOKEN_SECRET_SIZE];

        random_bytes(secret, sizeof(secret));
        access_token_text(secret, c->text);
        (void) access_token_proof(c->text, ret_proof); // it was made as they are
        explicit_bzero(secret, sizeof(secret));
        return EXIT_OK;
}

static int make_certificate(Ctl *ctl, Create *c, Hash *ret_proof) {
        uint32_t ttl_sec = ctl->opt.given[OPT_TTL] ? ctl->opt.ttl_sec : ACCESS_TOKEN_TTL_SEC;
        int r = client_certificate_new(ctl->opt.name, ttl_sec, &c->certificate, &c->key, ret_proof);

        if (r == 0)
                r = buf_append(&c->certificate, "", 1);
        if (r == 0)
                r = buf_append(&c->key, "", 1);
        return r < 0 ? ctl_fail(ctl, "no certificate could be made: %s", strerror(-r)) : EXIT_OK;
}

int verb_token_create(Ctl *ctl, char **words, size_t n) {
        Argosy__Request__TokenCreate m = ARGOSY__REQUEST__TOKEN_CREATE__INIT;
        Argosy__Request request = REQUEST_OF(TOKEN_CREATE, token_create, &m);
        _cleanup_(create_done) Create c = {};
        int code = read_words(ctl, words, n, &m);
        Hash proof, hash;

        if (code == EXIT_OK)
                code = (ctl->opt.given[OPT_CERTIFICATE] ? make_certificate : make_text)(ctl, &c, &proof);
        if (code != EXIT_OK)
                return code;
        hash = access_token_hash(&proof);
        explicit_bzero(&proof, sizeof(proof));
        m.hash = (ProtobufCBinaryData){HASH_SIZE, hash.bytes};
        code = ctl_ask(ctl, &request, 0, on_created, &c);
        // the first answer was lost, and the second only says that the token was made
        if (code == EXIT_OK && !c.shown)
                show(ctl, &c, NULL);
        return code;
}

// ---- revoke

int verb_token_revoke(Ctl *ctl, char **words, size_t n) {
        Argosy__Request__TokenRevoke m = MESSAGE_OF(request__token_revoke, .tokens = words, .n_tokens = n);
        Argosy__Request request = REQUEST_OF(TOKEN_REVOKE, token_revoke, &m);

        return ctl_ask(ctl, &request, 0, NULL, NULL);
}

// ---- list

static Colour colour_of(const char *state) {
        return streq(state, "active") ? COLOUR_NONE : COLOUR_GREY;
}

static int table_row(Table *t, const Argosy__Response__TokenRow *row) {
        const char *const words[] = {row->token->id, row->token->name, right_to_string(row->token->right),
                                     row->token->role, row->token->created_by};
        int r = 0;

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(words); i++)
                r = table_add(t, words[i], COLOUR_NONE);
        r = r < 0 ? r : ctl_rows_add_time(t, row->token->expires_us);
        r = r < 0 ? r : ctl_rows_add_time(t, row->token->used_us);
        return r < 0 ? r : table_add(t, row->state, colour_of(row->state));
}

static int on_rows(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        CtlRows *rows = userdata;
        int e = 0;

        for (size_t i = 0; r->what_case == ARGOSY__RESPONSE__WHAT_TOKENS && i < r->tokens->n_rows && e == 0;
             i++) {
                if (!r->tokens->rows[i]->token)
                        continue;
                if (ctl->opt.json != JSON_OFF)
                        row_json(&token_row, r->tokens->rows[i], &rows->json);
                else
                        e = table_row(&rows->table, r->tokens->rows[i]);
        }
        return e;
}

int verb_token_list(Ctl *ctl, char **words, size_t n) {
        static const char *const headers[] = {"ID",         "NAME",    "RIGHT",     "ON ROLE",
                                              "CREATED BY", "EXPIRES", "LAST USED", "STATE"};
        Argosy__Request__TokenList list = ARGOSY__REQUEST__TOKEN_LIST__INIT;
        Argosy__Request request = REQUEST_OF(TOKEN_LIST, token_list, &list);

        return ctl_rows_print(ctl, &request, headers, ELEMENTSOF(headers), on_rows);
}
