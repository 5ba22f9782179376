// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever stands in the file of the voters' secrets: it is refused, or what was read is the same when it is
// written and read again. The checksum is made right, since nothing would come behind it otherwise; the file
// as it is comes first.

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"
#include "voter-secrets.h"

enum { MAGIC = 8, HEAD = MAGIC + sizeof(uint32_t) };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const VoterSecrets *s) {
        VoterSecrets copy = {};

        if (s->n > VOTER_SECRETS_MAX || voter_secrets_copy(s, &copy) < 0 || copy.n != s->n)
                abort();
        for (size_t i = 0; i < s->n; i++) {
                const SecretBytes *value = voter_secrets_find(&copy, s->list[i].name, s->list[i].number);

                if (!value || value->len != s->list[i].value.len || value->len == 0 ||
                    value->len > VOTER_SECRET_VALUE_MAX)
                        abort();
        }
        voter_secrets_done(&copy);
}

static void parse(const uint8_t *data, size_t size) {
        VoterSecrets s = {};

        if (voter_secrets_parse(data, size, &s) == 0)
                check(&s);
        voter_secrets_done(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ uint8_t *file = malloc(size + HEAD);
        uint32_t crc = htole32(crc32c(0, data, size));

        if (!file)
                return 0;
        parse(data, size);
        memcpy(file, "argsecr1", MAGIC);
        memcpy(file + MAGIC, &crc, sizeof(crc));
        if (size > 0)
                memcpy(file + HEAD, data, size);
        parse(file, size + HEAD);
        return 0;
}
