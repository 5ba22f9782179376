// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever systemd-analyze prints about hostile files: findings are few, printable, and about the units that
// were asked about; who is refused has a reason.

#include <stdlib.h>

#include "unit-findings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const UnitFindings *f) {
        if (f->n > 2 * UNIT_FINDINGS_MAX + 1 || f->refused != (unit_findings_refusal(f) != NULL))
                abort();
        for (size_t i = 0; i < f->n; i++) {
                if (strlen(f->list[i].text) > UNIT_FINDING_TEXT_MAX)
                        abort();
                for (const char *p = f->list[i].text; *p; p++)
                        if (*p < ' ' || *p > '~')
                                abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const UnitFindingsOf units[] = {{"t.service", "t.service"},
                                               {"bad.service", "bad.service"},
                                               {"tpl@x.service", "tpl@.service"},
                                               {"a:1.timer", "a:1.timer"}};
        UnitFindings findings[ELEMENTSOF(units)] = {};

        if (unit_findings_parse("/sv", units, ELEMENTSOF(units), (const char *) data, size, findings) < 0)
                abort();
        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                check(&findings[i]);
                unit_findings_drop_instance(&findings[i], data, size);
                check(&findings[i]);
                unit_findings_done(&findings[i]);
        }
        return 0;
}
