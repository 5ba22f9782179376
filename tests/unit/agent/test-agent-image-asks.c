// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the leader is told of a tag.
#include "podman-world.h"

static const Argosy__ToVoter__ImageAnswer *answer_of(int result, const char *output, const char *said) {
        call("reg.example/box:1");
        assert_string_equal(newest("skopeo")->line,
                            "/usr/bin/skopeo inspect --raw docker://reg.example/box:1");
        end(newest("skopeo"), result, output, said);
        assert_non_null(w.call_reply);
        assert_int_equal(w.call_reply->call_reply->id, 9);
        return w.call_reply->call_reply->image;
}

static void a_tag_has_the_digest_of_what_the_registry_sends(void **state) {
        static const char index[] = "{\"schemaVersion\":2,\"manifests\":[]}";
        char digest[7 + HASH_HEX_SIZE] = "sha256:";
        Hash hash = hash_of(index, strlen(index));

        hash_hex(&hash, HASH_SIZE, digest + 7);
        assert_string_equal(answer_of(0, index, "")->digest, digest);
}

static void what_is_no_manifest_has_none(void **state) {
        const Argosy__ToVoter__ImageAnswer *a = answer_of(0, "<html>", "");

        assert_string_equal(a->digest, "");
        assert_string_equal(a->error, "what the registry sent is no manifest");
        assert_false(a->here);
}

static void a_registry_that_refuses_is_quoted(void **state) {
        const Argosy__ToVoter__ImageAnswer *a =
                answer_of(-EIO, "",
                          "time=\"2026-01-02\" level=fatal msg=\"Error parsing image name "
                          "\\\"docker://x\\\": unauthorized\"\n");

        assert_string_equal(a->error, "parsing image name \"docker://x\": unauthorized; if it is private, "
                                      "RegistryAuth= names the secret to show");
        assert_false(a->here);
}

static void a_registry_that_is_not_reached_may_be_by_another_host(void **state) {
        const Argosy__ToVoter__ImageAnswer *a =
                answer_of(-EIO, "", "level=fatal msg=\"dial tcp: connection refused\"\n");

        assert_string_equal(a->error, "dial tcp: connection refused");
        assert_true(a->here);
}

static void a_registry_that_hangs_is_named_so(void **state) {
        const Argosy__ToVoter__ImageAnswer *silent = answer_of(-ETIMEDOUT, "", "");
        assert_string_equal(silent->error, "the registry does not answer");
        assert_true(silent->here); // it may answer another host
        assert_string_equal(answer_of(-EFBIG, "", "")->error,
                            "the manifest that the registry sent is longer than 1 MiB");
}

static void a_question_that_is_over_ends_its_command(void **state) {
        Argosy__ToHost__CallCancel c = ARGOSY__TO_HOST__CALL_CANCEL__INIT;
        Argosy__ToHost m = TO_HOST_OF(CALL_CANCEL, call_cancel, &c);

        call("reg.example/box:1");
        c.id = 9;
        agent_on_message(w.agent, &m);
        assert_null(commands[0].line);
        assert_null(w.call_reply);
}

RUN_TESTS(
        CASE(a_tag_has_the_digest_of_what_the_registry_sends),
        CASE(what_is_no_manifest_has_none),
        CASE(a_registry_that_refuses_is_quoted),
        CASE(a_registry_that_is_not_reached_may_be_by_another_host),
        CASE(a_registry_that_hangs_is_named_so),
        CASE(a_question_that_is_over_ends_its_command)
)
