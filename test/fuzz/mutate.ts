// Makes new inputs of known ones: the usual byte mutations, words of the format, and pieces of other inputs.

/** A small generator with a seed, the same on both runtimes (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }
}

const longestInput = 64 * 1024;

/** Numbers at which lengths, counts and signs go wrong. */
const edges = [0, 1, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];
const everywhere = [
  "__proto__",
  "constructor",
  "\0",
  "\\",
  '"',
  "null",
  "-1",
  "1e999",
  "9223372036854775808",
  "\u{1f600}",
];

type Mutation = (input: Buffer, random: Random, others: readonly Buffer[], words: readonly string[]) => Buffer;

const splice = (input: Buffer, at: number, removed: number, put: Uint8Array): Buffer =>
  Buffer.concat([input.subarray(0, at), put, input.subarray(at + removed)]);

const at = (input: Buffer, random: Random): number => random.below(input.length + 1);

const mutations: readonly Mutation[] = [
  function flipBit(input, random) {
    const copy = Buffer.from(input);
    if (copy.length > 0) {
      const place = random.below(copy.length);
      copy[place] = (copy[place] ?? 0) ^ (1 << random.below(8));
    }
    return copy;
  },
  function setByte(input, random) {
    const copy = Buffer.from(input);
    if (copy.length > 0) copy[random.below(copy.length)] = random.below(256);
    return copy;
  },
  function setNumber(input, random) {
    const copy = Buffer.from(input);
    const size = random.pick([1, 2, 4]);
    if (copy.length < size) return copy;
    const value = random.pick(edges) % 2 ** (8 * size);
    const place = random.below(copy.length - size + 1);
    if (random.below(2) === 0) copy.writeUIntBE(value, place, size);
    else copy.writeUIntLE(value, place, size);
    return copy;
  },
  function insertBytes(input, random) {
    const bytes = Buffer.from(Array.from({ length: 1 + random.below(8) }, () => random.below(256)));
    return splice(input, at(input, random), 0, bytes);
  },
  function remove(input, random) {
    const start = at(input, random);
    return splice(input, start, 1 + random.below(Math.min(32, input.length - start + 1)), Buffer.alloc(0));
  },
  function insertWord(input, random, _others, words) {
    const word = Buffer.from(random.pick(random.below(4) === 0 ? everywhere : words));
    return splice(input, at(input, random), random.below(3) === 0 ? random.below(8) : 0, word);
  },
  function repeat(input, random) {
    const start = at(input, random);
    const piece = input.subarray(start, start + 1 + random.below(64));
    return splice(
      input,
      start,
      0,
      Buffer.concat(Array.from({ length: 1 + random.below(random.pick([2, 8, 200])) }, () => piece)),
    );
  },
  function cross(input, random, others) {
    const other = random.pick(others);
    const start = at(other, random);
    return splice(input, at(input, random), random.below(64), other.subarray(start, start + random.below(256)));
  },
  function cut(input, random) {
    return input.subarray(0, at(input, random));
  },
  function swap(input, random) {
    const first = at(input, random);
    const second = at(input, random);
    const [low, high] = first < second ? [first, second] : [second, first];
    const length = random.below(16);
    const moved = input.subarray(high, high + length);
    return splice(splice(input, high, length, Buffer.alloc(0)), low, 0, moved);
  },
];

/** One to eight mutations of an input; never longer than `longestInput`. */
export function mutate(input: Buffer, random: Random, others: readonly Buffer[], words: readonly string[]): Buffer {
  let result = input;
  const known = words.length > 0 ? words : everywhere;
  for (let left = 1 + random.below(random.pick([1, 3, 8])); left > 0; left--)
    result = random.pick(mutations)(result, random, others, known);
  return Buffer.from(result.subarray(0, longestInput));
}
