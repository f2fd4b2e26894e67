// A score: of the nodes that fit, those on mains power are better than those on a battery.

import type { Plugin, ScorePlugin } from "../../plugins/kit/mod.ts";

const label = "example.dev/power";

const mainsFirst: ScorePlugin = {
  name: "MainsFirst",
  weight: 5,
  // From 0 to 100; a pure function of what it is handed.
  score: (_pod, { node }) => (node.metadata.labels?.[label] === "battery" ? 0 : 100),
};

export default { kind: { name: "score" }, name: "MainsFirst", open: () => mainsFirst } satisfies Plugin<ScorePlugin>;
