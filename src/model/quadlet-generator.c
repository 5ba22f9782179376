// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   content -> quadlet_source() -> NAME.container in a folder -> the generator, in its sandbox ->
// NAME.service in another -> quadlet_made_compose()
//
// Only the file that is asked for is read, whatever else it writes. What it prints is shown only if that
// file is not there. A generator that hangs
// is ended, one that floods writes into a file of limited size.

#include "quadlet-generator.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandboxed-command.h"
#include "str.h"
#include "unit-file.h"

enum { VERSION_MS = 1500, WHY_MAX = 300 };

const char *quadlet_generator_path(void) {
        static const char *const paths[] = {"/usr/libexec/podman/quadlet",
                                            "/usr/lib/systemd/system-generators/podman-system-generator"};

        for (size_t i = 0; i < ELEMENTSOF(paths); i++)
                if (access(paths[i], X_OK) == 0)
                        return paths[i];
        return NULL;
}

static bool ask_version(const char *generator, char ret[static 16]) {
        const char *const args[] = {generator, "-version", NULL};
        _cleanup_(sandboxed_command_freep) SandboxedCommand *c = NULL;
        _cleanup_buf_ Buf output = {};

        if (sandboxed_command_start(&(SandboxedConfig){.args = args, .reserves_much = true}, &c) < 0)
                return false;
        if (sandboxed_command_wait(c, VERSION_MS, &output) < 0 || buf_append(&output, "", 1) < 0)
                return false;
        return quadlet_version((const char *) output.data, ret);
}

bool quadlet_generator_version(char ret[static 16]) {
        static char version[16];
        static struct timespec at;
        static ino_t inode;
        const char *generator = quadlet_generator_path();
        struct stat st = {};

        if (!generator || stat(generator, &st) < 0)
                return false;
        if (st.st_ino != inode || st.st_mtim.tv_sec != at.tv_sec || st.st_mtim.tv_nsec != at.tv_nsec) {
                *version = 0;
                if (!ask_version(generator, version))
                        *version = 0;
                inode = st.st_ino;
                at = st.st_mtim;
        }
        memcpy(ret, version, sizeof(version));
        return *version;
}

// "quadlet-generator[7]: converting "web.container": unsupported key" -> the rest, without the folder's
// path.
static int append_line(const char *line, size_t len, const char *dir, Buf *ret) {
        const char *end = line + len, *colon = memmem(line, len, "]: ", 3), *at;
        int r = ret->len > 0 ? buf_printf(ret, "; ") : 0;

        if (colon && len > strlen("quadlet-generator[") &&
            memcmp(line, "quadlet-generator[", strlen("quadlet-generator[")) == 0)
                line = colon + 3;
        while (r == 0 && (at = memmem(line, (size_t) (end - line), dir, strlen(dir)))) {
                r = buf_append(ret, line, (size_t) (at - line));
                line = at + strlen(dir);
                line += line < end && *line == '/';
        }
        return r == 0 ? buf_append(ret, line, (size_t) (end - line)) : r;
}

static char *words_of(const Buf *output, const char *dir) {
        const char *at = (const char *) output->data, *end = at + output->len;
        _cleanup_buf_ Buf words = {};
        _cleanup_free_ char *text = NULL;
        int r = 0;

        while (at < end && r == 0 && words.len < WHY_MAX) {
                const char *lf = memchr(at, '\n', (size_t) (end - at)) ?: end;

                if (lf > at)
                        r = append_line(at, (size_t) (lf - at), dir, &words);
                at = lf + (lf < end);
        }
        if (r == 0 && words.len == 0)
                r = buf_printf(&words, "it wrote nothing, and did not say why");
        text = r == 0 ? buf_take_string(&words) : NULL;
        return text ? str_printable(text, WHY_MAX) : NULL;
}

static int take_output(SandboxedCommand *c, const char *unit, const Buf *said, Buf *ret, char **ret_why) {
        int r = sandboxed_command_read(c, unit, UNIT_FILE_MAX, ret);

        if (r != -ENOENT && r != -EFBIG && r != -EISDIR)
                return r;
        *ret_why = r == -ENOENT ? words_of(said, sandboxed_command_dir(c))
                                : str_printf("what it wrote is no unit file");
        return *ret_why ? -EINVAL : -ENOMEM;
}

int quadlet_generate(const char *unit, const void *content, size_t len, unsigned timeout_ms, Buf *ret,
                     char **ret_why) {
        const char *const args[] = {quadlet_generator_path(), "-no-kmsg-log", SANDBOXED_HOME, NULL};
        _cleanup_(sandboxed_command_freep) SandboxedCommand *c = NULL;
        _cleanup_buf_ Buf source = {}, said = {}, generated = {};
        _cleanup_free_ char *file = quadlet_file(unit);
        Hash hash = hash_of(content, len);
        SandboxedFile files;
        char version[16];
        int r = file ? quadlet_source(content, len, &source) : -ENOMEM;

        if (r < 0)
                return r;
        if (!args[0] || !quadlet_generator_version(version))
                return -ENOENT;
        files = (SandboxedFile){file, source.data, source.len};
        r = sandboxed_command_start(&(SandboxedConfig){.args = args,
                                                       .files = &files,
                                                       .n_files = 1,
                                                       .home = true,
                                                       .dir_variable = "QUADLET_UNIT_DIRS",
                                                       .reserves_much = true},
                                    &c);
        if (r == 0)
                r = sandboxed_command_wait(c, timeout_ms, &said);
        if (r == 0)
                r = take_output(c, unit, &said, &generated, ret_why);
        return r < 0 ? r : quadlet_made_compose(&hash, version, generated.data, generated.len, ret);
}
