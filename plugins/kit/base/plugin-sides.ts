// Which side of the program opens plugins of which kind: the control plane, or a node. Users' plugins come in one list for both.

import { Fault } from "./fault.ts";
import type { AnyPlugin } from "./plugin.ts";

const kindsOf = {
  control: [
    "store",
    "admission",
    "filter",
    "score",
    "placement",
    "queue-sort",
    "authenticator",
    "token-authenticator",
    "authorizer",
  ],
  node: ["runtime", "volume", "probe", "hook", "stats", "daemon"],
} as const;

/** Of these, exactly one is opened, chosen by a flag of the same name; the others are all opened. */
const chosen: readonly string[] = ["store", "runtime"];

/** The plugins that the side opens, whatever its flags say. */
export function pluginsFor(side: keyof typeof kindsOf, plugins: readonly AnyPlugin[]): AnyPlugin[] {
  const kinds: readonly string[] = kindsOf[side];
  return plugins.filter(({ kind }) => kinds.includes(kind.name) && !chosen.includes(kind.name));
}

/** The plugin that `--store` or `--runtime` names. */
export function chosenPlugin(
  kind: "store" | "runtime",
  name: string,
  plugins: readonly AnyPlugin[],
): AnyPlugin | undefined {
  return plugins.find((plugin) => plugin.kind.name === kind && plugin.name === name);
}

/** A plugin that nobody would ever open is a mistake worth telling. */
export function refuseUnknownKinds(plugins: readonly AnyPlugin[]): void {
  const known: readonly string[] = [...kindsOf.control, ...kindsOf.node];
  for (const { kind, name } of plugins) {
    if (known.includes(kind.name)) continue;
    const kinds = known.join(", ");
    throw new Fault("invalid", `Cannot use plugin "${name}": its kind is "${kind.name}", and there is only ${kinds}`);
  }
}
