// Label and field selectors: one door to their matchers and their text forms.

export {
  isLabelKey,
  isLabelValue,
  type LabelRequirement,
  type LabelSelector,
  type LabelSelectorMatcher,
  labelSelectorOf,
  matchAll,
} from "./label-selector.ts";
export {
  type FieldRequirement,
  parseFieldSelector,
  parseLabelSelector,
} from "./selector-text.ts";
