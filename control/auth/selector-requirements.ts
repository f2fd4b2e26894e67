// The selectors of a request as a SubjectAccessReview carries them. A selector that cannot be read has none: the request is judged as
// the wider one without it.

import { isFault } from "../../plugins/kit/base/fault.ts";
import {
  type FieldRequirement,
  type LabelRequirement,
  parseFieldSelector,
  parseLabelSelector,
} from "../../plugins/kit/kube/selector.ts";

export interface Requirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  readonly values?: readonly string[];
}

export function fieldRequirements(text: string | undefined): Requirement[] {
  return read(text, (selector) =>
    sortedFields(selector).map(({ field, op, value }) => ({
      key: field,
      operator: op === "=" ? "In" : "NotIn",
      values: [value],
    })),
  );
}

/** In the order of their texts, as upstream's parser has them; which of two names is asked for depends on it. Throws Fault `invalid`. */
export function sortedFields(text: string): readonly FieldRequirement[] {
  const terms = text.match(/(?:\\.|[^,\\]|\\$)+/gs) ?? [];
  return parseFieldSelector(terms.sort().join(",")).requirements;
}

const operators: Readonly<Record<LabelRequirement["operator"], Requirement["operator"] | undefined>> = {
  "=": "In",
  in: "In",
  "!=": "NotIn",
  notin: "NotIn",
  exists: "Exists",
  "!": "DoesNotExist",
  // A review has no word for these; to leave them out makes the question wider, never narrower.
  gt: undefined,
  lt: undefined,
};

/** In the order of their keys, as upstream's parser has them. */
export function labelRequirements(text: string | undefined): Requirement[] {
  return read(text, (selector) =>
    [...parseLabelSelector(selector).requirements]
      .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
      .flatMap(({ key, operator: own, values }) => {
        const operator = operators[own];
        if (!operator) return [];
        return [{ key, operator, ...(values.length > 0 ? { values: [...values].sort() } : {}) }];
      }),
  );
}

function read(text: string | undefined, parse: (text: string) => Requirement[]): Requirement[] {
  if (!text) return [];
  try {
    return parse(text);
  } catch (error) {
    if (isFault(error)) return [];
    throw error;
  }
}
