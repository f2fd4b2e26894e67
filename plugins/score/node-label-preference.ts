// NodeLabelPreference: prefers nodes that have a label, or that lack it. Only in profiles that name the label.

import { boolean, checkSettings, string, withDefault } from "../kit/base/config-check.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type ScorePlugin, scoreKind, skip } from "../kit/contracts/scheduling.ts";

const name = "NodeLabelPreference";

const score: ScorePlugin = {
  name,
  weight: 1,
  prepare: () => skip,
  score: () => 0,
  needsArguments: true,
  withArguments(raw, where) {
    const { label, presence } = checkSettings(raw, { label: string, presence: withDefault(boolean, true) }, where);
    return {
      name,
      weight: score.weight,
      score: (_pod, { node }) => ((node.metadata.labels?.[label] !== undefined) === presence ? 100 : 0),
    };
  },
};

export const nodeLabelPreference: Plugin<ScorePlugin> = { kind: scoreKind, name, open: () => score };
