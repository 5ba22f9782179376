// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs a fuzz harness over the files of its corpus (the directories and files given), without a fuzzer:
// every input that was ever interesting stays a test, and so does each of its first PREFIXES_MAX beginnings,
// since much of what goes wrong does so at the end of an input. An empty corpus fails.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "fileio.h"
#include "str.h"

enum { INPUT_MAX = 1024 * 1024, PREFIXES_MAX = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int feed(const uint8_t *data, size_t size) {
        // exactly as long, so that a sanitizer sees the first byte too many
        uint8_t *exact = malloc(size ?: 1);

        if (!exact)
                return -1;
        if (size > 0)
                memcpy(exact, data, size);
        (void) LLVMFuzzerTestOneInput(exact, size);
        free(exact);
        return 1;
}

static int replay_file(const char *path) {
        _cleanup_buf_ Buf input = {};
        int r;

        r = file_read(AT_FDCWD, path, INPUT_MAX, &input);
        if (r < 0) {
                fprintf(stderr, "%s: %s\n", path, strerror(-r));
                return r;
        }
        for (size_t n = 0; n < input.len && n < PREFIXES_MAX; n++)
                if (feed(input.data, n) < 0)
                        return -1;
        return feed(input.data, input.len);
}

static int replay(const char *path) {
        DIR *dir = opendir(path);
        int n = 0, r = 0;

        if (!dir)
                return replay_file(path);
        for (struct dirent *e; r >= 0 && (e = readdir(dir));) {
                _cleanup_free_ char *file = str_printf("%s/%s", path, e->d_name);

                if (e->d_name[0] == '.')
                        continue;
                r = file ? replay_file(file) : -1;
                n += r;
        }
        closedir(dir);
        return r < 0 ? r : n;
}

int main(int argc, char **argv) {
        int total = 0;

        for (int i = 1; i < argc; i++) {
                int r = replay(argv[i]);

                if (r < 0)
                        return EXIT_FAILURE;
                total += r;
        }
        printf("%d inputs\n", total);
        return total > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
