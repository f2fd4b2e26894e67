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

/** The same for a text that is there as a whole. */
export function boundJson(text: Uint8Array): void {
  if (text.length > maximumDepth) new JsonBounds().add(text);
}

/** The same for a text that comes in parts. */
export function jsonBounds(): (part: Uint8Array) => void {
  const bounds = new JsonBounds();
  return (part) => bounds.add(part);
}

/** Looks at a text part by part, so that a body can be refused before the rest of it has come. */
class JsonBounds {
  /** Of each level that is open. */
  readonly #membersAt: number[] = [0];
  #isJson: boolean | undefined;
  #depth = 0;
  #values = 0;
  #isInString = false;
  /** The next byte is what a backslash stands before. */
  #isEscaped = false;

  /** Throws where the text goes beyond a limit. What begins as no JSON is never looked at, and what turns out to be none is for the parser. */
  add(part: Uint8Array): void {
    this.#isJson ??= beginsAsJson(part);
    if (!this.#isJson) return;
    for (let at = this.#isInString ? this.#endOfString(part, 0) + 1 : 0; at < part.length; at++) {
      switch (part[at]) {
        case 0x22: // "
          at = this.#endOfString(part, at + 1);
          break;
        case 0x7b: // {
        case 0x5b: // [
          if (++this.#depth > maximumDepth) throw badRequest(`the body is nested deeper than ${maximumDepth} levels`);
          this.#membersAt[this.#depth] = 0;
          break;
        case 0x7d: // }
        case 0x5d: // ]
          if (this.#depth > 0) this.#depth--;
          break;
        case 0x3a: // :
          this.#countMember();
          break;
        case 0x2c: // ,
          if (++this.#values > maximumValues) throw badRequest(`the body holds more than ${maximumValues} values`);
      }
    }
  }

  #countMember(): void {
    const members = (this.#membersAt[this.#depth] ?? 0) + 1;
    this.#membersAt[this.#depth] = members;
    if (members > maximumMembers) throw badRequest(`the body has an object of more than ${maximumMembers} keys`);
  }

  /** The place of the quote that ends the string, or the end of the part, where the string goes on in the next. */
  #endOfString(part: Uint8Array, from: number): number {
    this.#isInString = false;
    let at = from;
    for (const near = Math.min(from + shortString, part.length); at < near; at++) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (part[at] === 0x22) return at;
      else this.#isEscaped = part[at] === 0x5c;
    }
    this.#isInString = true;
    if (at >= part.length) return part.length;
    if (this.#isEscaped) at++;
    this.#isEscaped = false;
    for (let end = part.indexOf(0x22, at); end >= 0; end = part.indexOf(0x22, end + 1))
      if (slashesBefore(part, end, at) % 2 === 0) {
        this.#isInString = false;
        return end;
      }
    this.#isEscaped = slashesBefore(part, part.length, at) % 2 === 1;
    return part.length;
  }
}

/** Undefined where there is nothing but space. */
export function beginsAsJson(text: Uint8Array): boolean | undefined {
  const first = text.find((byte) => byte !== 0x20 && (byte < 0x09 || byte > 0x0d));
  return first === undefined ? undefined : first === 0x7b || first === 0x5b;
}

function slashesBefore(part: Uint8Array, end: number, from: number): number {
  let count = 0;
  while (end - 1 - count >= from && part[end - 1 - count] === 0x5c) count++;
  return count;
}
