// SPDX-License-Identifier: LGPL-2.1-or-later
// What whoever looks at the page may do: buttons that would be refused are not there (see "data-needs" in dashboard.css). It is the
// cluster that judges; until it has said so there are none, and one that is too old to say so is asked by trying.

import { ask } from "./ask.js";

const KEPT_MS = 5000;
let asked = -KEPT_MS;

// Now and then: with each view that is shown, and when the cluster is there again.
export async function readRights() {
  if (performance.now() - asked < KEPT_MS) return;
  asked = performance.now();
  const root = document.documentElement.dataset;
  try {
    const { own = "admin", own_of_some: some = "admin" } = await ask("/v1/access");
    Object.assign(root, { own: own ?? "none", some: some ?? "none" });
  } catch {
    asked = -KEPT_MS; // the banner says what is wrong
  }
}
