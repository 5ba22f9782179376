// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   content -> content_image_for_generator() -> NAME.container in a folder, with the files that it names ->
//   the generator, in its
// sandbox -> NAME.service in another, with those of volumes and networks -> quadlet_made_compose()
//
// Only the files that are asked for are read, whatever else it writes. What it prints is shown only if that
// file is not there. A generator that hangs is ended, one that floods writes into a file of limited size.

#include "quadlet-generator.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "content-image.h"
#include "sandboxed-command.h"
#include "str.h"
#include "unit-file.h"
#include "unit-parts.h"

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

// ------------------------------------------------------------------------------------------------ one run

typedef struct Run {
        const char *content;
        size_t len;
        char version[16];
        SandboxedFile *files; // the container's own is the first; names and contents are this object's
        size_t n_files, allocated;
        SandboxedCommand *command;
        Buf said;
} Run;

static void run_done(Run *run) {
        for (size_t i = 0; i < run->n_files; i++) {
                free((char *) run->files[i].name);
                free((void *) run->files[i].content);
        }
        free(run->files);
        sandboxed_command_free(run->command);
        buf_done(&run->said);
}

// Takes both; NULL: out of memory.
static int add_file(Run *run, char *name, char *content) {
        if (!name || !content || ARRAY_GROW(run->files, run->allocated, run->n_files + 1) < 0) {
                free(name);
                free(content);
                return -ENOMEM;
        }
        run->files[run->n_files++] = (SandboxedFile){name, content, strlen(content)};
        return 0;
}

// With the digest of its image, and what it brings.
static int add_own(Run *run, const char *unit) {
        _cleanup_buf_ Buf source = {};
        int r = content_image_for_generator(unit, run->content, run->len, &source);

        if (r == 0)
                r = quadlet_binds(run->content, run->len, &source);
        return r < 0 ? r : add_file(run, quadlet_file(unit), buf_take_string(&source));
}

static int add_source(Run *run, char *name, const void *content, size_t len) {
        _cleanup_buf_ Buf source = {};
        _cleanup_free_ char *owned = name;
        int r = quadlet_source(content, len, NULL, &source);

        return r < 0 ? r : add_file(run, TAKE_PTR(owned), buf_take_string(&source));
}

// It says of which file it was made, so that a network of before can be told from it.
static char *network_source(const UnitPart *part) {
        Hash hash = quadlet_beside_hash(part);
        char hex[HASH_HEX_SIZE];

        hash_hex(&hash, HASH_SIZE, hex);
        return str_printf("%.*s\n\n[Network]\nLabel=" QUADLET_NETWORK_OF "=%s\n", (int) part->len,
                          part->content, hex);
}

static int add_beside(Run *run) {
        UnitPart part;
        UnitParts p;
        int r = 0;

        unit_parts_begin(&p, run->content, run->len);
        while (r == 0 && unit_parts_next(&p, &part)) {
                char *name = unit_part_is_beside(&part) ? strndup(part.path, part.path_len) : NULL;

                if (unit_part_is_beside(&part))
                        r = !name ? -ENOMEM
                            : str_has_suffix(name, QUADLET_CONTAINER)
                                    ? add_source(run, name, part.content, part.len)
                            : str_has_suffix(name, QUADLET_NETWORK)
                                    ? add_file(run, name, network_source(&part))
                                    : add_file(run, name, strndup(part.content, part.len));
        }
        return r;
}

static int start(Run *run) {
        const char *const args[] = {quadlet_generator_path(), "-no-kmsg-log", SANDBOXED_HOME, NULL};

        if (!args[0] || !quadlet_generator_version(run->version))
                return -ENOENT;
        return sandboxed_command_start(&(SandboxedConfig){.args = args,
                                                          .files = run->files,
                                                          .n_files = run->n_files,
                                                          .home = true,
                                                          .dir_variable = "QUADLET_UNIT_DIRS",
                                                          .reserves_much = true},
                                       &run->command);
}

// -------------------------------------------------------------------------------------------- what it wrote

// A path beside the file would be one in the generator's folder, which is gone when the unit starts. Its
// SourcePath= is not looked at.
static bool names_folder(const char *dir, const Buf *made) {
        return memmem(made->data, made->len, dir, strlen(dir));
}

// `of`: of what that was made.
static int take_unit(const Run *run, const char *unit, Hash of, Buf *ret, char **ret_why) {
        _cleanup_buf_ Buf generated = {};
        size_t before = ret->len;
        int r = sandboxed_command_read(run->command, unit, UNIT_FILE_MAX, &generated);

        if (r == 0 && generated.len > 0 && memchr(generated.data, 0, generated.len))
                r = -EFBIG;
        if (r == 0)
                r = quadlet_made_compose(&of, run->version, generated.data, generated.len, ret);
        if (r == 0 && names_folder(sandboxed_command_dir(run->command), ret)) {
                ret->len = before;
                *ret_why = str_printf("a value names a path beside the file, where no node has it: File= in "
                                      "[X-Argosy] brings it, or name an absolute path that each node has");
                return *ret_why ? -EINVAL : -ENOMEM;
        }
        if (r == 0)
                return 0;
        if (r != -ENOENT && r != -EFBIG && r != -EISDIR)
                return r;
        *ret_why = r == -ENOENT ? words_of(&run->said, sandboxed_command_dir(run->command))
                                : str_printf("what it wrote is no unit file");
        return *ret_why ? -EINVAL : -ENOMEM;
}

static int take_beside(const Run *run, Buf *ret, char **ret_why) {
        UnitPart part;
        UnitParts p;
        int r = 0;

        unit_parts_begin(&p, run->content, run->len);
        while (r == 0 && unit_parts_next(&p, &part)) {
                _cleanup_free_ char *unit =
                        unit_part_is_beside(&part) ? quadlet_beside_unit(part.path, part.path_len) : NULL;
                _cleanup_buf_ Buf made = {};

                if (!unit)
                        continue;
                r = take_unit(run, unit, quadlet_beside_hash(&part), &made, ret_why);
                if (r == 0)
                        r = quadlet_made_add(ret, unit, made.data, made.len);
        }
        return r;
}

int quadlet_generate(const char *unit, const void *content, size_t len, unsigned timeout_ms, Buf *ret,
                     char **ret_why) {
        _cleanup_(run_done) Run run = {.content = content, .len = len};
        int r = add_own(&run, unit);

        if (r == 0)
                r = add_beside(&run);
        if (r == 0)
                r = start(&run);
        if (r == 0)
                r = sandboxed_command_wait(run.command, timeout_ms, &run.said);
        if (r == 0)
                r = take_unit(&run, unit, hash_of(content, len), ret, ret_why);
        return r < 0 ? r : take_beside(&run, ret, ret_why);
}
