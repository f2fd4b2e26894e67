// NodeLabelPresence: nodes must have certain labels, or must not, whatever their values. Only in profiles that name the labels.

import { boolean, checkSettings, listOf, string, withDefault } from "../kit/base/config-check.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type FilterPlugin, filterKind, skip } from "../kit/contracts/scheduling.ts";

const name = "NodeLabelPresence";
const refusal = { reasons: ["node(s) didn't have the requested labels"], final: true };

const filter: FilterPlugin = {
  name,
  retryOn: ["Node/Add", "Node/Update"],
  prepare: () => skip,
  filter: () => undefined,
  needsArguments: true,
  withArguments(raw, where) {
    const { labels, presence } = checkSettings(
      raw,
      { labels: listOf(string), presence: withDefault(boolean, true) },
      where,
    );
    return {
      name,
      retryOn: filter.retryOn,
      filter: (_pod, { node }) =>
        labels.every((label) => (node.metadata.labels?.[label] !== undefined) === presence) ? undefined : refusal,
    };
  },
};

export const nodeLabelPresence: Plugin<FilterPlugin> = { kind: filterKind, name, open: () => filter };
