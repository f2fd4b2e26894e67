// The values that D-Bus messages carry, as JavaScript has them.

/**
 * 16 and 32 bit integers, bytes, doubles and descriptor numbers are numbers; 64 bit integers are bigints; arrays and structs are
 * arrays, but arrays of bytes are Uint8Arrays; dictionaries are Maps.
 */
export type DbusValue =
  | number
  | bigint
  | boolean
  | string
  | Uint8Array
  | Variant
  | readonly DbusValue[]
  | ReadonlyMap<DbusValue, DbusValue>;

/** A value that brings its type. */
export class Variant {
  readonly signature: string;
  readonly value: DbusValue;

  constructor(signature: string, value: DbusValue) {
    this.signature = signature;
    this.value = value;
  }
}

/** Far above what systemd sends, far below what the specification allows. */
export const mostMessageBytes = 16 << 20;
