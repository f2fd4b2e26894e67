// Checks the types of an expression against what its variables are declared as, in the words of Kubernetes v1.32, and estimates what it
// may cost. Works on the library's syntax tree; macros are judged by what upstream makes of them.

import { callCost, free, newList, newMap, one, type Part, plus, type Range, range, Sizes, times } from "./cost.ts";
import { namespaces, overloadsOf } from "./overloads.ts";
import { isPattern } from "./text-functions.ts";
import { escapeFieldName } from "./values.ts";
import { bool, type CelType, type Declared, dyn, fits, formatType, resolved, text, typeOf } from "./types.ts";

interface Node {
  op: string;
  args: unknown;
  input: string;
  pos: number;
  start: number;
  end: number;
}

export interface Issue {
  readonly at: number;
  readonly message: string;
}

export interface Checked {
  readonly issues: readonly Issue[];
  readonly type: CelType;
  /** The most it can cost. */
  readonly maxCost: number;
}

/** A variable without a declaration may be anything. */
export function checkTypes(
  root: unknown,
  variables: Readonly<Record<string, Declared | CelType | undefined>>,
  sizesFrom?: Declared,
): Checked {
  const checker = new Checker(new Sizes(sizesFrom));
  const scope: Scope = new Map(
    Object.entries(variables).map(([name, declared]) => {
      const type = declared ? ("kind" in declared ? declared : declared.type) : dyn;
      return [name, { type, path: [name] }];
    }),
  );
  const { type, cost } = checker.judge(root as Node, scope);
  const issues = checker.issues.length > 0 ? checker.issues : checker.literalIssues;
  return { issues: issues.sort((a, b) => a.at - b.at), type, maxCost: cost.max };
}

type Scope = ReadonlyMap<string, Pick<Part, "type" | "path">>;

const failed = typeOf("error");
const typeNames = new Set("bool bytes double int list map null_type string timestamp type uint".split(" "));
const wrapped = (type: CelType): CelType => typeOf("type", type);

class Checker {
  readonly issues: Issue[] = [];
  /** What is written out and cannot be read; only told of what is right otherwise. */
  readonly literalIssues: Issue[] = [];
  readonly #sizes: Sizes;
  /** What is formatted may be of many types. */
  #isFormatted = false;

  constructor(sizes: Sizes) {
    this.#sizes = sizes;
  }

