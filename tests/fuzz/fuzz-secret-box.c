// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever the log says is a sealed secret: it is none, since nobody has the key. What is sealed by us is
// opened again.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"
#include "secret-box.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t key[SECRET_KEY_SIZE] = {1, 2, 3};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const SecretLabel label = {.name = "db", .version = 1, .key = 1};
        SecretBytes opened = {};
        Buf sealed = {};

        if (secret_box_open(key, &label, data, size, &opened) != -EBADMSG)
                abort();
        if (size > 0 && secret_box_seal(key, &label, data, size, &sealed) == 0) {
                if (secret_box_open(key, &label, sealed.data, sealed.len, &opened) < 0 ||
                    opened.len != size || memcmp(opened.data, data, size) != 0)
                        abort();
                secret_bytes_done(&opened);
        }
        buf_done(&sealed);
        return 0;
}
