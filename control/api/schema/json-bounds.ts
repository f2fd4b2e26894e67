// Bounds what a JSON text may hold before anything is made of it: reading many values takes far longer than sending them.

import { badRequest } from "../../machinery/status.ts";

/** Deeper documents would overflow the stack of the code that walks them later. */
const maximumDepth = 1000;
/** An object of 1.5 MB, the largest that etcd takes, has fewer than this unless they are shorter than 15 bytes. */
const maximumValues = 100_000;
/** Distinct keys cost the most: each is made a name of its own. */
const maximumMembers = 10_000;
/** Longer strings are searched for their end by the runtime, which is faster per byte but costs a call. */
const shortString = 64;

/** Of each level that is open. Nothing waits between its uses. */
const membersAt = new Uint32Array(maximumDepth + 1);

/** Throws where the text goes beyond a limit, as early as that shows. Texts that are no JSON are for the parser to refuse. */
export function boundJson(text: Uint8Array): void {
  if (text.length <= maximumDepth) return;
  let depth = 0;
  let values = 0;
  membersAt[0] = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case 0x22: // "
        at = endOfString(text, at);
        break;
      case 0x7b: // {
      case 0x5b: // [
        if (++depth > maximumDepth) throw badRequest(`the body is nested deeper than ${maximumDepth} levels`);
        membersAt[depth] = 0;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        if (depth > 0) depth--;
        break;
      case 0x3a: // :
        membersAt[depth] = (membersAt[depth] ?? 0) + 1;
        if ((membersAt[depth] ?? 0) > maximumMembers)
          throw badRequest(`the body has an object of more than ${maximumMembers} keys`);
        break;
      case 0x2c: // ,
        if (++values > maximumValues) throw badRequest(`the body holds more than ${maximumValues} values`);
    }
  }
}

/** The place of the quote that ends the string beginning here, or the end of the text. */
function endOfString(text: Uint8Array, from: number): number {
  const near = Math.min(from + shortString, text.length);
  for (let at = from + 1; at < near; at++) {
    if (text[at] === 0x22) return at;
    if (text[at] === 0x5c) at++;
  }
  for (let end = text.indexOf(0x22, from + 1); end > 0; end = text.indexOf(0x22, end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === 0x5c) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