  #complain(at: number, message: string): CelType {
    if (!this.issues.some((issue) => issue.at === at && issue.message === message)) this.issues.push({ at, message });
    return failed;
  }

  judge(node: Node, scope: Scope): Part {
    switch (node.op) {
      case "value":
        return literal(node.args);
      case "id":
        return this.#identifier(node, String(node.args), scope);
      case ".":
      case ".?":
        return this.#select(node, scope);
      case "[]":
      case "[?]":
        return this.#index(node, scope);
      case "list":
        return this.#list(node.args as Node[], scope);
      case "map":
        return this.#map(node.args as [Node, Node][], scope);
      case "?:":
        return this.#operator("_?_:_", operatorAt(node, "?"), node.args as Node[], scope);
      case "!_":
      case "-_":
        return this.#operator(node.op, node.start, [node.args as Node], scope);
      case "&&":
      case "||":
        return this.#logical(node, scope);
      case "call":
        return this.#function(node, scope);
      case "rcall":
        return this.#method(node, scope);
      default:
        return this.#operator(`_${node.op}_`, operatorAt(node, node.op), node.args as Node[], scope);
    }
  }

  #identifier(node: Node, name: string, scope: Scope): Part {
    const known = scope.get(name);
    if (known) return { ...known, cost: one };
    const isType = typeNames.has(name) || name === "optional_type";
    const type = isType ? wrapped(typeOf(name)) : this.#complain(node.start, undeclared(name));
    return { type, cost: one, path: [name] };
  }

  #select(node: Node, scope: Scope): Part {
    const [left, name] = node.args as [Node, string];
    const qualified = qualifiedName(node);
    if (qualified?.startsWith("google.protobuf.") && !scope.has("google"))
      return { type: wrapped(typeOf(qualified.endsWith("Duration") ? "duration" : "timestamp")), cost: one };
    const operand = this.judge(left, scope);
    const isOptional = node.op === ".?" || operand.type.kind === "optional_type";
    const inner = operand.type.kind === "optional_type" ? (operand.type.params?.[0] ?? dyn) : operand.type;
    const field = this.#field(inner, name, node.input.lastIndexOf(".", node.pos));
    const type = isOptional && field.kind !== "error" ? typeOf("optional_type", field) : field;
    if (node.op === ".?") return { type, cost: plus(operand.cost, one) };
    const isPaid = inner.kind === "map" || inner.kind === "object" || inner.kind === "var";
    return { type, cost: isPaid ? plus(operand.cost, one) : operand.cost, path: [...(operand.path ?? []), name] };
  }

  #field(type: CelType, name: string, at: number): CelType {
    if (type.kind === "dyn" || type.kind === "error") return dyn;
    if (type.kind === "map") return type.params?.[1] ?? dyn;
    if (type.kind === "object") {
      // Without declared fields anything may be there.
      if (!type.fields) return dyn;
      const field = type.fields.get(name) ?? type.fields.get(escapeFieldName(name));
      return field?.type ?? this.#complain(at, `undefined field '${name}'`);
    }
    if (type.kind === "kubernetes.authorization.Authorizer" && name === "requestResource")
      return typeOf("kubernetes.authorization.ResourceCheck");
    return this.#complain(at, `type '${formatType(type)}' does not support field selection`);
  }

  #index(node: Node, scope: Scope): Part {
    const [left] = node.args as [Node, Node];
    const at = node.input.indexOf("[", left.end);
    const name = node.op === "[]" ? "_[_]" : "_[?_]";
    const operands = (node.args as Node[]).map((each) => this.judge(each, scope));
    const [operand] = operands;
    const isThroughOptional = node.op === "[]" && operand?.type.kind === "optional_type";
    const part = this.#apply(isThroughOptional ? "_[?_]" : name, at, operands, undefined);
    const step = operand?.type.kind === "list" ? "@items" : operand?.type.kind === "map" ? "@values" : undefined;
    return step && node.op === "[]" ? { ...part, path: [...(operand?.path ?? []), step] } : part;
  }

  #list(items: readonly Node[], scope: Scope): Part {
    const parts = items.map((item) => this.judge(item, scope));
    const element = this.#joined(parts, items);
    const cost = plus(...parts.map((part) => part.cost), newList);
    return { type: typeOf("list", element), cost, size: range(items.length) };
  }

  #map(entries: readonly [Node, Node][], scope: Scope): Part {
    const keys = entries.map(([key]) => this.judge(key, scope));
    const values = entries.map(([, value]) => this.judge(value, scope));
    const type = typeOf(
      "map",
      this.#joined(
        keys,
        entries.map(([key]) => key),
      ),
      this.#joined(
        values,
        entries.map(([, value]) => value),
      ),
    );
    return { type, cost: plus(...[...keys, ...values].map(({ cost }) => cost), newMap), size: range(entries.length) };
  }

  /** Elements of one literal are of one type. */
  #joined(parts: readonly Part[], nodes: readonly Node[]): CelType {
    let joined: CelType | undefined;
    for (const [index, { type }] of parts.entries()) {
      const at = nodes[index];
      if (!joined || fits(type, joined, new Map())) joined = joined?.kind === "dyn" ? joined : type;
      else if (fits(joined, type, new Map())) continue;
      else if (this.#isFormatted) joined = dyn;
      else if (at)
        this.#complain(positionOf(at), `expected type '${formatType(joined)}' but found '${formatType(type)}'`);
    }
    return joined ?? dyn;
  }

  #operator(name: string, at: number, operands: readonly Node[], scope: Scope): Part {
    return this.#apply(
      name,
      at,
      operands.map((operand) => this.judge(operand, scope)),
      undefined,
    );
  }

  #logical(node: Node, scope: Scope): Part {
    const operands = (node.args as Node[]).map((each) => this.#truth(each, this.judge(each, scope)));
    return { type: bool, cost: callCost(`_${node.op}_`, this.#sizes, operands, undefined).cost };
  }

  #truth(node: Node, part: Part): Part {
    if (!fits(bool, part.type, new Map()))
      this.#complain(positionOf(node), `expected type 'bool' but found '${formatType(part.type)}'`);
    return part;
  }

  #function(node: Node, scope: Scope): Part {
    const [name, args] = node.args as [string, Node[]];
    const at = node.input.indexOf("(", node.start + name.length);
    if (name === "has" && args[0]?.op === "." && args.length === 1) return this.#has(args[0], at, scope);
    const parts = args.map((arg) => this.judge(arg, scope));
    this.#readLiteral(name, args[0]);
    if (overloadsOf(name).length > 0) return this.#apply(name, at, parts, undefined);
    return { type: this.#complain(at, undeclared(name)), cost: one };
  }

  #readLiteral(name: string, arg: Node | undefined): void {
    const isRead = Object.hasOwn(literals, name) ? literals[name] : undefined;
    if (isRead && arg?.op === "value" && typeof arg.args === "string" && !isRead(arg.args))
      this.literalIssues.push({ at: arg.start, message: `invalid ${name} argument` });
  }

  #has(tested: Node, at: number, scope: Scope): Part {
    const [left, name] = tested.args as [Node, string];
    const operand = this.judge(left, scope);
    const inner = operand.type.kind === "optional_type" ? (operand.type.params?.[0] ?? dyn) : operand.type;
    const { kind } = this.#field(inner, name, at);
    return { type: kind === "error" ? failed : bool, cost: operand.cost };
  }

  #method(node: Node, scope: Scope): Part {
    const [name, receiver, args] = node.args as [string, Node, Node[]];
    const at = node.input.indexOf("(", node.input.indexOf(name, receiver.end));
    const space = receiver.op === "id" && !scope.has(String(receiver.args)) ? String(receiver.args) : undefined;
    const [variable, ...rest] = args;
    const macro = variable?.op === "id" ? macros[`${name}/${args.length}`] : undefined;
    if (macro) return this.#loop(macro, at, receiver, String(variable?.args), rest, scope);
    const outer = this.#isFormatted;
    this.#isFormatted ||= name === "format";
    const parts = args.map((arg) => this.judge(arg, scope));
    this.#isFormatted = outer;
    this.#readLiteral(name, args[0]);
    const global = space !== undefined && namespaces.has(space) ? `${space}.${name}` : undefined;
    if (global && overloadsOf(global).length > 0) return this.#apply(global, at, parts, undefined);
    const target = this.judge(receiver, scope);
    if (overloadsOf(name).length > 0) return this.#apply(name, at, parts, target);
    return { type: this.#complain(at, undeclared(name)), cost: one };
  }

  #apply(name: string, at: number, args: readonly Part[], target: Part | undefined): Part {
    const all = target ? [target, ...args] : args;
    const results: CelType[] = [];
    for (const overload of overloadsOf(name)) {
      const bound = new Map<string, CelType>();
      if (overload.isMember !== (target !== undefined) || overload.args.length !== all.length) continue;
      if (overload.args.every((asked, index) => fits(asked, all[index]?.type ?? dyn, bound)))
        results.push(resolved(overload.result, bound));
    }
    const [first, ...others] = results;
    const { cost, size } = callCost(name, this.#sizes, args, target);
    const whole = target ? plus(target.cost, cost) : cost;
    if (!first) {
      const signature = target
        ? `${formatType(target.type)}.(${args.map(({ type }) => formatType(type)).join(", ")})`
        : `(${args.map(({ type }) => formatType(type)).join(", ")})`;
      const type = this.#complain(
        at,
        `found no matching overload for '${name.replace(/^_in_$/, "@in")}' applied to '${signature}'`,
      );
      return { type, cost: whole };
    }
    const isSame = others.every((other) => formatType(other) === formatType(first));
    return { type: isSame ? first : dyn, cost: whole, size };
  }

  /** The loop that upstream makes of a macro: how it begins, goes on, and what each round does with the result so far. */
  #loop(macro: Macro, at: number, receiver: Node, variable: string, bodies: readonly Node[], scope: Scope): Part {
    const over = this.judge(receiver, scope);
    const { type, path } = this.#iterated(over, receiver);
    const item = { type, path };
    const inner = new Map([...scope, [variable, item]]);
    const parts = bodies.map((body, index) => {
      const part = this.judge(body, inner);
      return index === 0 && macro.isQuantifier ? this.#truth(body, part) : part;
    });
    const apply = (name: string, ...args: Part[]) => this.#apply(name, at, args, undefined);
    const { begin, goOn, step, end, result } = macro.expand({ ...item, cost: one }, parts, apply);
    const rounds = this.#sizes.measured(over);
    const cost = plus(over.cost, begin, end, times(rounds, plus(step.cost, goOn)));
    return { type: step.type.kind === "error" ? failed : result, cost, size: rounds };
  }

  #iterated(over: Part, node: Node): { type: CelType; path?: readonly string[] } {
    const { kind, params } = over.type;
    const path = over.path ?? [];
    if (kind === "list") return { type: params?.[0] ?? dyn, path: [...path, "@items"] };
    if (kind === "map") return { type: params?.[0] ?? dyn, path: [...path, "@keys"] };
    if (kind === "dyn" || kind === "error") return { type: dyn };
    const why = `expression of type '${formatType(over.type)}' cannot be range of a comprehension (must be list, map, or dynamic)`;
    return { type: this.#complain(positionOf(node), why) };
  }
}

