// Which autoscaler sizes which pods: two for the same pods would pull them to and fro, and one without a selector would take all for its own.

import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { type LabelSelectorMatcher, parseLabelSelector } from "../../../plugins/kit/kube/selector.ts";
import { splitKey } from "../../manager/owners.ts";
import { MetricFailure } from "./meter.ts";

export class PodSelectors {
  readonly #known = new Map<string, LabelSelectorMatcher>();
  readonly #isThere: (key: string) => boolean;

  /** Autoscalers that are not there any more are forgotten. */
  constructor(isThere: (key: string) => boolean) {
    this.#isThere = isThere;
  }

  /** The pods of the autoscaler's namespace that its target names by this selector, when they are its alone. */
  podsOf(key: string, text: string, pods: readonly Pod[]): Pod[] {
    if (text === "")
      throw new MetricFailure("InvalidSelector", "selector is required", {
        event: "SelectorRequired",
        condition: "the HPA target's scale is missing a selector",
      });
    const selector = parseLabelSelector(text);
    this.#known.set(key, selector);
    const mine = pods.filter((pod) => selector.matches(pod.metadata.labels));
    const { namespace } = splitKey(key);
    for (const other of this.#known.keys()) if (!this.#isThere(other)) this.#known.delete(other);
    const choosing = [...this.#known].filter(
      ([other, theirs]) =>
        splitKey(other).namespace === namespace && mine.some((pod) => theirs.matches(pod.metadata.labels)),
    );
    if (choosing.length <= 1) return mine;
    const names = choosing.map(([other]) => `{${splitKey(other).name} ${namespace}}`).sort();
    const why = `pods by selector ${text} are controlled by multiple HPAs: [${names.join(" ")}]`;
    throw new MetricFailure("AmbiguousSelector", why, { event: "AmbiguousSelector", condition: why });
  }
}
