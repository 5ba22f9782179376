// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Members of one test cluster: identities signed by one CA, and contexts whose judge accepts what
// members_trust says.

#include "ca.h"
#include "identity.h"
#include "test.h"
#include "tls-context.h"

enum { MEMBERS_MAX = 4 };

static Ca member_ca;
static Identity member[MEMBERS_MAX]; // 0 is the first host
static TlsContext *member_tls[MEMBERS_MAX];
static bool member_trusted[MEMBERS_MAX]; // what the judge says
static bool member_removed[MEMBERS_MAX]; // likewise; false unless a test sets it
static unsigned members_judged;

static inline TlsVerdict members_judge(const Hash *pin, const char *alpn, void *userdata) {
        members_judged++;
        for (size_t i = 0; i < MEMBERS_MAX; i++)
                if (hash_equal(&member[i].pin, pin))
                        return member_removed[i]   ? TLS_REMOVED
                               : member_trusted[i] ? TLS_MEMBER
                                                   : TLS_STRANGER;
        return TLS_STRANGER;
}

static inline void members_join(size_t i) {
        _cleanup_buf_ Buf csr = {}, cert = {};

        assert_int_equal(identity_request("member", &member[i], &csr), 0);
        assert_int_equal(ca_sign(&member_ca, csr.data, csr.len, "member", &cert, NULL), 0);
        assert_int_equal(identity_install(&member[i], cert.data, cert.len, member[0].ca_cert.data,
                                          member[0].ca_cert.len),
                         0);
}

static inline int members_setup(void **state) {
        assert_int_equal(ca_create(&member_ca), 0);
        assert_int_equal(identity_create("first", &member_ca, &member[0]), 0);
        for (size_t i = 0; i < MEMBERS_MAX; i++) {
                if (i > 0)
                        members_join(i);
                assert_int_equal(tls_context_new(&member[i], members_judge, NULL, &member_tls[i]), 0);
                member_trusted[i] = true;
                member_removed[i] = false;
        }
        return 0;
}

static inline int members_teardown(void **state) {
        for (size_t i = 0; i < MEMBERS_MAX; i++) {
                member_tls[i] = tls_context_unref(member_tls[i]);
                identity_done(&member[i]);
        }
        ca_done(&member_ca);
        return 0;
}
