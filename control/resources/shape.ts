// Shape is what ownership needs to know of a value: whether it is owned whole or by parts, and how its parts are told apart.

export type Shape = LeafShape | ObjectShape | ListShape;

export interface LeafShape {
  readonly is: "leaf";
}

export interface ObjectShape {
  readonly is: "object";
  readonly atomic: boolean;
  child(name: string): Shape;
  /** Whether it is a field that the type declares, and not the key of a map: such a field is owned with anything below it. */
  hasField(name: string): boolean;
}

export interface ListShape {
  readonly is: "list";
  readonly by: "atomic" | "set" | readonly string[];
  readonly item: Shape;
  /** The value of a key that an element leaves out. */
  keyDefault?(key: string): unknown;
}

export const leaf: LeafShape = { is: "leaf" };

/** Where nothing is known: objects are owned field by field, lists whole. */
export const deduced: ObjectShape = { is: "object", atomic: false, child: () => deduced, hasField: () => false };
