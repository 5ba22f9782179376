// SPDX-License-Identifier: LGPL-2.1-or-later
// The image of a container, which argosy notes as a part of the unit's text (content-image.h).

const PIN = /\n# \S+\.d\/~0-image\.conf\n\[X-Argosy\]\nImagePin=(\S+)@(sha256:[0-9a-f]{64})\n/;

// The text as somebody handed it in, and what the image is: its name, and its digest. Both are "" if nothing is noted.
export function splitImage(text) {
  const pin = PIN.exec(text);
  return pin ? { text: text.replace(pin[0], ""), image: pin[1], digest: pin[2] } : { text, image: "", digest: "" };
}