interface Loop {
  readonly begin: Range;
  readonly goOn: Range;
  readonly step: Part;
  readonly end: Range;
  readonly result: CelType;
}

type Apply = (name: string, ...args: Part[]) => Part;

interface Macro {
  /** Whether the first body is joined with the result so far by `&&` or `||`. */
  readonly isQuantifier?: boolean;
  expand(item: Part, bodies: readonly Part[], apply: Apply): Loop;
}

const soFar = (type: CelType): Part => ({ type, cost: one });
const nothing: Part = { type: dyn, cost: free };
const added = (element: Part, apply: Apply): Part => {
  const list = typeOf("list", element.type);
  return apply("_+_", soFar(list), { type: list, cost: plus(element.cost, newList), size: range(1) });
};

const quantifier = (operator: string, goOn: Range): Macro => ({
  isQuantifier: true,
  expand: (_item, [test = nothing], apply) => ({
    begin: free,
    goOn,
    step: { ...apply(operator, soFar(bool), { ...test, type: bool }), type: test.type },
    end: one,
    result: bool,
  }),
});

const existsOne: Macro = {
  expand: (_item, [test = nothing], apply) => ({
    begin: free,
    goOn: free,
    step: apply("_?_:_", test, { type: typeOf("int"), cost: range(2) }, soFar(typeOf("int"))),
    end: range(2),
    result: bool,
  }),
};

