// SPDX-License-Identifier: LGPL-2.1-or-later
// Files that come with a unit, as the text of its content lists them, and what differs between two such lists.

// The files that come with a unit, as the last lines of its text list them: [{mode, bytes, hash, name}].
export function carriedOf(text) {
  const head = "\n# mode, bytes, SHA-256 and name of each file\n", begin = text.lastIndexOf(head);
  if (begin < 0) return [];
  return text.slice(begin + head.length).split("\n").map((line) => /^# (0444|0555) (\d+) ([0-9a-f]{64}) (\S+)$/.exec(line)).filter(Boolean)
    .map(([, mode, size, hash, file]) => ({ mode, bytes: Number(size), hash, name: file }));
}

// What differs between two lists of them: [{name, before, after}], of which one may be undefined.
export function carriedDiff(before, after) {
  const then = new Map(before.map((file) => [file.name, file])), now = new Map(after.map((file) => [file.name, file]));
  return [...new Set([...then.keys(), ...now.keys()])].sort().map((file) => ({ name: file, before: then.get(file), after: now.get(file) }))
    .filter(({ before: a, after: b }) => a?.hash !== b?.hash || a?.mode !== b?.mode);
}
