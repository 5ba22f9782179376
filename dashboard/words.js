// SPDX-License-Identifier: LGPL-2.1-or-later
// Times and amounts in words, as argosyctl writes them: short, and never more exact than they are.

const STEPS = [[86400 * 2, 86400, "d"], [3600 * 2, 3600, "h"], [120, 60, "min"], [0, 1, "s"]];

// Seconds.
export function span(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  const [, unit, word] = STEPS.find(([from]) => s >= from);
  return `${Math.floor(s / unit)} ${word}`;
}

// Microseconds since 1970, as the cluster counts them; now: the same. Empty for a time that is not known.
export const since = (us, now) => (us > 0 ? span((now - us) / 1e6) : "");
export const at = (us) => (us > 0 ? new Date(us / 1000).toLocaleString() : "");

// In the events of today the hour is enough.
export function clock(us, now) {
  const time = new Date(us / 1000), today = new Date(now / 1000).toDateString() === time.toDateString();
  return today ? time.toLocaleTimeString([], { hour12: false }) : time.toLocaleString([], { hour12: false });
}

export function bytes(n) {
  if (n === null || n === undefined) return "";
  const i = n > 0 ? Math.min(4, Math.floor(Math.log2(n) / 10)) : 0;
  const amount = n / 1024 ** i;
  return `${i > 0 && amount < 10 ? amount.toFixed(1) : Math.round(amount)} ${["B", "KiB", "MiB", "GiB", "TiB"][i]}`;
}

export const count = (n, word, words = `${word}s`) => `${n.toLocaleString("en")} ${n === 1 ? word : words}`;
