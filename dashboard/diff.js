// SPDX-License-Identifier: LGPL-2.1-or-later
// Which lines differ between two files: [mark, line], mark is " ", "-" or "+".

const LINES_MAX = 2000; // of each, beyond which all of the one goes and all of the other comes

export function diff(before, after) {
  const a = before.split("\n"), b = after.split("\n");
  let start = 0, end = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const x = a.slice(start, a.length - end), y = b.slice(start, b.length - end);
  return [
    ...a.slice(0, start).map((line) => [" ", line]),
    ...(x.length > LINES_MAX || y.length > LINES_MAX ? [...x.map((line) => ["-", line]), ...y.map((line) => ["+", line])] : middle(x, y)),
    ...a.slice(a.length - end).map((line) => [" ", line]),
  ];
}

// By the longest sequence that both have.
function middle(x, y) {
  const width = y.length + 1, longest = new Uint16Array((x.length + 1) * width), out = [];
  for (let i = x.length - 1; i >= 0; i--)
    for (let k = y.length - 1; k >= 0; k--)
      longest[i * width + k] = x[i] === y[k] ? longest[(i + 1) * width + k + 1] + 1
        : Math.max(longest[(i + 1) * width + k], longest[i * width + k + 1]);
  let i = 0, k = 0;
  while (i < x.length || k < y.length)
    if (i < x.length && k < y.length && x[i] === y[k]) out.push([" ", x[i++]]), k++;
    else if (i < x.length && (k === y.length || longest[(i + 1) * width + k] >= longest[i * width + k + 1])) out.push(["-", x[i++]]);
    else out.push(["+", y[k++]]);
  return out;
}
