// SPDX-License-Identifier: LGPL-2.1-or-later
// What whoever looks at the page may do: buttons that would be refused are not there (see "data-needs" in dashboard.css). It is the
// cluster that judges; until it has said so there are none. Who has no right at all sees nothing of this page, so a cluster that names none
// is one that is too old to say: it is asked by trying.

import { ask } from "./ask.js";

const KEPT_MS = 5000;
let asked = -KEPT_MS;

// Now and then: with each view that is shown, and when the cluster is there again.
export async function readRights() {
  if (performance.now() - asked < KEPT_MS) return;
  asked = performance.now();
  const root = document.documentElement.dataset;
  try {
    const { own, own_of_some: some } = await ask("/v1/access");
    Object.assign(root, own || some ? { own: own ?? "none", some: some ?? "none" } : { own: "admin", some: "admin" });
  } catch {
    asked = -KEPT_MS; // the banner says what is wrong
  }
}
