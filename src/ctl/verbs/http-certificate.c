// SPDX-License-Identifier: LGPL-2.1-or-later
//
// http-certificate: the certificate that this host shows over TLS, with the hashes that clients compare. No
// leader needed.
//
//      argosyd answers with PEM -> web_certificate_summary() -> lines of text and the PEM, or JSON
//
// Readers of PEM skip the lines in front of it, so the output is a file for curl --cacert as it is.
// Failures: an exit code after its message; -EBADMSG for a PEM that cannot be read.

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "clock.h"
#include "ctl.h"
#include "json.h"
#include "message-of.h"
#include "utc-time.h"
#include "verbs.h"
#include "web-certificate.h"

static void print_hash(FILE *out, const Hash *h) {
        for (size_t i = 0; i < HASH_SIZE; i++)
                fprintf(out, "%s%02X", i > 0 ? ":" : "", h->bytes[i]);
}

static void print_text(FILE *out, const Argosy__Response__HttpCertificate *m,
                       const WebCertificateSummary *s) {
        char until[UTC_TIME_SIZE];

        utc_time_format((uint64_t) s->until * USEC_PER_SEC, until);
        fprintf(out, "Certificate: SHA-256 ");
        print_hash(out, &s->certificate);
        fprintf(out, "\n        Key: sha256//%s\n  Signed by: %s\n Good until: %s\n", s->key,
                m->own ? "itself (argosyd made it; the key stays when the certificate is made anew)"
                       : "whoever the administrator chose",
                until);
        for (size_t i = 0; i < s->n_names; i++)
                fprintf(out, "%s%s", i == 0 ? "      Names: " : ", ", s->names[i]);
        fprintf(out, "%s%.*s", s->n_names > 0 ? "\n" : "", (int) m->pem.len, (const char *) m->pem.data);
}

static void print_json(Json *j, const Argosy__Response__HttpCertificate *m, const WebCertificateSummary *s,
                       const char *pem) {
        char hex[HASH_HEX_SIZE];

        hash_hex(&s->certificate, HASH_SIZE, hex);
        json_begin(j, '{');
        json_member_string(j, "sha256", hex);
        json_member_string(j, "key_sha256_base64", s->key);
        json_member_bool(j, "own", m->own);
        json_member_u64(j, "until_us", (uint64_t) s->until * USEC_PER_SEC);
        json_member_begin(j, "names", '[');
        for (size_t i = 0; i < s->n_names; i++)
                json_string(j, s->names[i]);
        json_end(j, ']');
        json_member_string(j, "pem", pem);
        json_end(j, '}');
        json_finish(j);
}

static int on_certificate(Ctl *ctl, const Argosy__Response *response, void *userdata) {
        const Argosy__Response__HttpCertificate *m = response->http_certificate;
        Json j = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY};
        _cleanup_free_ char *pem = NULL;
        WebCertificateSummary s;

        if (response->what_case != ARGOSY__RESPONSE__WHAT_HTTP_CERTIFICATE)
                return 0;
        if (web_certificate_summary(m->pem.data, m->pem.len, &s) < 0)
                return -EBADMSG;
        pem = strndup((const char *) m->pem.data, m->pem.len);
        if (!pem)
                return -ENOMEM;
        if (ctl->opt.json != JSON_OFF)
                print_json(&j, m, &s, pem);
        else
                print_text(ctl->term.out, m, &s);
        return 0;
}

int verb_http_certificate(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__HttpCertificate q = ARGOSY__REQUEST__HTTP_CERTIFICATE__INIT;
        Argosy__Request request = REQUEST_OF(HTTP_CERTIFICATE, http_certificate, &q);

        ctl->warned_stale = true; // no leader is involved
        return ctl_ask(ctl, &request, 0, on_certificate, NULL);
}
