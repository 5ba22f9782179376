// SPDX-License-Identifier: LGPL-2.1-or-later
//
// argosyctl's main(): standard output and standard error for ctl_main().
// Everything else is in ctl-main.c, so that tests can call it with other files.
// The exit status is ctl_main()'s; a fatal error is logged under the name argosyctl.

#include "ctl-main.h"
#include "log.h"

int main(int argc, char **argv) {
        log_set_name("argosyctl"); // for process_abort()
        return ctl_main(argc, argv, stdout, stderr);
}
