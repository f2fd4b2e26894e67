// D-Bus signatures: the types of a message's values, as the D-Bus specification writes them.

import { Fault } from "../../base/fault.ts";

/** The types that stand alone. */
const basics = "ybnqiuxtdsogh";

export type DbusType =
  | { readonly kind: "basic"; readonly code: string }
  | { readonly kind: "variant" }
  | { readonly kind: "array"; readonly item: DbusType }
  | { readonly kind: "struct"; readonly fields: readonly DbusType[] }
  | { readonly kind: "entry"; readonly key: DbusType; readonly value: DbusType };

const longestSignature = 255;
const deepest = 32;
const parsed = new Map<string, readonly DbusType[]>();
/** What programs send is a handful; a peer that sends ever new ones gets no memory for it. */
const mostParsed = 256;

/** Fault `invalid` where the text is none. */
export function parseSignature(text: string): readonly DbusType[] {
  const known = parsed.get(text);
  if (known) return known;
  if (text.length > longestSignature) throw bad(text, "it is longer than 255 characters");
  const parser = new Parser(text);
  const types: DbusType[] = [];
  while (!parser.isAtEnd) types.push(parser.complete({ arrays: 0, structs: 0 }));
  if (parsed.size < mostParsed) parsed.set(text, types);
  return types;
}

/** Where values of the type begin: at multiples of it. */
export function alignmentOf(type: DbusType): number {
  if (type.kind === "basic") return alignments[type.code] ?? 4;
  return type.kind === "variant" ? 1 : type.kind === "array" ? 4 : 8;
}

const alignments: Readonly<Record<string, number>> = { y: 1, g: 1, n: 2, q: 2, x: 8, t: 8, d: 8 };

interface Depth {
  readonly arrays: number;
  readonly structs: number;
}

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  complete(depth: Depth): DbusType {
    const code = this.#text[this.#at++];
    if (code === undefined) throw bad(this.#text, "a type is missing");
    if (code === "v") return { kind: "variant" };
    if (basics.includes(code)) return { kind: "basic", code };
    if (code === "a") return this.#array(depth);
    if (code === "(") return this.#struct(depth);
    throw bad(this.#text, `"${code}" is no type here`);
  }

  #array({ arrays, structs }: Depth): DbusType {
    if (arrays >= deepest) throw bad(this.#text, "arrays lie too deep");
    const inner = { arrays: arrays + 1, structs };
    if (this.#text[this.#at] !== "{") return { kind: "array", item: this.complete(inner) };
    this.#at++;
    if (structs >= deepest) throw bad(this.#text, "structs lie too deep");
    const deeper = { arrays: arrays + 1, structs: structs + 1 };
    const key = this.complete(deeper);
    if (key.kind !== "basic") throw bad(this.#text, "the key of a dictionary must be a basic type");
    const value = this.complete(deeper);
    this.#expect("}");
    return { kind: "array", item: { kind: "entry", key, value } };
  }

  #struct({ arrays, structs }: Depth): DbusType {
    if (structs >= deepest) throw bad(this.#text, "structs lie too deep");
    const fields: DbusType[] = [];
    while (this.#text[this.#at] !== ")") fields.push(this.complete({ arrays, structs: structs + 1 }));
    this.#expect(")");
    if (fields.length === 0) throw bad(this.#text, "a struct is empty");
    return { kind: "struct", fields };
  }

  #expect(code: string): void {
    if (this.#text[this.#at++] !== code) throw bad(this.#text, `"${code}" is missing`);
  }
}

function bad(text: string, why: string): Fault {
  return new Fault("invalid", `Bad D-Bus signature "${text.slice(0, longestSignature)}": ${why}`);
}