const filtered = (test: Part, element: Part, apply: Apply): Loop => {
  const list = typeOf("list", element.type);
  const step = apply("_?_:_", test, added(element, apply), soFar(list));
  return { begin: newList, goOn: free, step, end: one, result: list };
};

const macros: Readonly<Record<string, Macro>> = {
  "all/2": quantifier("_&&_", range(2)),
  "exists/2": quantifier("_||_", range(3)),
  "exists_one/2": existsOne,
  "existsOne/2": existsOne,
  "filter/2": { expand: (item, [test = nothing], apply) => filtered(test, item, apply) },
  "map/2": {
    expand: (_item, [made = nothing], apply) => ({
      begin: newList,
      goOn: free,
      step: added(made, apply),
      end: one,
      result: typeOf("list", made.type),
    }),
  },
  "map/3": { expand: (_item, [test = nothing, made = nothing], apply) => filtered(test, made, apply) },
};

const literals: Readonly<Record<string, (text: string) => boolean>> = {
  duration: (value) => /^[-+]?(0|((\d+\.?\d*|\.\d+)(h|ms|m|s|us|µs|μs|ns))+)$/.test(value),
  timestamp: (value) =>
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[-+]\d\d:\d\d)$/.test(value) && !Number.isNaN(Date.parse(value)),
  matches: isPattern,
};

const undeclared = (name: string): string => `undeclared reference to '${name}' (in container '')`;

function literal(value: unknown): Part {
  const of = (kind: string, size = 1): Part => ({ type: typeOf(kind), cost: free, size: range(size), literal: value });
  if (value === null) return of("null_type");
  if (typeof value === "string") return { ...of("string", Array.from(value).length), type: text };
  if (typeof value === "bigint") return of("int");
  if (typeof value === "number") return of("double");
  if (typeof value === "boolean") return of("bool");
  return value instanceof Uint8Array ? of("bytes", value.length) : of("uint");
}

/** Where upstream says that an operation stands: at its sign. */
function operatorAt({ args, input }: Node, sign: string): number {
  const [left, right] = args as [Node, Node];
  const found = input.indexOf(sign, left.end);
  return found < 0 || found > right.start ? left.start : found;
}

/** The same for any part. */
function positionOf(node: Node): number {
  const { op, args, input, start } = node;
  const operands = args as readonly [unknown, Node];
  if (op === "." || op === ".?") return input.lastIndexOf(".", node.pos);
  if (op === "rcall") return input.indexOf("(", input.indexOf(String(operands[0]), operands[1].end));
  if (op === "call") return input.indexOf("(", start);
  if (op === "[]" || op === "[?]") return input.indexOf("[", (operands[0] as Node).end);
  if (op === "?:") return operatorAt(node, "?");
  return ["value", "id", "list", "map", "!_", "-_"].includes(op) ? start : operatorAt(node, op);
}

function qualifiedName(node: Node): string | undefined {
  if (node.op === "id") return String(node.args);
  if (node.op !== ".") return undefined;
  const [left, name] = node.args as [Node, string];
  const before = qualifiedName(left);
  return before === undefined ? undefined : `${before}.${name}`;
}
