// Keeps an evaluation within a budget. Every step costs one; an operation also costs what its operands are long, so that
// no expression, however nested, can hold the server. Numbers are of the size upstream uses (a million is about 0.1 s there).

import { Fault } from "../../base/fault.ts";

/** What one evaluation, or a whole object's rules together, may spend. */
export class CelBudget {
  #left: number;
  readonly #whole: CelBudget | undefined;

  constructor(units: number, whole?: CelBudget) {
    this.#left = units;
    this.#whole = whole;
  }

  /** A share of this one for a single expression. */
  share(units: number): CelBudget {
    return new CelBudget(units, this);
  }

  get left(): number {
    return this.#left;
  }

  spend(units: number): void {
    this.#left -= units;
    this.#whole?.spend(units);
    if (this.#left < 0) throw exceeded;
  }
}

export class CelCostExceeded extends Fault {
  constructor() {
    super("invalid", "operation cancelled: actual cost limit exceeded");
  }
}

// Loops and logical operators catch errors and go on, so this may be thrown very often: made once, it costs no stack.
export const exceeded = new CelCostExceeded();

// Evaluation never waits, so the budget of the one evaluation that runs can stand here.
let current: CelBudget | undefined;

export function withBudget<T>(budget: CelBudget, evaluate: () => T): T {
  const outer = current;
  current = budget;
  try {
    const result = evaluate();
    // `true || <spent>` is true all the same; the answer of an evaluation that overspent does not count.
    if (budget.left < 0) throw exceeded;
    return result;
  } finally {
    current = outer;
  }
}

/** For functions whose work is more than their operands are long. Call before doing the work. */
export function spend(units: number): void {
  current?.spend(Math.ceil(units));
}

interface Node {
  op: string;
  args: unknown;
  meta: { alternate?: Node; macro?: Record<string, unknown> };
  handle?: (...operands: unknown[]) => unknown;
  evaluate: (...parts: unknown[]) => unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "op" in value && "evaluate" in value;

/** Calls `visit` for every node of an expression, the expansions of macros included. */
export function walk(root: unknown, visit: (node: Node) => void, seen = new Set<unknown>()): void {
  if (typeof root !== "object" || root === null || seen.has(root)) return;
  seen.add(root);
  if (Array.isArray(root)) {
    for (const each of root) walk(each, visit, seen);
    return;
  }
  if (isNode(root)) {
    visit(root);
    if (root.meta.alternate) walk(root.meta.alternate, visit, seen);
    const macro = root.meta.macro;
    if (macro) for (const key of ["val", "exp", "args"]) walk(macro[key], visit, seen);
    walk(root.args, visit, seen);
  } else if ("iterable" in root) {
    const { iterable, init, step } = root as Record<string, unknown>;
    walk([iterable, init, step], visit, seen);
  }
}

/** Makes every node of a checked expression pay. Once per expression, before it is first evaluated. */
export function meter(root: unknown): void {
  walk(root, (node) => {
    payForSteps(node);
    payForOperands(node);
  });
}

/** The library settles how a node is evaluated on first use and keeps that on the node; ours goes around it. */
function payForSteps(node: Node): void {
  let settled: Node["evaluate"] | undefined;
  const settle = Object.getPrototypeOf(node).evaluate as Node["evaluate"];
  const paid = function (this: Node, ...parts: unknown[]): unknown {
    spend(1);
    if (settled) return settled.apply(node, parts);
    try {
      return settle.apply(node, parts);
    } finally {
      settled = node.evaluate;
      node.evaluate = paid;
    }
  };
  node.evaluate = paid;
}

const binary = new Set(["==", "!=", "in", "+", "<", "<=", ">", ">="]);

function payForOperands(node: Node): void {
  const handle = node.handle;
  if (!handle) return;
  if (node.op === "call" || node.op === "rcall") {
    node.handle = (operands, ...rest) => {
      for (const operand of operands as unknown[]) spend(weight(operand));
      return handle(operands, ...rest);
    };
  } else if (binary.has(node.op)) {
    node.handle = (left, right, ...rest) => {
      spend(weight(left) + weight(right));
      return handle(left, right, ...rest);
    };
  }
}

const weights = new WeakMap<object, number>();

/** How much work looking at the whole value is: a tenth a character, one an element. */
function weight(value: unknown): number {
  if (typeof value === "string") return value.length / 10;
  if (typeof value !== "object" || value === null) return 0;
  const known = weights.get(value);
  if (known !== undefined) return known;
  let sum = 1;
  if (value instanceof Uint8Array) sum += value.length / 10;
  else if (Array.isArray(value)) for (const each of value) sum += 1 + weight(each);
  else if (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null) {
    for (const [key, each] of Object.entries(value)) sum += 1 + weight(key) + weight(each);
  }
  weights.set(value, sum);
  return sum;
}
